"""The shapes in which JSON holds conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.report.recorded import KINDS
from ullage.sessions import adk, atif, claude_code
from ullage.sessions.file import Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.sessions.file import Problems, Put

# A transcript of ullage without a view looks the same.
LINES = "messages on lines"

# The fields of a request or a record that hold its messages, in the order in which they are tried.
_FIELDS = ("messages", "contents", "input")
# Every message has one of these.
_FIELDS_OF_A_MESSAGE = ("role", "parts", "type")


class Shape(NamedTuple):
    """The conversations in a value.

    Attributes:
        kind: A description of the form, such as "a list of messages".
        conversations: The messages of each conversation.
        put: Returns the value with other conversations, see ``SessionFile``.
        numbers: The line or the index of each conversation, counted from 1.
    """

    kind: str
    conversations: list[list[Any]]
    put: Put | None
    numbers: list[int] = [1]  # noqa: RUF012 - a named tuple takes it as a default


def shape_of(value: Any, problems: Problems) -> Shape:
    """Returns the conversations in a value.

    Args:
        value: The value of a file.
        problems: Collects lines and records without messages.

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
    for record in records:
        _refuse_langchain(record)
    if records and all(not _is_message(entry) for entry in records):
        return _of_records(value, problems)
    if not isinstance(value, Lines):
        return Shape("a list of messages", [value], lambda others: list(others[0]))
    messages = []
    for message, number in zip(value, value.numbers, strict=True):
        if _is_message(message):
            messages.append(message)
        else:
            problems.add("it holds no message", number)
    return Shape(LINES, [messages], lambda others: Lines(others[0]))


def is_conversation(value: dict[str, Any]) -> bool:
    """True if an object has a list of messages, and is not itself one."""
    try:
        conversation_in(value)
    except ValueError:
        return False
    return True


def conversation_in(value: dict[str, Any]) -> list[Any]:
    """Returns the messages in an object.

    Raises:
        ValueError: If it has none, or is itself a message.
    """
    if _is_message(value):
        raise ValueError("it holds a message, and the first line a conversation")
    return _of_object(value)[1]


def _of_records(records: list[Any], problems: Problems) -> Shape:
    is_lines = isinstance(records, Lines)
    numbers = records.numbers if isinstance(records, Lines) else range(1, len(records) + 1)
    found, read = [], []
    unread: list[tuple[str, int | None]] = []
    for record, number in zip(records, numbers, strict=True):
        try:
            found.append(_of_object(record))
            read.append(number)
        except ValueError as error:  # noqa: PERF203 - the others are read
            unread.append((str(error), number) if is_lines else (f"record {number}: {error}", None))
    if not found:
        raise ValueError(unread[0][0])
    for problem, line in unread:
        problems.add(problem, line)
    several = Lines if is_lines else list
    puts = [put for _, _, put in found if put is not None]

    def put(others: list[list[Any]]) -> Any:
        return several(put(other) for put, other in zip(puts, others, strict=True))

    whole = len(puts) == len(found)
    conversations = [messages for _, messages, _ in found]
    return Shape("several conversations", conversations, put if whole else None, read)


def _of_object(value: Any) -> tuple[str, list[Any], Callable[[list[Any]], Any] | None]:
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}, not an object")  # noqa: TRY004 - likewise
    _refuse_langchain(value)
    if adk.is_session(value):
        return "a session of Google ADK", adk.contents(value), None
    if atif.is_trajectory(value):
        return "an ATIF trajectory", atif.messages(value), None
    field = next((field for field in _FIELDS if isinstance(value.get(field), list)), None)
    if field is not None:
        return "an object with messages", value[field], lambda other: {**value, field: other}
    if _is_message(value):
        return "a message", [value], Lines
    if len(value) == 1 and not KINDS.isdisjoint(value):
        raise ValueError("it is a recording of `ullage.Recorder`; `ullage report` draws it")
    names = ", ".join(f"`{field}`" for field in _FIELDS)
    raise ValueError(f"an object in it has no list of messages in {names} or `events`")


def _refuse_langchain(value: dict[str, Any]) -> None:
    """Raises an error for a message in the form of LangChain's `dumpd` or `messages_to_dict`."""
    if "lc" in value or ("data" in value and value.keys() <= {"type", "data"}):
        raise ValueError(
            "it has messages of LangChain; convert them with `convert_to_openai_messages` first"
        )


def _is_message(value: dict[str, Any]) -> bool:
    return any(field in value for field in _FIELDS_OF_A_MESSAGE)
