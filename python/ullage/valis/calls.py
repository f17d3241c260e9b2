"""Calls and results in a message, in the AI SDK's, OpenAI's and Anthropic's form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.valis.messages import is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CALLS = frozenset({"tool-call", "tool_use"})
_RESULTS = frozenset({"tool-result", "tool_result"})
# The fields in which the AI SDK and Anthropic have the arguments of a call, and its outcome.
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
    """The outcome of a call.

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
        """The value that the tool returned."""
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


class Filed(NamedTuple):
    """An outcome as a file.

    Attributes:
        text: What is in the file.
        suffix: How its name ends.
    """

    text: str
    suffix: str


def with_results(message: Any, change: Callable[[Result], dict[str, Any] | None]) -> Any:
    """The message with other results; itself where ``change`` gives None for all."""
    results = {id(result.holder): result for result in results_in(message)}
    changed = {key: new for key, result in results.items() if (new := change(result)) is not None}
    if not changed:
        return message
    if id(message) in changed:
        return changed[id(message)]
    return {**message, "content": [changed.get(id(part), part) for part in message["content"]]}


def with_outcomes(message: Any, short: Callable[[Result], str | None]) -> Any:
    """The message with other texts for its results; itself where ``short`` gives None for all."""

    def change(result: Result) -> dict[str, Any] | None:
        text = short(result)
        return None if text is None else _with_text(result, text)

    return with_results(message, change)


def with_filed(message: Any, filed: Callable[[str], Filed | None]) -> Any:
    """The message with the outcomes that were filed, by the text that stands for them."""

    def change(result: Result) -> dict[str, Any] | None:
        text = text_of(result.outcome)
        whole = None if text is None else filed(text)
        if whole is None:
            return None
        if whole.suffix == ".txt":
            return _with_text(result, whole.text)
        try:
            return {**result.holder, result.field: json.loads(whole.text)}
        except ValueError:
            return None

    return with_results(message, change)


def filed(outcome: Any) -> Filed | None:
    """An outcome as a file; None where it cannot be told in one, or is no text for a model.

    A text is a text; what has more to it is JSON, so that it can be put back as it was.
    """
    text = text_of(outcome)
    if text is None or _is_plain(outcome):
        return None if text is None else Filed(text, ".txt")
    try:
        return Filed(json.dumps(outcome, ensure_ascii=False), ".json")
    except (TypeError, ValueError, RecursionError):
        return None


def text_of(outcome: Any) -> str | None:
    """The text of an outcome; None where it holds anything else, such as a picture."""
    value = outcome["value"] if _has_value(outcome) else outcome
    if isinstance(value, str) or value is None:
        return value
    if _is_blocks(value):
        texts = [part["text"] if is_text(part) else part for part in value]
        known = [text for text in texts if isinstance(text, str)]
        return "\n".join(known) if len(known) == len(texts) else None
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _with_text(result: Result, text: str) -> dict[str, Any]:
    outcome = result.outcome
    if _has_value(outcome):
        is_error = str(outcome.get("type")).startswith("error")
        kind = "error-text" if is_error else "text"
        return {**result.holder, result.field: {"type": kind, "value": text}}
    if _is_blocks(outcome):
        return {**result.holder, result.field: [{"type": "text", "text": text}]}
    return {**result.holder, result.field: text}


def _is_plain(outcome: Any) -> bool:
    """True if it is a text and nothing else, so that another text may replace it."""
    if _has_value(outcome):
        value = outcome["value"]
        return outcome in ({"type": kind, "value": value} for kind in ("text", "error-text"))
    if _is_blocks(outcome):
        return len(outcome) == 1 and outcome[0] == {"type": "text", "text": outcome[0].get("text")}
    return isinstance(outcome, str)


def _has_value(outcome: Any) -> bool:
    """True if it is an outcome in the AI SDK's newer form."""
    return isinstance(outcome, dict) and "value" in outcome


def _is_blocks(outcome: Any) -> bool:
    """True if it is a list of parts, as in a message."""
    if not isinstance(outcome, list):
        return False
    return any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in outcome)
