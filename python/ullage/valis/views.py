"""What was given back for a conversation stands for it in the next request.

A host may go on from what it was given, or hand over the full history each time. The second would
pay for a new summary at each turn, and change the beginning of the prompt, so that the provider's
cache would be of no use.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ullage.valis.cutting import system_end
from ullage.valis.messages import written

if TYPE_CHECKING:
    from collections.abc import Iterator

# Conversations that are remembered. One that is forgotten costs a summary more, and no message.
_REMEMBERED = 256


class Views:
    """Remembers what conversations begin with, and what stands for it. Threads may share it."""

    def __init__(self) -> None:
        self._views: OrderedDict[tuple[int, bytes], list[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def knows(self, messages: list[Any], terms: object) -> bool:
        """Whether anything is remembered of what the messages begin with, on these terms."""
        return self._found(messages, terms) is not None

    def standing(self, messages: list[Any], terms: object) -> list[Any]:
        """What stands for the messages on these terms; the same list if nothing is known.

        The system messages are those of now: a prompt may have the date in it. Costs a digest of
        each message as soon as anything was remembered.
        """
        found = self._found(messages, terms)
        if found is None:
            return messages
        count, view = found
        begin = system_end(messages)
        return [*messages[:begin], *view, *messages[begin + count :]]

    def remember(self, messages: list[Any], view: list[Any], terms: object) -> None:
        """Remembers that ``view`` was given back for the messages."""
        talk = messages[system_end(messages) :]
        key = (0, b"")
        for key in _digests(talk, terms):  # noqa: B007 - the last one is that of all
            pass
        with self._lock:
            self._views[key] = view[system_end(view) :]
            self._views.move_to_end(key)
            while len(self._views) > _REMEMBERED:
                self._views.popitem(last=False)

    def _found(self, messages: list[Any], terms: object) -> tuple[int, list[Any]] | None:
        """What is known of the longest beginning, and how many messages that is."""
        with self._lock:
            views = dict(self._views)
        if not views:
            return None
        longest = max(count for count, _ in views)
        begin = system_end(messages)
        found: tuple[int, list[Any]] | None = None
        for count, digest in _digests(messages[begin : begin + longest], terms):
            view = views.get((count, digest))
            found = found if view is None else (count, view)
        return found


def _digests(messages: list[Any], terms: object) -> Iterator[tuple[int, bytes]]:
    """After each message how many there are, and a digest of all of them."""
    digest = hashlib.sha256(repr(terms).encode())
    for count, message in enumerate(messages, 1):
        text = written(message).encode("utf-8", "surrogatepass")
        digest.update(hashlib.sha256(text).digest())
        yield count, digest.digest()
