"""Retrieval as a tool of an ADK agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from ullage.stores.retrieval import DEFAULT_LIMIT
from ullage.stores.tools import RetrievalTool

if TYPE_CHECKING:
    from google.adk.tools.tool_context import ToolContext

    from ullage.stores.protocol import Store


def retrieval_tool(
    store: Store, *, name: str = "retrieve", limit: int = DEFAULT_LIMIT
) -> FunctionTool:
    """Returns a tool that reads stored outputs back.

    It answers ``{"result": text}``, or ``{"error": explanation}``.

    Args:
        store: The store of the engine; sync or async.
        name: The name of the tool for the model.
        limit: The most characters of an answer.
    """
    return _Retrieval(RetrievalTool(store, name=name, limit=limit))


class _Retrieval(FunctionTool):
    """A function tool that is declared with the schema of all hosts."""

    def __init__(self, tool: RetrievalTool) -> None:
        async def answered(**asked: Any) -> dict[str, str]:
            answer = await tool.aanswer(asked)
            return {"result" if answer.ok else "error": answer.text}

        # ADK names the tool after its function.
        answered.__name__ = tool.name
        answered.__doc__ = tool.description
        super().__init__(answered)
        self._tool = tool

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Returns the answer. The tool checks the arguments and explains mistakes."""
        del tool_context
        return await self.func(**args)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self._tool.name,
            description=self._tool.description,
            parameters_json_schema=self._tool.parameters,
        )
