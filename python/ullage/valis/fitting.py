"""The newest messages, with results shortened where even they are too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.valis.calls import Result, results_in
from ullage.valis.files import OUTPUTS, path_of
from ullage.valis.offload import LATE_RESULT, pointer, replaced_by, replacement
from ullage.valis.results import filed, text_of, with_outcomes

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
        whole = filed(result.outcome)
        if whole is None or replaced_by(whole.text) is not None:
            return None
        name = f"{LATE_RESULT}_{result.tool}"
        path = path_of(OUTPUTS, name, result.id, whole.text, whole.suffix)
        short = replacement(path, whole.text, lines, _PREVIEW)
        if len(short) >= len(whole.text):
            return None
        files[path] = whole.text
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
