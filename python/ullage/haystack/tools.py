"""The tool that reads removed text back, and results that are shortened on arrival."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from haystack.components.agents.state import replace_values
from haystack.dataclasses import ToolCallResult
from haystack.tools import Tool

from ullage import RetrievalTool
from ullage._engine.steps import arun, run
from ullage._hosts.engines import Engines
from ullage._hosts.results import shrink_result
from ullage.haystack.generator import FORMAT

if TYPE_CHECKING:
    from haystack.components.agents import State

    from ullage import ContextManager
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store


class ShortenHook:
    """Shortens the results of tools before the agent keeps them, and stores the whole text.

        Agent(..., hooks={"after_tool": [ShortenHook(engine)]})

    Args:
        engine: The engine. Its store keeps the whole text.

    Raises:
        PolicyError: If it is no engine.
    """

    allowed_hook_points = ("after_tool",)

    def __init__(self, engine: ContextManager) -> None:
        self._engine = Engines(engine, format=FORMAT).last

    def run(self, state: State) -> None:
        """Shortens the results of the last step."""
        run(self._shorten(state))

    async def run_async(self, state: State) -> None:
        """Shortens the results of the last step."""
        await arun(self._shorten(state))

    def _shorten(self, state: State) -> Steps[None]:
        messages = list(state.data.get("messages") or ())
        fresh = sum(1 for _ in takewhile(lambda message: message.tool_call_results, messages[::-1]))
        changed = False
        for place in range(len(messages) - fresh, len(messages)):
            contents = list(messages[place]._content)  # noqa: SLF001 - see `MessageCodec.stamp`
            for at, content in enumerate(contents):
                if isinstance(content, ToolCallResult) and isinstance(content.result, str):
                    tool = content.origin.tool_name
                    short = yield from shrink_result(self._engine, tool, content.result)
                    if short is not content.result:
                        contents[at], changed = replace(content, result=short), True
            messages[place] = replace(messages[place], _content=contents)
        if changed:
            state.set("messages", messages, handler_override=replace_values)


def retrieval_tool(store: Store, *, name: str = "retrieve") -> Tool:
    """Returns the tool that reads stored text back. A mistake of the model gets an answer.

    Args:
        store: The store of the engine.
        name: The name of the tool for the model.
    """
    retrieval = RetrievalTool(store, name=name)

    def retrieve(**arguments: Any) -> str:
        return retrieval.call(arguments)

    return Tool(
        name=name,
        description=retrieval.description,
        parameters=retrieval.parameters,
        function=retrieve,
    )
