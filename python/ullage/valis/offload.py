"""Replaces large results with previews and pointers, on arrival and when the window is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.valis.calls import ResultPart, as_file, results_in, text_of, with_outcomes
from ullage.valis.files import OUTPUTS, is_path_in, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

# A longer line is cut, so that an output of a single line is shortened too.
_LONGEST_LINE = 1_000
# The greatest number of characters in a preview: ten of the longest lines.
LONGEST_PREVIEW = 10_000
# File names begin in this way if the content was in the conversation before it became a file.
LATE_RESULT, FIRST_REQUEST = "late", "first_request"
_LATE = tuple(f"{OUTPUTS}/{name}_" for name in (LATE_RESULT, FIRST_REQUEST))
# The name of the tool for reading files, as the preview tells the model.
READER = "read_file"
# The beginning of a preview.
OPENING = "[Large output saved to "
# The greatest length of a path.
_LONGEST_PATH = 200


def replacement(path: str, text: str, lines: int, characters: int = LONGEST_PREVIEW) -> str:
    """Returns the preview of a text, with the path of its file and how to read it."""
    all_lines = text.split("\n")
    shown = _preview_lines(all_lines[:lines], characters)
    more = len(all_lines) - len(shown)
    # The preview has fewer lines if the characters are used up.
    first = len(shown) if more and len(shown) < lines else lines
    preview = "\n".join([*shown, f"... ({more} more lines)"] if more else shown)
    return _frame(path, f"Preview (first {first} lines):\n{preview}\n\n")


def pointer(path: str) -> str:
    """Returns the text that replaces a preview: only the path, and how to read the file."""
    return _frame(path, "")


def file_of(text: str) -> str | None:
    """Returns the path in a preview or pointer, or None for another text."""
    if not text.startswith(OPENING):
        return None
    path, end, _ = text[len(OPENING) :][:_LONGEST_PATH].partition("]\n\n")
    is_whole = end and text.endswith(_frame(path, "").partition("\n\n")[2])
    return path if is_whole and is_path_in(OUTPUTS, path) else None


def late_file_of(text: str) -> str | None:
    """Returns the path if the text was shortened later, in the conversation. Otherwise None."""
    path = file_of(text)
    return path if path is not None and path.startswith(_LATE) else None


def _frame(path: str, preview: str) -> str:
    return f'{OPENING}{path}]\n\n{preview}Use {READER}("{path}") to view full content.'


def _preview_lines(lines: list[str], characters: int) -> list[str]:
    """Returns the lines that fit, at least one. Long lines are cut."""
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


# The characters of a preview when the window is full: about twenty lines of a terminal.
_PREVIEW = 1_600


def shorten_results(
    messages: list[Any], most: int, lines: int, tokens: Callable[[list[Any]], int]
) -> tuple[list[Any], dict[str, str]]:
    """Shortens results until the messages have at most ``most`` tokens, if that is possible.

    Previews replace the longest results first. If that is not enough, pointers replace previews.
    Unchanged messages are the same objects.

    Returns:
        The messages, and the files that must be written, by path.
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
