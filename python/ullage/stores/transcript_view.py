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
        start: The first message of the log that it stands for.
        end: The one after the last; ``start`` if it stands for none, such as a note between two.
        copy: The digest of a message that is not as in the log; None of one that is.
    """

    message: Any
    start: int
    end: int
    copy: str | None

    def same(self) -> tuple[int, int, str | None]:
        """The fields that equal entries of a file share."""
        return self.start, self.end, self.copy

    def goes_with(self, start: int, end: int) -> bool:
        """True if it goes when these messages are hidden: it stands for any, or stands within."""
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

    A message of the view stands for what it stood for, and one of the log (``places`` has them by
    identity, in order) for itself. As many others as there are messages missing between two of
    these stand for one each; more or fewer stand for all that is missing, since nobody can tell.
    """
    standing: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for entry in view:
        standing[id(entry.message)].append((entry.start, entry.end))
    found: list[tuple[int, int]] = []
    behind = unknown = 0

    def settle(before: int) -> None:
        """The unknown ones, which are between these places."""
        if before - behind == unknown:
            found.extend((place, place + 1) for place in range(behind, before))
        else:
            found.extend([(behind, max(behind, before))] * unknown)

    for message in messages:
        # The same object may stand in the log twice.
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
    """A view as the items of a record, and the copies that are written with it.

    Args:
        view: The view.
        copies: Copies that are in the file already.
        lines: Those that may not be, as lines.
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
    """The view that these items of a record are.

    Raises:
        ValueError: If there are no such messages in the log.
        LookupError: If there is no such copy.
        TypeError: If these are no items.
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
