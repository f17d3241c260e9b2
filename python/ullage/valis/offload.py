"""Previews and pointers in place of large results, as they arrive and where room is short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.valis.calls import ResultPart, as_file, results_in, text_of, with_outcomes
from ullage.valis.files import OUTPUTS, is_path_in, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Characters of a line that are shown, so that an output of one line is shortened too.
_LONGEST_LINE = 1_000
# Characters of a preview in all, whatever the number of lines: ten of the longest.
LONGEST_PREVIEW = 10_000
# The beginnings of file names for content that was in the conversation before it became a file.
LATE_RESULT, FIRST_REQUEST = "late", "first_request"
_LATE = tuple(f"{OUTPUTS}/{name}_" for name in (LATE_RESULT, FIRST_REQUEST))
# The tool for reading files, as the model is told.
READER = "read_file"
# The beginning of a preview.
OPENING = "[Large output saved to "
# Characters of a path, at the most.
_LONGEST_PATH = 200


def replacement(path: str, text: str, lines: int, characters: int = LONGEST_PREVIEW) -> str:
    """The preview of a text, with the path of its file and how to read it."""
    all_lines = text.split("\n")
    shown = _preview_lines(all_lines[:lines], characters)
    more = len(all_lines) - len(shown)
    # Fewer where the room is over before the lines are.
    first = len(shown) if more and len(shown) < lines else lines
    preview = "\n".join([*shown, f"... ({more} more lines)"] if more else shown)
    return _frame(path, f"Preview (first {first} lines):\n{preview}\n\n")


def pointer(path: str) -> str:
    """The same without a preview."""
    return _frame(path, "")


def file_of(text: str) -> str | None:
    """The path of the file that such a text stands for; None if it is another text."""
    if not text.startswith(OPENING):
        return None
    path, end, _ = text[len(OPENING) :][:_LONGEST_PATH].partition("]\n\n")
    is_whole = end and text.endswith(_frame(path, "").partition("\n\n")[2])
    return path if is_whole and is_path_in(OUTPUTS, path) else None


def late_file_of(text: str) -> str | None:
    """The path if the text was shortened in the conversation, not as it arrived."""
    path = file_of(text)
    return path if path is not None and path.startswith(_LATE) else None


def _frame(path: str, preview: str) -> str:
    return f'{OPENING}{path}]\n\n{preview}Use {READER}("{path}") to view full content.'


def _preview_lines(lines: list[str], characters: int) -> list[str]:
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


# Characters of a preview where room is short: some twenty lines of a terminal.
_PREVIEW = 1_600


def shorten_results(
    messages: list[Any], most: int, lines: int, tokens: Callable[[list[Any]], int]
) -> tuple[list[Any], dict[str, str]]:
    """The messages within ``most`` tokens, or as near to it as results allow; and what to write.

    The longest results become files first, with a preview; then previews go. Messages in which
    nothing changes are the same objects.
    """
    left = list(messages)
    files: dict[str, str] = {}
    over = tokens(left) - most

    def preview(result: ResultPart) -> str | None:
        whole = as_file(result.outcome)
        if whole is None or file_of(whole.text) is not None:
            return None
        name = f"{LATE_RESULT}_{result.tool}"
        path = path_of(OUTPUTS, name, result.id, whole.text, whole.suffix)
        short = replacement(path, whole.text, lines, _PREVIEW)
        if len(short) >= len(whole.text):
            return None
        files[path] = whole.text
        return short

    def point(result: ResultPart) -> str | None:
        text = text_of(result.outcome)
        path = None if text is None else file_of(text)
        short = None if path is None else pointer(path)
        return short if short != text else None

    for change in (preview, point):
        for place in sorted(range(len(left)), key=lambda place: -tokens([left[place]])):
            if over <= 0:
                break
            if results_in(left[place]):
                short = with_outcomes(left[place], change)
                left[place] = short
                over = tokens(left) - most
    return left, files
