"""Draws the report of a session as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage._engine.wording import many
from ullage.models.catalog import BUILT_IN
from ullage.page.figures import cache_figure, cost_figure, stages_figure, tokens_figure
from ullage.page.parts import document, table, tiles
from ullage.page.pieces import Pieces
from ullage.page.text import percent, safe, time
from ullage.report.reports import Report
from ullage.report.timeline import Timeline
from ullage.usage.economics import Economics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ullage.page.figures import Money
    from ullage.page.plot import Line
    from ullage.report.recorder import Recorder
    from ullage.stores.protocol import Store

# The most rows of a table. Of more requests, it has every n-th.
_MOST_ROWS = 500
# The unit of costs without known prices: tokens of plain input.
_FACTORS = "million tokens at the price of input"
_MILLION = 1_000_000


def session_page(
    recorder: Recorder,
    *,
    economics: Economics | None = None,
    store: Store | None = None,
    folder: str | Path | None = None,
    beside: Sequence[Line] = (),
) -> str:
    """Returns the report of a session: one file of HTML, without scripts and without a network.

    Args:
        recorder: The session.
        economics: The prices; those of the recorded model if not given.
        store: The store of removed content; that of the recorded engine if not given.
        folder: The folder of the page, for links to the files of a ``FileStore``.
        beside: Other runs of the same session, drawn in place of what is computed as "without".
    """
    prices = economics or Economics.for_model(recorder.model or "")
    is_known = economics is None and recorder.model is not None and BUILT_IN.prices(recorder.model)
    unit = "at the given prices" if economics else "$" if is_known else _FACTORS
    line = Timeline.of(recorder.entries, prices)
    title = f"ullage: {recorder.name}" if recorder.name else "ullage: a session"
    pieces = Pieces(recorder.store if store is None else store, folder)
    return document(title, _body(recorder, line, (unit, prices), pieces, beside))


def _body(
    recorder: Recorder, line: Timeline, money: Money, pieces: Pieces, beside: Sequence[Line]
) -> Iterator[str]:
    yield "<h1>How full the context was</h1>"
    about = [
        recorder.name,
        recorder.model or "",
        f"window of {recorder.window:,} tokens" if recorder.window else "",
    ]
    yield f'<p class="dim">{safe(" · ".join(part for part in about if part))}</p>'
    if not line.steps:
        yield "<p>No request was recorded.</p>"
    else:
        yield from tiles(_figures(recorder, line, money))
        yield from tokens_figure(line, recorder.window, beside)
        yield from stages_figure(line)
        yield from cache_figure(line)
        yield from cost_figure(line, money)
        yield from _all_figures(line, money)
    yield from _removals(line, money[1], pieces)


def _figures(recorder: Recorder, line: Timeline, money: Money) -> Iterator[tuple[str, str, str]]:
    steps = line.steps
    highest = max(step.prompt for step in steps)
    sent = sum(step.prompt for step in steps)
    yield "requests", f"{len(steps):,}", f"{sent:,} tokens sent"
    share = f"{highest / recorder.window:.0%} of the window" if recorder.window else "tokens"
    yield "largest request", f"{highest:,}", share
    largest = max(step.without for step in steps)
    yield "without ullage", f"{largest:,}", "tokens in the largest request"
    reports = [report for _, report in line.compactions if isinstance(report, Report)]
    spent = time(sum(report.elapsed for report in reports))
    yield "compactions", f"{sum(bool(report.stages) for report in reports):,}", f"took {spent}"
    # No request is larger than the window: the provider refuses it.
    sendable = sum(min(step.without, recorder.window or step.without) for step in steps)
    if sendable:
        says = f"of {sendable:,} that fit the window"
        yield "tokens not sent", percent(1 - sent / sendable), says
    if sent:
        yield "read from the cache", percent(sum(step.read for step in steps) / sent), "of all sent"
    yield _cost_tile(line, recorder.window, money)
    savings = line.savings(recorder.window)
    unit, prices = money
    saved = savings.saved(prices) * prices.input / _MILLION
    says = f"{unit}; {savings.saved_new:,} new and {savings.saved_cached:,} cached tokens"
    yield "saved against doing nothing", f"{saved:,.4g}", says


def _cost_tile(line: Timeline, window: int | None, money: Money) -> tuple[str, str, str]:
    steps = line.steps
    cost = sum(step.cost for step in steps)
    over = (at for at, step in enumerate(steps, 1) if window and step.without > window)
    refused = next(over, None)
    if refused is not None:
        says = f"{money[0]}; without ullage, request {refused:,} is refused"
    else:
        says = f"{money[0]}; {sum(step.cost_without for step in steps):,.4g} without ullage"
    return "cost of the input", f"{cost:,.4g}", says


def _all_figures(line: Timeline, money: Money) -> Iterator[str]:
    every = -(-len(line.steps) // _MOST_ROWS) or 1
    shown = [
        (f"{number + 1:,}", step)
        for number, step in enumerate(line.steps)
        if number % every == 0 or number == len(line.steps) - 1
    ]
    which = "each request" if every == 1 else f"every {every}th request"
    # Two tables, since a phone is too narrow for one.
    yield '<details id="figures"><summary>All figures of the plots, as tables</summary>'
    yield from table(
        f"Tokens of {which}, and what of them was read, new, and written again",
        ("request", "tokens", "without", "read", "new", "again"),
        (
            (number, *(f"{n:,}" for n in (s.prompt, s.without, s.read, s.new, s.rewritten)))
            for number, s in shown
        ),
    )
    yield from table(
        f"Cost of the input of {which}, {money[0]}",
        ("request", "with ullage", "without"),
        ((number, f"{s.cost:.4g}", f"{s.cost_without:.4g}") for number, s in shown),
    )
    yield "</details>"


def _removals(line: Timeline, economics: Economics, pieces: Pieces) -> Iterator[str]:
    yield '<h2 id="removed">What was removed, and what the model sees instead</h2>'
    yield (
        '<p class="dim">Each piece unfolds to the original and to the text that took its place.'
        " Invisible characters, and those that change the direction of text, are shown by their"
        " numbers, as ⟨U+202E⟩.</p>"
    )
    for number, (request, done) in enumerate(line.compactions, 1):
        yield f'<h3 id="compaction-{number}">Before request {request + 1:,}</h3>'
        if not isinstance(done, Report):
            yield f"<p>No compaction could be made: {safe(done.why)}</p>"
            continue
        yield f"<p>{safe(_describe(done, economics))}</p>"
        if done.warnings:
            items = "".join(f"<li>{safe(warning)}</li>" for warning in done.warnings)
            yield f'<ul class="warnings">{items}</ul>'
        changes = line.changes.get(number - 1)
        named: set[str | None] = set()
        if changes is not None:
            yield from pieces.changes(changes)
            named = {change.reference for change in changes.changes}
        yield from pieces.list_stored(ref for ref in done.references if ref not in named)
    if line.arrived:
        results = many(len(line.arrived), "result")
        saved = sum(arrived.saved for arrived in line.arrived)
        yield (
            '<details id="arrivals"><summary><h3>Shortened as they arrived:'
            f" {results}, {saved:,} tokens saved</h3></summary>"
        )
        yield from pieces.list_results(line.arrived)
        yield "</details>"
    if not line.arrived and not line.compactions:
        yield "<p>Nothing.</p>"


def _describe(report: Report, economics: Economics) -> str:
    """Describes a compaction."""
    unchanged = report.tokens_after - report.rewritten
    cost = economics.of_tokens(report.tokens_before, report.tokens_after, max(0, unchanged))
    stages = ", ".join(
        f"{name} {many(stage.edits, 'edit')} ({stage.saved:,} tokens)"
        for name, stage in report.stages.items()
    )
    removed = many(report.removed_messages, "message") + " removed; "
    if report.summary is not None:
        removed += f"a summary by the {report.summary.by} takes {report.summary.tokens:,} tokens; "
    return (
        f"{report.tokens_before:,} → {report.tokens_after:,} tokens of {report.budget:,}, in"
        f" {time(report.elapsed)}: {stages or 'nothing was done'}."
        f" {removed if report.removed_messages else ''}{cost}."
    )
