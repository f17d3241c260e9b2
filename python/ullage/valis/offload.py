"""What stands where a large result stood."""

from __future__ import annotations

import re

from ullage.valis.files import PATH

# Characters of a line that are shown, so that an output of one line is shortened too.
_LONGEST_LINE = 1_000
# Characters of a preview in all, whatever the number of lines: ten of the longest.
LONGEST_PREVIEW = 10_000
_REPLACED = re.compile(rf"\[Large output saved to ({PATH})\]\n\n(?s:.*)Use read_file\(")


def replacement(path: str, text: str, lines: int, characters: int = LONGEST_PREVIEW) -> str:
    """The preview of a text, with the path of its file and how to read it."""
    preview = _preview_of(text, lines, characters)
    return _framed(path, f"Preview (first {lines} lines):\n{preview}\n\n")


def pointer(path: str) -> str:
    """The same without a preview."""
    return _framed(path, "")


def replaced_by(text: str) -> str | None:
    """The path of the file that such a text stands for; None if it is another text."""
    found = _REPLACED.match(text)
    return found.group(1) if found else None


def _framed(path: str, preview: str) -> str:
    return (
        f'[Large output saved to {path}]\n\n{preview}Use read_file("{path}") to view full content.'
    )


def _preview_of(text: str, lines: int, characters: int) -> str:
    """The first lines of a text, each cut where it is long, and how many there are more."""
    all_lines = text.split("\n")
    shown: list[str] = []
    room = characters
    for line in all_lines[:lines]:
        short = _cut(line, min(_LONGEST_LINE, characters))
        if shown and len(short) > room:
            break
        shown.append(short)
        room -= len(short) + 1
    more = len(all_lines) - len(shown)
    return "\n".join([*shown, f"... ({more} more lines)"] if more else shown)


def _cut(line: str, longest: int) -> str:
    more = len(line) - longest
    return f"{line[:longest]}... ({more} more characters)" if more > 0 else line
