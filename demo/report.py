"""The report on stdout: plots, a table of the runs, what ullage did and took, and the promises."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .plot import plot
from .provider import WINDOW
from .script import MINIMUM_BYTES, MINIMUM_CALLS, Script

if TYPE_CHECKING:
    from pathlib import Path

    from .runs import Evidence, Outcome

_WIDTH = 100


def header(script: Script) -> str:
    """Describes the demo in two sentences."""
    return textwrap.fill(
        f"A real strands.Agent audits this checkout with real tools, {script.calls} calls in"
        f" {len(script.turns)} user turns; a scripted model stands in for the LLM, counts every"
        f" request exactly, and refuses any over {WINDOW:,} tokens or with an invalid history. The"
        " same script runs three times: without management, with Strands' default, with ullage.",
        _WIDTH,
    )


def run_section(outcome: Outcome) -> str:
    """One run: its plot and how it ended."""
    verdict = _filled(f"Result: {outcome.verdict}.")
    return "\n".join([_title(f"Run: {outcome.name}"), *plot(outcome.requests, WINDOW), verdict])


def comparison(outcomes: list[Outcome]) -> str:
    """The runs side by side."""
    above = f"{'':<16}{'model':>9}{'':>9}{'tool':>8}{'bytes of':>13}{'highest':>10}"
    names = (
        f"{'run':<16}{'requests':>9}{'refused':>9}{'calls':>8}{'tool output':>13}{'accepted':>10}"
    )
    lines = [_title("All runs"), above, f"{names}{'seconds':>9}  result"]
    for outcome in outcomes:
        sent = max((request.tokens for request in outcome.requests if request.accepted), default=0)
        lines.append(
            f"{outcome.name:<16}{len(outcome.requests):>9}{outcome.refused:>9}"
            f"{outcome.tool_calls:>8}{outcome.tool_bytes:>13,}{sent:>10,}"
            f"{outcome.seconds:>9.1f}  {'finished' if outcome.succeeded else 'FAILED'}"
        )
    return "\n".join(lines)


def ullage_section(outcome: Outcome, evidence: Evidence) -> str:
    """Describes the savings of each stage, the cost of ullage, and the retrieved content."""
    stats, watch = evidence.stats, evidence.stopwatch
    calls = max(1, len(outcome.requests))
    lines = [_title("What ullage did"), f"{'stage':<16}{'tokens saved':>14}"]
    lines += [f"{stage:<16}{saved:>14,}" for stage, saved in stats.saved.items()]
    lines.append(f"{stats.compactions} compactions, {stats.shrinks} results shrunk at arrival.")
    lines += ["", f"{'time of ullage':<36}{'in all':>12}{'per model call':>18}{'at most':>14}"]
    clocks = [
        ("in the engine, by its own clock", stats.seconds, None),
        ("in its hooks, seen from outside", watch.seconds, max(watch.per_call, default=0.0)),
    ]
    for name, total, most in clocks:
        lines.append(f"{name:<36}{_ms(total, 12)}{_ms(total / calls, 18)}{_ms(most, 14)}".rstrip())
    return "\n".join([*lines, "", *_round_trips(evidence)])


def promises(outcome: Outcome, evidence: Evidence) -> list[tuple[str, bool]]:
    """Returns the promises of the run with ullage, and whether each was kept."""
    highest = max((request.tokens for request in outcome.requests), default=0)
    trips = evidence.round_trips
    return [
        ("the run comes to its end", outcome.finished and outcome.error is None),
        (f"no request was over the window: {highest:,} of {WINDOW:,} tokens", highest <= WINDOW),
        ("no request was refused, for its size or an invalid history", outcome.refused == 0),
        ("the user's task was in every request", outcome.task_lost_at is None),
        (
            f"at least {MINIMUM_CALLS} tool calls: {outcome.tool_calls}",
            outcome.tool_calls >= MINIMUM_CALLS,
        ),
        (
            f"at least {MINIMUM_BYTES:,} bytes of tool output: {outcome.tool_bytes:,}",
            outcome.tool_bytes >= MINIMUM_BYTES,
        ),
        (
            "the model fetched an output by a reference that it found in its context",
            evidence.was_fetched,
        ),
        (
            f"stored outputs come back byte for byte: {_equal(evidence)} of {len(trips)}",
            bool(trips) and _equal(evidence) == len(trips),
        ),
    ]


def closing(kept: list[tuple[str, bool]], seconds: float, page: Path | None) -> str:
    """The promises, one a line, where the page is, and the last word."""
    lines = [f"{'PASS' if held else 'FAIL'}  {text}" for text, held in kept]
    passed = sum(held for _, held in kept)
    word = "PASS" if passed == len(kept) else "FAIL"
    last = f"{word}: {passed} of {len(kept)} promises hold; the demo took {seconds:.1f} s."
    seen = [] if page is None else [f"The run with ullage as a page: {page}", ""]
    return "\n".join([_title("Promises of the run with ullage"), *lines, "", *seen, last])


def _round_trips(evidence: Evidence) -> list[str]:
    """Every output that differs, and in full the one that the model fetched."""
    count = f"{_equal(evidence)} of {len(evidence.round_trips)}"
    lines = [f"{count} stored outputs are byte for byte what the tool returned."]
    for trip in evidence.round_trips:
        seen = trip.sighting
        is_followed = (
            evidence.followed is not None and seen.reference == evidence.followed.reference
        )
        if is_followed or not trip.is_equal:
            same = "equal" if trip.is_equal else "DIFFERENT"
            lines.append(f"  {seen.reference} ({seen.call}, {trip.returned_bytes:,} bytes): {same}")
    if evidence.was_fetched and evidence.followed is not None:
        sizes = " and ".join(f"{len(text):,}" for text in evidence.retrieved)
        told = (
            f"The scripted model found {evidence.followed.reference} in its context and fetched it"
            f" with the retrieve tool, whole and by the lines that match a word: {sizes} characters"
            " with the line that names it."
        )
        lines.append(_filled(told))
    return lines


def _equal(evidence: Evidence) -> int:
    return sum(trip.is_equal for trip in evidence.round_trips)


def _ms(seconds: float | None, width: int) -> str:
    return " " * width if seconds is None else f"{seconds * 1e3:>{width - 3},.2f} ms"


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _title(text: str) -> str:
    return f"\n── {text} ".ljust(_WIDTH + 1, "─")
