"""The shapes in which JSON holds conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ullage.sessions import adk, claude_code
from ullage.sessions.file import Lines

# The value of a file, with other conversations in it.
Put = Callable[[list[list[Any]]], Any]

# What is also a transcript of ullage that has no view yet.
LINES = "messages on lines"

# The fields of a request or a record that hold its messages, in the order in which they are tried.
_FIELDS = ("messages", "contents", "input")
# Every message has one of these.
_FIELDS_OF_A_MESSAGE = ("role", "parts", "type")


class Shape(NamedTuple):
    """The conversations in a value, what it is, and how others are put in their place."""

    kind: str
    conversations: list[list[Any]]
    put: Put | None


def shape_of(value: Any) -> Shape:
    """What a value holds.

    Raises:
        ValueError: If it holds no messages.
    """
    if isinstance(value, dict):
        kind, messages, put = _of_object(value)
        return Shape(kind, [messages], None if put is None else lambda others: put(others[0]))
    if not isinstance(value, list):
        raise ValueError(  # noqa: TRY004 - of a file, not of an argument
            f"it holds a {type(value).__name__}, and no list of messages"
        )
    if isinstance(value, Lines) and claude_code.is_transcript(value):
        return Shape("a transcript of Claude Code", [claude_code.main_chain(value)], None)
    records = [entry for entry in value if isinstance(entry, dict)]
    if records and all(not _is_message(entry) for entry in records):
        return _of_records(records, type(value))
    kind = LINES if isinstance(value, Lines) else "a list of messages"
    return Shape(kind, [value], lambda others: type(value)(others[0]))


def _of_records(records: list[dict[str, Any]], several: type[list[Any]]) -> Shape:
    found = [_of_object(record) for record in records]
    puts = [put for _, _, put in found if put is not None]

    def put(others: list[list[Any]]) -> Any:
        return several(put(other) for put, other in zip(puts, others, strict=True))

    whole = len(puts) == len(found)
    return Shape(
        "several conversations", [messages for _, messages, _ in found], put if whole else None
    )


def _of_object(value: dict[str, Any]) -> tuple[str, list[Any], Callable[[list[Any]], Any] | None]:
    if adk.is_session(value):
        return "a session of Google ADK", adk.contents(value), None
    field = next((field for field in _FIELDS if isinstance(value.get(field), list)), None)
    if field is not None:
        return "an object with messages", value[field], lambda other: {**value, field: other}
    if _is_message(value):
        return "a message", [value], Lines
    names = ", ".join(f"`{field}`" for field in _FIELDS)
    raise ValueError(f"an object in it has no list of messages in {names} or `events`")


def _is_message(value: dict[str, Any]) -> bool:
    return any(field in value for field in _FIELDS_OF_A_MESSAGE)
