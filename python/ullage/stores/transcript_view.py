"""Maps the messages of a view to those of the log."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence


class Entry(NamedTuple):
    """A message of a view.

    Attributes:
        message: The message.
        start: The index of the first message of the log that it replaces.
        end: The index after the last one; ``start`` if it replaces none, such as a note.
        copy: The digest of a message that differs from the log; None if it does not.
    """

    message: Any
    start: int
    end: int
    copy: str | None

    def same(self) -> tuple[int, int, str | None]:
        """Returns the fields that are the same in equal entries."""
        return self.start, self.end, self.copy

    def goes_with(self, start: int, end: int) -> bool:
        """True if hiding these messages removes it: it stands for one of them, or is among them."""
        if self.start == self.end:
            return start < self.start < end
        return self.start < end and start < self.end


def ranges(
    messages: Sequence[Any],
    view: Sequence[Entry],
    places: Mapping[int, Sequence[int]],
    end: int,
) -> list[tuple[int, int]]:
    """Returns the log messages that each message stands for, up to ``end``. O(messages).

    A known message of the view stands for the same messages as before. A message of the log
    (``places`` has them by identity, in order) stands for itself. If there are as many new messages
    as missing ones between two of these, each stands for one. Otherwise each stands for all missing
    ones, because nothing tells them apart.
    """
    standing: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for entry in view:
        standing[id(entry.message)].append((entry.start, entry.end))
    found: list[tuple[int, int]] = []
    behind = unknown = 0

    def settle(before: int) -> None:
        """Assigns the new messages between these places."""
        if before - behind == unknown:
            found.extend((place, place + 1) for place in range(behind, before))
        else:
            found.extend([(behind, max(behind, before))] * unknown)

    for message in messages:
        # The same object may be in the log twice.
        known = standing.get(id(message)) or [
            (place, place + 1) for place in places.get(id(message), ())
        ]
        if not known:
            unknown += 1
            continue
        own = known[min(bisect_left(known, (behind, behind)), len(known) - 1)]
        settle(own[0])
        found.append(own)
        behind, unknown = own[1], 0
    settle(end)
    return found


def items_of(
    view: Sequence[Entry], copies: Container[str], lines: Mapping[str, str]
) -> tuple[str, set[str]]:
    """Returns a view as the items of a record, and the copies to write with it.

    Args:
        view: The view.
        copies: Copies that are already in the file.
        lines: Copies that may be new, as lines.
    """
    items: list[str] = []
    copied: set[str] = set()
    first = last = -1
    for entry in view:
        if entry.copy is not None:
            last = -1
            message = ""
            if entry.copy not in copies and entry.copy not in copied:
                message = f',"message":{lines[entry.copy]}'
                copied.add(entry.copy)
            items.append(f'{{"for":[{entry.start},{entry.end}],"copy":"{entry.copy}"{message}}}')
            continue
        if entry.start == last:
            items.pop()
        else:
            first = entry.start
        last = entry.end
        items.append(f"[{first},{last}]")
    return ",".join(items), copied


def entries_of(items: Sequence[Any], log: Sequence[Any], copies: Mapping[str, Any]) -> list[Entry]:
    """Returns the view of the items of a record.

    Raises:
        ValueError: If the log has no such messages.
        LookupError: If there is no such copy.
        TypeError: If these are not items.
    """
    view: list[Entry] = []
    for item in items:
        is_copy = isinstance(item, dict)
        start, end = item["for"] if is_copy else item
        if not 0 <= start <= end <= len(log):
            raise ValueError(f"there are no messages {start} to {end}")
        if is_copy:
            view.append(Entry(copies[item["copy"]], start, end, item["copy"]))
        else:
            view.extend(Entry(log[place], place, place + 1, None) for place in range(start, end))
    return view
