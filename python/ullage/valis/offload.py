"""What stands where a large result stood."""

from __future__ import annotations

# Characters of a line that are shown, so that an output of one line is shortened too.
_LONGEST_LINE = 1_000
# Characters of a preview in all, whatever the number of lines: ten of the longest.
_LONGEST_PREVIEW = 10_000


def preview_of(text: str, lines: int) -> str:
    """The first lines of a text, each cut where it is long, and how many there are more."""
    all_lines = text.split("\n")
    shown: list[str] = []
    room = _LONGEST_PREVIEW
    for line in all_lines[:lines]:
        short = _cut(line)
        if shown and len(short) > room:
            break
        shown.append(short)
        room -= len(short) + 1
    more = len(all_lines) - len(shown)
    return "\n".join([*shown, f"... ({more} more lines)"] if more else shown)


def replacement(path: str, text: str, lines: int) -> str:
    """The preview of a text, with the path of its file and how to read it."""
    return (
        f"[Large output saved to {path}]\n\n"
        f"Preview (first {lines} lines):\n{preview_of(text, lines)}\n\n"
        f'Use read_file("{path}") to view full content.'
    )


def _cut(line: str) -> str:
    more = len(line) - _LONGEST_LINE
    return f"{line[:_LONGEST_LINE]}... ({more} more characters)" if more > 0 else line
