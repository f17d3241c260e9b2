"""The newest messages, with results shortened where even they are too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.valis.calls import Result, results_in, text_of, with_outcomes
from ullage.valis.files import OUTPUTS, path_of
from ullage.valis.offload import pointer, replaced_by, replacement

if TYPE_CHECKING:
    from collections.abc import Callable

# Characters of a preview where room is short: some twenty lines of a terminal.
_PREVIEW = 1_600


def shortened(
    messages: list[Any], most: int, lines: int, tokens: Callable[[list[Any]], int]
) -> tuple[list[Any], dict[str, str]]:
    """The messages within ``most`` tokens, or as near to it as results allow; and what to write.

    The longest results become files first, with a preview; then previews go. Messages in which
    nothing changes are the same objects.
    """
    left = list(messages)
    files: dict[str, str] = {}
    over = tokens(left) - most

    def previewed(result: Result) -> str | None:
        text = text_of(result.outcome)
        if text is None or replaced_by(text) is not None:
            return None
        path = path_of(OUTPUTS, result.tool, result.id, text)
        short = replacement(path, text, lines, _PREVIEW)
        if len(short) >= len(text):
            return None
        files[path] = text
        return short

    def pointed(result: Result) -> str | None:
        text = text_of(result.outcome)
        path = None if text is None else replaced_by(text)
        short = None if path is None else pointer(path)
        return short if short != text else None

    for change in (previewed, pointed):
        for place in sorted(range(len(left)), key=lambda place: -tokens([left[place]])):
            if over <= 0:
                break
            if results_in(left[place]):
                short = with_outcomes(left[place], change)
                left[place] = short
                over = tokens(left) - most
    return left, files
