"""A replay as one page of HTML: plots for people, without scripts and without a network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.replay.results import Cut, Replay, Row

# What is plotted, with what it says.
_MEASURES = {
    "anchors": "names that were needed and are there",
    "lines": "names that are there in a line that a tool had printed",
    "grounded": "later edits of which every known line is there",
}
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --dim: #667085; --paper: #fff; --rule: #d8dce4;
  --anchors: #2f6fdf; --lines: #128a6f; --grounded: #c2571a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9f0; --dim: #98a2b3; --paper: #14171f; --rule: #333a47;
    --anchors: #7aa7ff; --lines: #4fd1ae; --grounded: #f2995c; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; } p.dim, .dim { color: var(--dim); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
.bar { display: grid; grid-template-columns: 6rem 1fr 4.5rem; gap: .5rem; align-items: center; }
.bar svg { width: 100%; height: 1.1rem; } .bar rect.all { fill: var(--rule); opacity: .5; }
.bar span:last-child { text-align: right; font-variant-numeric: tabular-nums; }
.anchors { fill: var(--anchors); } .lines { fill: var(--lines); }
.grounded { fill: var(--grounded); } h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; }
.spread circle { fill-opacity: .45; }
"""


def html(replay: Replay) -> str:
    """The page: bars for each policy, the spread over the cuts, costs, and a table of it all.

    It is one file, to be opened in any browser, and well-formed as XML too.
    """
    rows = replay.rows()
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8"/><title>ullage replay</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<style>{_STYLE}</style></head><body>",
            "<h1>What compactions keep</h1>",
            f'<p class="dim">{_about(replay)}</p>',
            *_plots(replay, rows),
            *_costs(rows),
            *_table(rows),
            "</body></html>",
            "",
        ]
    )


def _about(replay: Replay) -> str:
    sessions = len({cut.session for cut in replay.cuts})
    measures = "; ".join(f"<b>{name}</b>: {says}" for name, says in _MEASURES.items())
    return (
        f"{sessions} recorded sessions, cut where their history was long. Needed is what a tool"
        " was the first to bring up before the cut, and the agent the first to repeat after it."
        f" {measures}. A bar is the share over all cuts; a dot under it is one cut."
    )


def _plots(replay: Replay, rows: Iterable[Row]) -> Iterator[str]:
    place: tuple[int, float] | None = None
    for row in rows:
        if (row.context, row.share) != place:
            place = (row.context, row.share)
            budget = f"{row.context:,} tokens to {row.share:.1%}"
            yield f'<h2>{budget} <span class="dim">({_many(row.cuts, "cut")})</span></h2>'
        yield f"<h3>{escape(row.policy)}</h3>"
        cuts = [
            cut
            for cut in replay.cuts
            if (cut.context, cut.share, cut.policy) == (*place, row.policy)
        ]
        for name in _MEASURES:
            yield _bar(name, row.retention.share(name), cuts)


def _bar(name: str, share: float | None, cuts: Iterable[Cut]) -> str:
    """A bar with the spread of its cuts on it."""
    shown = "-" if share is None else f"{share:.1%}"
    dots = "".join(
        f'<circle class="{name}" cx="{kept * 100:.2f}%" cy="85%" r="2.5"/>'
        for kept in (cut.retention.share(name) for cut in cuts)
        if kept is not None
    )
    return (
        f'<div class="bar"><span>{name}</span>'
        f'<svg role="img" aria-label="{name} {shown}" overflow="visible">'
        '<rect class="all" width="100%" height="60%"/>'
        f'<rect class="{name}" width="{(share or 0) * 100:.2f}%" height="60%"/>'
        f'<g class="spread">{dots}</g></svg><span>{shown}</span></div>'
    )


def _costs(rows: Iterable[Row]) -> Iterator[str]:
    costs = {row.policy: row.cost for row in rows if row.cost is not None}
    if not costs:
        return
    yield "<h2>What whole sessions cost</h2>"
    yield '<p class="dim">With a prompt cache, against histories that only grow.</p>'
    yield '<div class="wide"><table><tr><th>policy</th><th>cost</th></tr>'
    for policy, cost in costs.items():
        yield f"<tr><td>{escape(policy)}</td><td>{cost:.3f}</td></tr>"
    yield "</table></div>"


def _table(rows: Iterable[Row]) -> Iterator[str]:
    heads = (
        "policy", "context", "budget", "cuts", "failed", *_MEASURES, "recoverable", "used",
        "overshoot", "invalid", "ms",
    )  # fmt: skip
    yield "<h2>All figures</h2>"
    yield '<div class="wide"><table><tr>' + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"
    for row in rows:
        shares = [row.retention.share(name) for name in (*_MEASURES, "recoverable")]
        cells = (
            escape(row.policy),
            f"{row.context:,}",
            f"{row.share:.1%}",
            str(row.cuts),
            str(row.failed),
            *("-" if share is None else f"{share:.1%}" for share in shares),
            f"{row.used:.1%}",
            f"{row.overshoot:,}",
            str(row.violations),
            f"{row.milliseconds:.1f}",
        )
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
