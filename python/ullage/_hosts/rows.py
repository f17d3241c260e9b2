"""Converts messages of a host to rows that the engine reads, and back.

Each message has a row: a dict in one of the engine's formats. A row is JSON-like, or the codec has
``dump`` and ``load`` to convert it to and from JSON-like data. Known messages keep their row
objects in the next request, so nothing is converted or read twice.
"""

from __future__ import annotations

from functools import cached_property
from itertools import takewhile
from operator import eq, is_
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage._core import ViewLookup

Row: TypeAlias = dict[str, Any]

# Bytes of a row beside its texts: dicts and lists, and what the engine has read of them.
_ROW_BYTES = 3_700

# The key under which a block of a row holds the host's own block.
HOST = "host"


class Codec(Protocol):
    """Converts the messages of a host."""

    def row(self, message: Any) -> Row:
        """Returns a message as a row. By its ``id``, a changed row is matched to its message."""

    def message(self, row: Row, original: Any) -> Any:
        """Returns a row that the engine created or changed, as a message of the host.

        Args:
            row: The row.
            original: The message with the ``id`` of the row, or None. Must not be changed.
        """

    def stamp(self, message: Any) -> Any:
        """Returns a part of the message that an edit replaces, so that edits are noticed."""


class StateCodec(Protocol):
    """Converts messages to JSON-like data for the state of a view, and back."""

    def dump(self, message: Any) -> Any:
        """Returns a message that the engine created, as JSON-like data."""

    def load(self, dumped: Any) -> Any:
        """Returns the message of data that :meth:`dump` returned."""


def split(messages: Sequence[Any], is_prompt: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """Returns the system prompt that stands before the messages of a host, and the messages.

    Args:
        messages: The messages.
        is_prompt: True for a message of the system prompt.
    """
    prompt = list(takewhile(is_prompt, messages))
    return prompt, list(messages[len(prompt) :])


class SameRows:
    """The codec of a host whose messages are rows, and which may copy them between requests."""

    # Most hosts pass the same objects again, and comparing them would take long. Rows are dicts,
    # whose texts stay the same objects in a copy.
    is_same = eq

    def row(self, message: Any) -> Row:
        """Returns a copy of the message. An edited message has another one, and is read again."""
        return message.copy() if isinstance(message, dict) else message

    def message(self, row: Row, original: Any) -> Any:  # noqa: ARG002 - the protocol has it
        """Returns the row, which is the message."""
        return row

    def stamp(self, message: Any) -> tuple[Any, ...] | None:
        """Returns the values of a dict."""
        return tuple(message.values()) if isinstance(message, dict) else None


class Reading:
    """A history of the host, and its rows.

    Args:
        codec: Converts the messages.
        messages: The history.
        known: The reading of a shorter history. Its rows are used again.

    Attributes:
        rows: The rows of the messages, in the same order.
        opening: The arguments for opening a view of the rows.
        lookup: How the view of these rows was found, or of their beginning until it is.
    """

    # True if the rows of a reading are of use for the next one.
    is_reusable = True

    def __init__(self, codec: Codec, messages: Sequence[Any], known: Reading | None = None) -> None:
        self._codec = codec
        self.opening = {"append_only": True} | _dump_and_load(codec)
        self._messages = list(messages)
        self._stamps = list(map(codec.stamp, self._messages))
        # The number of rows whose bytes are known, and these bytes.
        self._measured = (0, 0)
        self.lookup: ViewLookup | None = None
        if known is None:
            self.rows = list(map(codec.row, self._messages))
        else:
            self.rows = self._rows_after(known)
            count = len(known.rows)
            if len(self.rows) >= count and all(map(is_, known.rows, self.rows)):
                self._measured, self.lookup = (count, known.bytes), known.lookup
        # Both dicts have the id of a row as the key. The second keeps its rows alive.
        self._originals = dict(zip(map(id, self.rows), self._messages, strict=True))
        self._made: dict[int, tuple[Row, Any]] = {}
        if known is not None:
            self._made = known._made  # noqa: SLF001 - the same class

    @cached_property
    def bytes(self) -> int:
        """An estimate of the bytes of the rows. O(new rows)."""
        count, size = self._measured
        return size + _size_of(self.rows[count:])

    def begins(self, messages: Sequence[Any]) -> bool:
        """True if another history probably begins with this one. O(1)."""
        count = len(self._messages)
        is_same = getattr(self._codec, "is_same", is_)
        return 0 < count <= len(messages) and all(
            is_same(self._messages[place], messages[place]) for place in (0, count - 1)
        )

    def _rows_after(self, known: Reading) -> list[Row]:
        """Returns the rows. Those of ``known`` are used again, if their messages are the same."""
        is_same = getattr(self._codec, "is_same", is_)
        count = min(len(known.rows), len(self._messages))
        if not (
            all(map(is_same, known._messages, self._messages))
            and all(map(eq, known._stamps, self._stamps))
        ):
            messages = map(is_same, known._messages, self._messages)
            same = zip(messages, map(eq, known._stamps, self._stamps), strict=True)
            count = sum(1 for _ in takewhile(all, same))
        old = (known._messages[count:], known._stamps[count:], known.rows[count:])
        rows = {id(message): (stamp, row) for message, stamp, row in zip(*old, strict=True)}
        converted = known.rows[:count]
        for place in range(count, len(self._messages)):
            message = self._messages[place]
            stamp, row = rows.get(id(message), (None, None))
            if row is None or stamp != self._stamps[place]:
                row = self._codec.row(message)
                # Hosts build a message again from the same parts.
                if place < len(known.rows) and row == known.rows[place]:
                    row = known.rows[place]
            converted.append(row)
        return converted

    def messages(self, rows: Sequence[Row]) -> list[Any]:
        """Returns the host's messages for these rows: its own objects if a row is unchanged."""
        messages = list(map(self._originals.get, map(id, rows)))
        changed = [place for place, message in enumerate(messages) if message is None]
        others = self._by_id() if changed else {}
        made: dict[int, tuple[Row, Any]] = {}
        for place in changed:
            row = rows[place]
            made[id(row)] = self._made.get(id(row)) or (
                row,
                self._codec.message(row, others.get(row.get("id"))),
            )
            messages[place] = made[id(row)][1]
        self._made = made
        return messages

    def _by_id(self) -> dict[Any, Any]:
        pairs = zip(self.rows, self._messages, strict=True)
        return {row["id"]: message for row, message in pairs if row.get("id") is not None}


class PlainReading(Reading):
    """A history whose messages the engine reads itself.

    Args:
        codec: Makes messages JSON-like; None if they are.
        messages: The history.
    """

    is_reusable = False

    def __init__(self, codec: StateCodec | None, messages: Sequence[Any], _: object = None) -> None:
        self.rows = list(messages)
        # Their texts belong to the host.
        self._measured = len(self.rows), len(self.rows) * _ROW_BYTES
        self.opening = {"append_only": False} | _dump_and_load(codec)
        self.lookup = None

    def messages(self, rows: Sequence[Any]) -> list[Any]:
        """Returns the messages of a request."""
        return list(rows)


def _size_of(rows: list[Row]) -> int:
    """Returns an estimate of the bytes of rows."""
    size, waiting = len(rows) * _ROW_BYTES, list[Any](rows)
    while waiting:
        value = waiting.pop()
        if isinstance(value, (str, bytes)):
            size += len(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return size


def _dump_and_load(codec: Any) -> dict[str, Any]:
    """Returns the functions that convert messages with objects of the host for a state."""
    return {"dump": getattr(codec, "dump", None), "load": getattr(codec, "load", None)}
