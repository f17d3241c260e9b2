"""Draws a replay as one page of HTML, without scripts and without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage._engine.wording import many
from ullage.page.parts import bar, document, table
from ullage.page.text import percent, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.replay.results import Cut, Replay, Row

# The measures that are plotted, with their captions.
_MEASURES = {
    "anchors": "needed names that the context has",
    "lines": "needed names that the context has in a line printed by a tool",
    "grounded": "later edits whose known lines are all in the context",
    "acts_near": "the context's help in predicting the next calls, against the whole history's",
    "acts_far": "the same for the next 40 messages",
    "words_near": "the context's help in predicting the agent's next words",
    "words_far": "the same for the next 40 messages",
    "sentences": "sentences of the agent's last messages that the context has",
}


def html(replay: Replay) -> str:
    """Returns the page: bars for each policy, the spread over the cuts, costs and a table.

    It is one file, and also well-formed XML.
    """
    rows = replay.rows()
    body = [
        "<h1>What compactions keep</h1>",
        f'<p class="dim">{_about(replay)}</p>',
        *_plots(replay, rows),
        *_costs(rows),
        *_all(rows),
    ]
    return document("ullage replay", body)


def _about(replay: Replay) -> str:
    sessions = len({cut.session for cut in replay.cuts})
    measures = "; ".join(f"<b>{name}</b>: {says}" for name, says in _MEASURES.items())
    return (
        f"{sessions} recorded sessions, cut where their history was long. A name is needed if a"
        " tool was the first to print it before the cut, and the agent was the first to repeat it"
        f" after the cut. {measures}. A bar is the share over all cuts. Each dot below is one cut."
    )


def _plots(replay: Replay, rows: Iterable[Row]) -> Iterator[str]:
    place: tuple[int, float] | None = None
    for row in rows:
        if (row.context, row.share) != place:
            place = (row.context, row.share)
            budget = f"{row.context:,} tokens to {percent(row.share)}"
            yield f'<h2>{budget} <span class="dim">({many(row.cuts, "cut")})</span></h2>'
        yield f"<h3>{safe(row.policy)}</h3>"
        cuts = [
            cut
            for cut in replay.cuts
            if (cut.context, cut.share, cut.policy) == (*place, row.policy)
        ]
        for name in _MEASURES:
            yield _bar(name, row.retention.share(name), cuts)


def _bar(name: str, share: float | None, cuts: Iterable[Cut]) -> str:
    """Returns a bar with a dot for each cut."""
    spread = [cut.retention.share(name) for cut in cuts]
    # A context may mislead a prediction, or help more than the whole history does.
    dots = [min(1.0, max(0.0, kept)) for kept in spread if kept is not None]
    return bar(name, name, min(1.0, max(0.0, share or 0)), _percent(share), dots)


def _costs(rows: Iterable[Row]) -> Iterator[str]:
    costs = {row.policy: row.cost for row in rows if row.cost is not None}
    if not costs:
        return
    yield "<h2>What whole sessions cost</h2>"
    yield '<p class="dim">With a prompt cache, against histories that only grow.</p>'
    shown = [(policy, f"{cost:.3f}") for policy, cost in costs.items()]
    yield from table("Cost against histories that only grow", ("policy", "cost"), shown)


def _all(rows: Iterable[Row]) -> Iterator[str]:
    heads = (
        "policy", "context", "budget", "cuts", "failed", *_MEASURES, "recoverable", "used",
        "overshoot", "invalid", "ms",
    )  # fmt: skip
    yield "<h2>All figures</h2>"
    cells = [
        (
            row.policy,
            f"{row.context:,}",
            percent(row.share),
            str(row.cuts),
            str(row.failed),
            *(_percent(row.retention.share(name)) for name in (*_MEASURES, "recoverable")),
            percent(row.used),
            f"{row.overshoot:,}",
            str(row.violations),
            f"{row.milliseconds:.1f}",
        )
        for row in rows
    ]
    yield from table("Policies at each budget", heads, cells)


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)
