"""Retrieval as a tool of a Strands agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.tools import PythonAgentTool

from ullage.stores.retrieval import DEFAULT_LIMIT
from ullage.stores.tools import RetrievalTool

if TYPE_CHECKING:
    from strands.types.tools import ToolResult, ToolUse

    from ullage.stores.protocol import Store


def retrieval_tool(
    store: Store, *, name: str = "retrieve", limit: int = DEFAULT_LIMIT
) -> PythonAgentTool:
    """A tool that reads stored outputs back.

    What it returns is known by its first line and stored by nobody again. A call that cannot be
    answered is a result with the status ``error`` that says why.

    Args:
        store: The store of the engine; sync or async.
        name: What the model calls it by.
        limit: Most characters of an answer.
    """
    tool = RetrievalTool(store, name=name, limit=limit)

    async def answered(tool_use: ToolUse, **_: Any) -> ToolResult:
        answer = await tool.aanswer(tool_use["input"])
        return {
            "toolUseId": tool_use["toolUseId"],
            "status": "success" if answer.ok else "error",
            "content": [{"text": answer.text}],
        }

    spec = tool.definition("bedrock")["toolSpec"]
    return PythonAgentTool(name, spec, answered)
