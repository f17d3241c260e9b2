"""Calls and results in a message, in the AI SDK's, OpenAI's and Anthropic's form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_CALLS = frozenset({"tool-call", "tool_use"})
_RESULTS = frozenset({"tool-result", "tool_result"})
# Where the AI SDK and Anthropic have the arguments of a call, and what came of it.
_ARGUMENTS = ("args", "input")
_OUTCOMES = ("output", "result", "content")


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        id: Its id; empty where there is none.
        tool: The name of the tool.
        arguments: The arguments; None where they cannot be read.
    """

    id: str
    tool: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True)
class Result:
    """What came of a call.

    Attributes:
        id: The id of the call; empty where there is none.
        tool: The name of the tool where the result has it, else empty.
        holder: The part or the message that the result is.
        field: Where in it that is what the tool gave back.
    """

    id: str
    tool: str
    holder: dict[str, Any]
    field: str

    @property
    def outcome(self) -> Any:
        """What the tool gave back."""
        return self.holder.get(self.field)


def calls_in(message: Any) -> list[Call]:
    """The calls of a message, in order."""
    if not isinstance(message, dict):
        return []
    parts = [_call(part) for part in _parts(message) if _is(part, _CALLS)]
    return [*parts, *map(_openai_call, _openai_calls(message))]


def results_in(message: Any) -> list[Result]:
    """The results in a message, in order."""
    if not isinstance(message, dict):
        return []
    parts = [part for part in _parts(message) if _is(part, _RESULTS)]
    holders = [message] if not parts and message.get("role") == "tool" else parts
    return [Result(_id(h), _tool(h), h, _outcome_field(h)) for h in holders]


def with_arguments(message: Any, arguments: Mapping[int, dict[str, Any]]) -> Any:
    """The message with other arguments for some of its calls; itself where there are none."""
    if not arguments:
        return message
    changes: dict[str, Any] = {}
    number = -1
    parts: list[Any] = []
    for part in _parts(message):
        if _is(part, _CALLS):
            number += 1
            if number in arguments:
                part = {**part, _arguments_field(part): arguments[number]}  # noqa: PLW2901
        parts.append(part)
    if parts:
        changes["content"] = parts
    calls: list[Any] = []
    for call in _openai_calls(message):
        number += 1
        if number in arguments:
            written = json.dumps(arguments[number], ensure_ascii=False)
            call = {**call, "function": {**call["function"], "arguments": written}}  # noqa: PLW2901
        calls.append(call)
    if calls:
        changes["tool_calls"] = calls
    return {**message, **changes}


def _call(part: dict[str, Any]) -> Call:
    arguments = part.get(_arguments_field(part))
    tool = part.get("toolName", part.get("name"))
    return Call(_id(part), str(tool), arguments if isinstance(arguments, dict) else None)


def _openai_call(call: Any) -> Call:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return Call("", "", None)
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        arguments = None
    known = arguments if isinstance(arguments, dict) else None
    return Call(_id(call), str(function.get("name")), known)


def _openai_calls(message: dict[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _parts(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _is(part: Any, kinds: frozenset[str] | set[str]) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind in kinds


def _arguments_field(part: dict[str, Any]) -> str:
    return next((field for field in _ARGUMENTS if field in part), _ARGUMENTS[0])


def _outcome_field(holder: dict[str, Any]) -> str:
    return next((field for field in _OUTCOMES if field in holder), _OUTCOMES[-1])


def _id(value: dict[str, Any]) -> str:
    for key in ("toolCallId", "tool_call_id", "tool_use_id", "id"):
        if isinstance(value.get(key), str):
            return str(value[key])
    return ""


def _tool(value: dict[str, Any]) -> str:
    metadata = value.get("metadata")
    named = [value.get("toolName"), value.get("name")]
    if isinstance(metadata, dict):
        named.insert(0, metadata.get("tool_name"))
    return next((name for name in named if isinstance(name, str)), "")
