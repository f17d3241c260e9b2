"""Prints the results of ``ullage replay`` as a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ullage.cli.console import say, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.replay import Replay, Row
    from ullage.usage.economics import Economics

# The heads are short, so that a table fits into 80 columns.
_SHARES = {"anchors": "anchors", "lines": "lines", "grounded": "edits", "recoverable": "recov."}
_THREAD = {
    "acts_near": "acts",
    "acts_far": "far",
    "words_near": "words",
    "words_far": "far",
    "sentences": "said",
    "tasks": "tasks",
    "files": "files",
    "user_words": "user",
}
# The number of failures that are printed, because most are alike.
_FAILURES_SHOWN = 3


def show(found: Replay, prices: Economics | None) -> None:
    """Prints tables of the rows, the savings at prices in money if they are known, and failures."""
    rows = found.rows()
    columns = [column for column in _columns() if column[0] in _ALWAYS or any(map(column[1], rows))]
    table(
        [head for head, _ in columns],
        [[cell(row) for _, cell in columns] for row in rows],
        below="anchors: share of the names needed after the cut that the context has; lines: share"
        " that it has in a line printed by a tool; edits: share of the edits whose known lines it"
        " all has; recov.: share of the names in the context, or stored under its references.",
    )
    heads = [head for head, _ in _places()]
    table(
        [*heads, *_THREAD.values()],
        [
            [*(cell(row) for _, cell in _places()), *(_share(row, name) for name in _THREAD)]
            for row in rows
        ],
        below="acts, words: share of the whole history's help in predicting the agent's calls and"
        " words that is kept, for its next 8 messages and its next 40 (far); said: share of the"
        " agent's last sentences that is kept; tasks: of its task list; files: of the changed"
        " files; user: of the user's words.",
    )
    for policy, savings in found.savings(prices).items():
        say(f"{policy}, against a history that only grows: {savings}")
    _below(found)


def _places() -> list[tuple[str, Callable[[Row], str]]]:
    """Returns the columns that name a row."""
    return [
        ("policy", lambda row: row.policy),
        ("context", lambda row: f"{row.context:,}"),
        ("budget", lambda row: f"{row.share:.1%}"),
    ]


def _columns() -> list[tuple[str, Callable[[Row], str]]]:
    """Returns the heads of the columns, and functions for the cells, which may be empty."""
    return [
        *_places(),
        ("cuts", lambda row: str(row.cuts)),
        *((head, partial(_share, name=name)) for name, head in _SHARES.items()),
        ("used", lambda row: f"{row.used:.1%}"),
        ("failed", lambda row: str(row.failed) if row.failed else ""),
        ("over", lambda row: f"{row.overshoot:,}" if row.overshoot else ""),
        ("invalid", lambda row: str(row.violations) if row.violations else ""),
        ("ms", lambda row: f"{row.milliseconds:.1f}"),
        ("cost", lambda row: "" if row.cost is None else f"{row.cost:.3f}"),
    ]


_ALWAYS = ("policy", "context", "budget", "cuts", *_SHARES.values(), "used", "ms")


def _share(row: Row, name: str) -> str:
    share = row.retention.share(name)
    return "-" if share is None else f"{share:.1%}"


def _below(found: Replay) -> None:
    failures = [cut for cut in found.cuts if cut.failure is not None]
    for cut in failures[:_FAILURES_SHOWN]:
        place = f"{cut.session} at message {cut.message}"
        say(f"{place}, {cut.policy}: {cut.failure}")
    if len(failures) > _FAILURES_SHOWN:
        say(f"and {len(failures) - _FAILURES_SHOWN} more; --json has them all")
    if found.repaired:
        count = len(found.repaired)
        were = "1 session was" if count == 1 else f"{count} sessions were"
        say(f"{were} repaired first, since a provider would refuse them; `ullage lint` says why")
