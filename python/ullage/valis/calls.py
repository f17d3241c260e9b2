"""Reads and replaces calls and results in messages of the AI SDK, OpenAI and Anthropic."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.valis.messages import is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CALLS = frozenset({"tool-call", "tool_use"})
_RESULTS = frozenset({"tool-result", "tool_result"})
# The fields for the arguments of a call, and for its outcome, in the AI SDK and Anthropic.
_ARGUMENTS = ("args", "input")
_OUTCOMES = ("output", "result", "content")
_IDS = ("toolCallId", "tool_call_id", "tool_use_id", "id")


@dataclass(frozen=True)
class CallPart:
    """A call of a tool.

    Attributes:
        id: The id of the call, or an empty string.
        tool: The name of the tool.
        arguments: The arguments, or None if they cannot be read.
        holder: The content part, or the item of ``tool_calls``, that the call was read from.
    """

    id: str
    tool: str
    arguments: dict[str, Any] | None
    holder: Any


@dataclass(frozen=True)
class ResultPart:
    """The outcome of a call.

    Attributes:
        id: The id of the call, or an empty string.
        tool: The name of the tool, or an empty string if the result does not have it.
        holder: The content part, or the message, that the result was read from.
        field: The key in ``holder`` for the value that the tool returned.
    """

    id: str
    tool: str
    holder: dict[str, Any]
    field: str

    @property
    def outcome(self) -> Any:
        """The value that the tool returned."""
        return self.holder.get(self.field)


def calls_in(message: Any) -> list[CallPart]:
    """Returns the calls of a message, in order."""
    parts = [_call(part) for part in _listed(message, "content") if _is(part, _CALLS)]
    return [*parts, *map(_openai_call, _listed(message, "tool_calls"))]


def results_in(message: Any) -> list[ResultPart]:
    """Returns the results in a message, in order."""
    if not isinstance(message, dict):
        return []
    parts = [part for part in _listed(message, "content") if _is(part, _RESULTS)]
    holders = [message] if not parts and message.get("role") == "tool" else parts
    return [ResultPart(_id(h), _tool(h), h, _field(h, _OUTCOMES, _OUTCOMES[-1])) for h in holders]


def with_arguments(message: Any, arguments: Mapping[int, dict[str, Any]]) -> Any:
    """Returns the message with new arguments for some calls, by the number of the call.

    Returns the same object if there are no new arguments.
    """
    if not arguments:
        return message
    calls = calls_in(message)
    return _with_holders(
        message, {id(calls[n].holder): _with_call(calls[n], new) for n, new in arguments.items()}
    )


def _with_call(call: CallPart, arguments: dict[str, Any]) -> dict[str, Any]:
    holder: dict[str, Any] = call.holder
    if _is(holder, _CALLS):
        return {**holder, _field(holder, _ARGUMENTS, _ARGUMENTS[0]): arguments}
    written = json.dumps(arguments, ensure_ascii=False)
    return {**holder, "function": {**holder["function"], "arguments": written}}


def _with_holders(message: Any, new: Mapping[int, dict[str, Any]]) -> Any:
    """Returns the message with new calls and results, by the identity of the old holders."""
    if not new or id(message) in new:
        return new.get(id(message), message)
    return message | {
        name: [new.get(id(part), part) for part in parts]
        for name in ("content", "tool_calls")
        if (parts := _listed(message, name))
    }


def _call(part: dict[str, Any]) -> CallPart:
    arguments = part.get(_field(part, _ARGUMENTS, _ARGUMENTS[0]))
    tool = part.get("toolName", part.get("name"))
    return CallPart(_id(part), str(tool), arguments if isinstance(arguments, dict) else None, part)


def _openai_call(call: Any) -> CallPart:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return CallPart("", "", None, call)
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        arguments = None
    readable = arguments if isinstance(arguments, dict) else None
    return CallPart(_id(call), str(function.get("name")), readable, call)


def _listed(message: Any, name: str) -> list[Any]:
    value = message.get(name) if isinstance(message, dict) else None
    return value if isinstance(value, list) else []


def _is(part: Any, kinds: frozenset[str]) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind in kinds


def _field(holder: dict[str, Any], names: tuple[str, ...], default: str) -> str:
    return next((name for name in names if name in holder), default)


def _id(value: dict[str, Any]) -> str:
    return next((str(value[key]) for key in _IDS if isinstance(value.get(key), str)), "")


def _tool(value: dict[str, Any]) -> str:
    metadata = value.get("metadata")
    named = [value.get("toolName"), value.get("name")]
    if isinstance(metadata, dict):
        named.insert(0, metadata.get("tool_name"))
    return next((name for name in named if isinstance(name, str)), "")


class OutcomeFile(NamedTuple):
    """The outcome of a call, as it is written to a file.

    Attributes:
        text: The content of the file.
        suffix: The end of the file's name: ``.txt`` or ``.json``.
    """

    text: str
    suffix: str


def with_outcomes(message: Any, new: Callable[[ResultPart], OutcomeFile | str | None]) -> Any:
    """Returns the message with new outcomes in its results.

    ``new`` returns a text, the content of a file, or None to keep the outcome. If no outcome
    changes, the same object is returned.
    """
    changed: dict[int, dict[str, Any]] = {}
    for result in results_in(message):
        outcome = new(result)
        if isinstance(outcome, str):
            outcome = OutcomeFile(outcome, ".txt")
        if outcome is None:
            continue
        if outcome.suffix == ".txt":
            changed[id(result.holder)] = _with_text(result, outcome.text)
        else:
            with suppress(ValueError):
                value = json.loads(outcome.text)
                changed[id(result.holder)] = {**result.holder, result.field: value}
    return _with_holders(message, changed)


def as_file(outcome: Any) -> OutcomeFile | None:
    """Returns the file for an outcome, or None if the outcome has no text or cannot be written.

    A plain text becomes a text file. Any other outcome becomes JSON, so that it can be restored.
    """
    text = text_of(outcome)
    if text is None or _is_plain(outcome):
        return None if text is None else OutcomeFile(text, ".txt")
    data = _json(outcome)
    return None if data is None else OutcomeFile(data, ".json")


def text_of(outcome: Any) -> str | None:
    """Returns the text of an outcome, or None if it has other content, such as a picture."""
    value = outcome["value"] if _has_value(outcome) else outcome
    if isinstance(value, str) or value is None:
        return value
    if _is_blocks(value):
        texts = [part["text"] if is_text(part) else part for part in value]
        return "\n".join(texts) if all(isinstance(text, str) for text in texts) else None
    return _json(value)


def _json(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _with_text(result: ResultPart, text: str) -> dict[str, Any]:
    outcome: Any = text
    if _has_value(result.outcome):
        is_error = str(result.outcome.get("type")).startswith("error")
        outcome = {"type": "error-text" if is_error else "text", "value": text}
    elif _is_blocks(result.outcome):
        outcome = [{"type": "text", "text": text}]
    return {**result.holder, result.field: outcome}


def _is_plain(outcome: Any) -> bool:
    """True if the outcome is only a text, so that another text may replace it."""
    if _has_value(outcome):
        value = outcome["value"]
        return outcome in ({"type": kind, "value": value} for kind in ("text", "error-text"))
    if _is_blocks(outcome):
        return len(outcome) == 1 and outcome[0] == {"type": "text", "text": outcome[0].get("text")}
    return isinstance(outcome, str)


def _has_value(outcome: Any) -> bool:
    """True if the outcome is in the newer form of the AI SDK."""
    return isinstance(outcome, dict) and "value" in outcome


def _is_blocks(outcome: Any) -> bool:
    """True if the outcome is a list of content parts, as in a message."""
    if not isinstance(outcome, list):
        return False
    return any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in outcome)
