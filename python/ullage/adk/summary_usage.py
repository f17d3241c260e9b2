"""What models use that summarize while a request is brought inside its window."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from ullage.usage.tokens import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.report.reports import Report

# The agent that summaries are counted under.
SUMMARIES = "(summaries)"


class SummaryUsage(NamedTuple):
    """What a model used for a summary.

    Attributes:
        model: Its id; empty where it is not known.
        usage: What it used.
    """

    model: str
    usage: Usage


_found: ContextVar[list[SummaryUsage] | None] = ContextVar("ullage_adk_summary_usage", default=None)


@contextmanager
def collect_usage() -> Iterator[list[SummaryUsage]]:
    """Collects what models use for summaries inside the block."""
    found: list[SummaryUsage] = []
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def add_usage(model: str, usage: Usage) -> None:
    """Adds what a model used, where that is collected."""
    found = _found.get()
    if found is not None:
        found.append(SummaryUsage(model, usage))


def add_estimate(report: Report, most: int) -> None:
    """Adds an estimate of what a compaction's summarizer used, if the summarizer did not say it.

    Its prompt is estimated by what the compaction removed, of which a summarizer reads at most
    ``most`` tokens.
    """
    summary = report.summary
    if summary is None or summary.by != "summarizer":
        return
    if any(not one.usage.estimated for one in _found.get() or ()):
        return
    add_usage("", estimate(min(most, report.saved + summary.tokens), summary.tokens))


def estimate(prompt: int, candidates: int) -> Usage:
    """The usage of a call that was not reported."""
    return Usage(0, prompt, candidates, estimated=prompt + candidates)
