"""What stands where a large result stood."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict

from ullage.valis.files import OUTPUTS, digest_of

# Characters of a line that are shown, so that an output of one line is shortened too.
_LONGEST_LINE = 1_000
# Characters of a preview in all, whatever the number of lines: ten of the longest.
LONGEST_PREVIEW = 10_000
# How the names of files begin of what had been in the conversation before it became a file.
LATE_RESULT, FIRST_REQUEST = "late", "first_request"
_LATE = tuple(f"{OUTPUTS}/{name}_" for name in (LATE_RESULT, FIRST_REQUEST))
# Results that are remembered: of a long-lived server's, those that a model may still ask for.
_REMEMBERED = 4_096
# What the model reads files with, as it is told.
_READER = "read_file"
# How a preview begins.
OPENING = "[Large output saved to "
_SAVED = re.compile(r"\[Large output saved to (/tool_outputs/[A-Za-z0-9_-]+\.(?:txt|json))\]\n\n")


class Offloaded:
    """Which results became files, so that one that is read back is told from them."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, text: str, identifier: str) -> None:
        """Remembers that the result of a call became a file."""
        with self._lock:
            self._calls.setdefault(digest_of(text), identifier)
            while len(self._calls) > _REMEMBERED:
                self._calls.popitem(last=False)

    def is_read_back(self, text: str, tool: str, identifier: str) -> bool:
        """Whether the result is what another call had given, read from its file."""
        if tool != _READER:
            return False
        return self._calls.get(digest_of(text), identifier) != identifier


def replacement(path: str, text: str, lines: int, characters: int = LONGEST_PREVIEW) -> str:
    """The preview of a text, with the path of its file and how to read it."""
    all_lines = text.split("\n")
    shown = _shown(all_lines[:lines], characters)
    more = len(all_lines) - len(shown)
    # Fewer where the room is over before the lines are.
    first = len(shown) if more and len(shown) < lines else lines
    preview = "\n".join([*shown, f"... ({more} more lines)"] if more else shown)
    return _framed(path, f"Preview (first {first} lines):\n{preview}\n\n")


def pointer(path: str) -> str:
    """The same without a preview."""
    return _framed(path, "")


def replaced_by(text: str) -> str | None:
    """The path of the file that such a text stands for; None if it is another text."""
    found = _SAVED.match(text)
    if found is None or not text.endswith(_framed(found.group(1), "").partition("\n\n")[2]):
        return None
    return found.group(1)


def shortened_by(text: str) -> str | None:
    """The path if the text was shortened in the conversation, not as it arrived."""
    path = replaced_by(text)
    return path if path is not None and path.startswith(_LATE) else None


def _framed(path: str, preview: str) -> str:
    return f'{OPENING}{path}]\n\n{preview}Use read_file("{path}") to view full content.'


def _shown(lines: list[str], characters: int) -> list[str]:
    """As many of the lines as there is room for, each cut where it is long; at least one."""
    shown: list[str] = []
    room = characters
    for line in lines:
        short = _cut(line, min(_LONGEST_LINE, characters))
        if shown and len(short) > room:
            break
        shown.append(short)
        room -= len(short) + 1
    return shown


def _cut(line: str, longest: int) -> str:
    more = len(line) - longest
    return f"{line[:longest]}... ({more} more characters)" if more > 0 else line
