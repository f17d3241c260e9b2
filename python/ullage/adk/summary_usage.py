"""What models use that summarize while a request is brought inside its window."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from ullage.spent import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.report import Report

# The agent that summaries are counted under.
SUMMARIES = "(summaries)"


class Answered(NamedTuple):
    """An answer of a model that summarizes: the model's id, where it is known, and its usage."""

    model: str
    usage: Usage


_answers: ContextVar[list[Answered] | None] = ContextVar("ullage_adk_answers", default=None)


@contextmanager
def answers() -> Iterator[list[Answered]]:
    """Collects the answers of models that summarize inside the block."""
    found: list[Answered] = []
    token = _answers.set(found)
    try:
        yield found
    finally:
        _answers.reset(token)


def answered(model: str, usage: Usage) -> None:
    """Notes an answer, where somebody collects them."""
    found = _answers.get()
    if found is not None:
        found.append(Answered(model, usage))


def reported(report: Report, most: int) -> None:
    """Notes the answer that a compaction had from a summarizer that did not say what it used.

    Its prompt is estimated by what the compaction removed, of which a summarizer reads at most
    ``most`` tokens.
    """
    summary = report.summary
    if summary is None or summary.by != "summarizer" or _answers.get():
        return
    answered("", estimate(min(most, report.saved + summary.tokens), summary.tokens))


def estimate(prompt: int, candidates: int) -> Usage:
    """The usage of a call that nobody reported."""
    return Usage(0, prompt, candidates, estimated=prompt + candidates)
