"""The run with ullage as a page, and all three runs as the README's picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.page import Line, session_page, session_picture

if TYPE_CHECKING:
    from pathlib import Path

    import ullage
    from ullage.page import Kind

    from .runs import Outcome

PAGE, PICTURE = "report.html", "context.svg"
_TITLE = "Tokens of each request: an agent that audits a repository, with ullage and without"


def write(recorder: ullage.Recorder, outcomes: list[Outcome], folder: Path) -> None:
    """Both, into a folder. The runs without ullage stand there as they really went."""
    unmanaged, window = outcomes[:2]
    others = [_line(unmanaged, "without"), _line(window, "other")]
    page = session_page(recorder, folder=folder, beside=others)
    (folder / PAGE).write_text(page, encoding="utf-8", newline="\n")
    picture = session_picture(recorder, _TITLE, beside=others)
    (folder / PICTURE).write_text(picture, encoding="utf-8", newline="\n")


def _line(outcome: Outcome, kind: Kind) -> Line:
    tokens = [request.tokens for request in outcome.requests]
    return Line(outcome.name, kind, tokens, is_cut_short=not outcome.finished)
