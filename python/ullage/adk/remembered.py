"""What was decided about a conversation, so that it is decided once.

ADK builds each request from the whole session again, and what a callback changes in a request is
gone with it. Deciding anew each time would change the beginning of the prompt from call to call,
and with it the provider's cache would be of no use. So the outcome of a compaction stands for the
contents that it was made of until the next one.

ADK's copies of contents share what is in them with the session's events, so while an invocation
goes on, comparing takes little. In between only a digest of what was compacted is kept, by
:mod:`ullage.adk.decisions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from google.genai import types


@dataclass
class Remembered:
    """What a run knows of its conversation. For one request at a time.

    Attributes:
        seen: The contents of the last request as ADK made them; empty before the first of a run.
        view: The contents as they were sent, with what was compacted at the beginning. New ones
            come at the end of this very list, of which the engine then reads no more than those.
        head: What stands for the first ``count`` contents of ``seen``.
        count: How many those are.
        most: The most tokens that the contents may take, after a provider refused some.
    """

    seen: list[types.Content] = field(default_factory=list)
    view: list[types.Content] = field(default_factory=list)
    head: list[types.Content] = field(default_factory=list)
    count: int = 0
    most: int | None = None
    _digest: int = 0

    def known_by(self, digest: int) -> Remembered:
        """This, with the digest of the contents that the head stands for."""
        self._digest = digest
        return self

    def taken_up(self, contents: Sequence[types.Content]) -> list[types.Content]:
        """The contents with what was compacted in its place.

        Where they begin with others than before, all of them: after a rewind, a compaction of
        ADK's own, or when the result of a call came in late and was put behind it.
        """
        if self.seen:
            alike = _alike(self.seen, contents)
            if alike >= self.count:
                del self.view[len(self.view) - (len(self.seen) - alike) :]
                self.view.extend(contents[alike:])
                self.seen = list(contents)
                return self.view
            self._forget()
        elif self.count and digest(contents[: self.count]) != self._digest:
            self._forget()
        self.seen = list(contents)
        self.view = [*self.head, *contents[self.count :]]
        return self.view

    def compacted(self, view: list[types.Content]) -> None:
        """Takes over what a compaction left of the contents that were seen last.

        The last contents of the user are not part of it if they are as they were: ADK puts
        instructions of one request in front of them, which are gone in the next.
        """
        newest = len(self.seen)
        while newest > 0 and self.seen[newest - 1].role == "user":
            newest -= 1
        kept = len(self.seen) - newest
        same = kept < len(view) and all(
            a is b for a, b in zip(self.seen[newest:], view[len(view) - kept :], strict=True)
        )
        if newest == 0 or not same:
            newest, kept = len(self.seen), 0
        self.view, self.count, self.head = view, newest, view[: len(view) - kept]

    def rest(self) -> None:
        """Lets go of the contents until the next request."""
        if self.seen and self.count:
            self._digest = digest(self.seen[: self.count])
        self.seen, self.view = [], []

    def _forget(self) -> None:
        self.head, self.count = [], 0


def _alike(seen: list[types.Content], contents: Sequence[types.Content]) -> int:
    """How many contents at the beginning are equal."""
    for index, (one, other) in enumerate(zip(seen, contents, strict=False)):
        if one is other:
            continue
        mine, theirs = one.parts or [], other.parts or []
        if one.role != other.role or len(mine) != len(theirs):
            return index
        # Fields of shallow copies are the same objects, for which comparing dicts takes no more
        # than a glance; pydantic's own comparison takes several times as long.
        if any(a.__dict__ != b.__dict__ for a, b in zip(mine, theirs, strict=True)):
            return index
    return min(len(seen), len(contents))


def digest(contents: Sequence[Any]) -> int:
    """A number that changes when the contents do. For this process alone.

    Python remembers the hashes of strings, which ADK's copies of contents share, so this takes a
    small part of what building the request took.
    """
    return hash(tuple(_frozen(content) for content in contents))


def _frozen(value: Any) -> Hashable:
    """The value as something that can be hashed; equal for values of equal content."""
    if value is None or isinstance(value, (str, int, bytes)):
        return value
    if isinstance(value, dict):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, Enum):
        return str(value)
    fields = getattr(value, "__dict__", None)
    if fields:
        # Contents have thirty fields, of which one or two are set.
        return tuple((key, _frozen(item)) for key, item in fields.items() if item is not None)
    return repr(value)
