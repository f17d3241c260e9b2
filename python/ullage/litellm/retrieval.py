"""Reads removed text back for the model in the proxy, without the client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage import RetrievalTool
from ullage._hosts.usage import field_of
from ullage.stores.reachable import Reachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.stores.protocol import Store

# Distinguishes the tool from a tool of the client with the same name.
_MARK = " The gateway answers it."


class ServerTool:
    """The retrieval tool that the proxy adds to a request and answers.

    Args:
        store: The store of the engine.
        name: The name of the tool for the model.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self.name = name

    def definition(self, format: str) -> dict[str, Any]:
        """Returns the definition for a request."""
        made = RetrievalTool(self._store, name=self.name).definition(format)
        known = made.get("function", made)
        known["description"] += _MARK
        return made

    def is_in(self, tools: Any) -> bool:
        """True if the tools of a request include it."""
        return any(
            _definition_value(tool, "name") == self.name
            and str(_definition_value(tool, "description")).endswith(_MARK)
            for tool in tools or ()
        )

    def fits(self, tools: Any) -> bool:
        """True if the tool can be added: there are other tools, and none has its name."""
        return bool(tools) and all(_definition_value(tool, "name") != self.name for tool in tools)

    def without(self, tools: Any) -> list[Any]:
        """Returns the tools without this one."""
        return [tool for tool in tools if _definition_value(tool, "name") != self.name]

    def calls(self, response: Any) -> list[dict[str, Any]]:
        """Returns the calls of the tool in a response of any API."""
        found = (_call(block) for block in _blocks(response))
        return [call for call in found if call is not None and call["name"] == self.name]

    async def follow_up(self, messages: list[Any], response: Any) -> list[dict[str, Any]]:
        """Returns the messages that follow a response: the calls of the tool, and their answers.

        Calls of the client's tools in the same response are left out. The model makes them again.
        """
        retrieval = RetrievalTool(Reachable(self._store, messages), name=self.name)  # type: ignore[arg-type]
        calls = self.calls(response)
        answers = [(call["id"], await retrieval.acall(call["arguments"])) for call in calls]
        own = {call["id"] for call in calls}
        blocks = [
            block
            for block in _blocks(response)
            if (call := _call(block)) is None or call["id"] in own
        ]
        if field_of(response, "output") is not None:
            results = [
                {"type": "function_call_output", "call_id": call, "output": text}
                for call, text in answers
            ]
            return [*map(_plain, blocks), *results]
        if field_of(response, "choices"):
            said = _plain(field_of(field_of(response, "choices")[0], "message"))
            said["tool_calls"] = [_plain(block) for block in blocks]
            results = [
                {"role": "tool", "tool_call_id": call, "content": text} for call, text in answers
            ]
            return [said, *results]
        results = [
            {"type": "tool_result", "tool_use_id": call, "content": text} for call, text in answers
        ]
        return [
            {"role": "assistant", "content": list(map(_plain, blocks))},
            {"role": "user", "content": results},
        ]


def _blocks(response: Any) -> Iterable[Any]:
    """The items of a response, the tool calls of a chat completion, or the blocks of a message."""
    if field_of(response, "output") is not None:
        return list(field_of(response, "output"))
    if choices := field_of(response, "choices"):
        return field_of(field_of(choices[0], "message"), "tool_calls") or []
    return field_of(response, "content") or []


def _call(block: Any) -> dict[str, Any] | None:
    """The id, name and arguments of a tool call in any form."""
    kind = field_of(block, "type")
    if kind == "tool_use":
        known = {"id": field_of(block, "id"), "name": field_of(block, "name")}
        return {**known, "arguments": field_of(block, "input")}
    if kind == "function_call":
        known = {"id": field_of(block, "call_id"), "name": field_of(block, "name")}
        return {**known, "arguments": field_of(block, "arguments")}
    function = field_of(block, "function")
    if function is not None:
        known = {"id": field_of(block, "id"), "name": field_of(function, "name")}
        return {**known, "arguments": field_of(function, "arguments")}
    return None


def _definition_value(tool: Any, key: str) -> Any:
    """A value of a tool's definition, which Chat Completions has one level deeper."""
    return field_of(field_of(tool, "function") or tool, key)


def _plain(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = (
        value if isinstance(value, dict) else value.model_dump(exclude_none=True)
    )
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return]
