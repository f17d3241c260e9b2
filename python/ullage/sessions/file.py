"""Reads the conversations in a file or a folder, and replaces their messages."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage._core import UllageError
from ullage.stores.records import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# The line break and the spaces after the first bracket of indented JSON.
_INDENTED = re.compile(r"\s*[\[{]\r?\n(?P<blanks>[ \t]+)")


class UnreadableSessionError(UllageError):
    """A file, or a line of it, cannot be read as a session.

    Attributes:
        file: The file or the folder.
        problem: Why it cannot be read.
        line: The line, counted from 1; None if the problem is about the whole file.
    """

    file: str
    problem: str
    line: int | None

    def __init__(self, file: str, problem: str, line: int | None = None) -> None:
        super().__init__(f"{file}: {problem}" if line is None else f"{file}:{line}: {problem}")
        self.file, self.problem, self.line = file, problem, line


# Called with each unreadable part.
OnUnreadable: TypeAlias = "Callable[[UnreadableSessionError], object]"

# The value of a file, with other conversations in it.
Put: TypeAlias = "Callable[[list[list[Any]]], Any]"


class Problems:
    """The parts of a file that cannot be read.

    Args:
        file: The file.
        on_unreadable: Called with each problem; None to raise the first.

    Attributes:
        is_strict: True if the first problem is raised.
    """

    def __init__(self, file: str, on_unreadable: OnUnreadable | None) -> None:
        self.is_strict = on_unreadable is None
        self._file = file
        self._on_unreadable = on_unreadable

    def add(self, problem: str, line: int | None = None) -> None:
        """Reports a problem.

        Raises:
            UnreadableSessionError: The problem, without ``on_unreadable``.
        """
        error = UnreadableSessionError(self._file, problem, line)
        if self._on_unreadable is None:
            raise error
        self._on_unreadable(error)


@dataclass(frozen=True)
class Session:
    """A recorded conversation.

    Attributes:
        name: The name of the file, with a number or a name if it has several sessions.
        messages: The messages, in the recorded wire format.
    """

    name: str
    messages: list[Any]


@dataclass(frozen=True)
class SessionFile:
    """The content of a file or a folder.

    Attributes:
        name: The file or the folder.
        kind: A description of the form: "a list of messages", "a session of Strands".
        sessions: The conversations in it.
        put: Returns the value of the file with other conversations; None if only the program that
            wrote the file should change it.
        style: The style of its JSON.
    """

    name: str
    kind: str
    sessions: list[Session]
    put: Put | None = None
    style: Style | None = None

    def dumped(self, conversations: Sequence[list[Any]]) -> str:
        """Returns the text of the file with other conversations.

        It has the form of the file. If only another program should write that form, it is a list of
        messages, or for several conversations an object with messages on each line.
        """
        style = self.style or Style()
        if self.put is not None:
            return style.text(self.put(list(conversations)))
        if len(conversations) == 1:
            return style.text(conversations[0])
        named = zip(self.sessions, conversations, strict=True)
        return style.text(
            Lines({"session": session.name, "messages": messages} for session, messages in named)
        )


class Lines(list[Any]):
    """Values from JSON lines.

    Attributes:
        numbers: The line of each value, counted from 1; empty if they were not read from a file.
    """

    def __init__(self, values: Iterable[Any] = (), numbers: Iterable[int] = ()) -> None:
        super().__init__(values)
        self.numbers = list(numbers)


@dataclass(frozen=True)
class Style:
    """The style in which JSON is written.

    Attributes:
        indent: The indentation of a level; None for JSON on one line.
        escaped: True if characters beyond ASCII are escaped.
    """

    indent: str | None = None
    escaped: bool = False

    @classmethod
    def of(cls, text: str) -> Style:
        """Returns the style of a text."""
        indented = _INDENTED.match(text)
        blanks = None if indented is None else indented["blanks"]
        return cls(blanks, escaped=text.isascii() and "\\u" in text)

    def text(self, value: Any) -> str:
        """Returns a value as JSON, or several values on a line each, with a final line feed."""
        if isinstance(value, Lines):
            return "".join(self._one(line, None) + "\n" for line in value)
        return self._one(value, self.indent) + "\n"

    def _one(self, value: Any, indent: str | None) -> str:
        text = json.dumps(value, ensure_ascii=self.escaped, indent=indent, default=to_json)
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half a character, which only an escape can hold.
            text = json.dumps(value, indent=indent, default=to_json)
        return text
