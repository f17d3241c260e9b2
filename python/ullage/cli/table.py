"""Tables for people, drawn by rich (extra ``cli``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ullage.replay import Replay, Row

_COLUMNS = ("anchors", "lines", "grounded", "recoverable")


def show(found: Replay) -> None:
    """Prints a table of the rows, and what is below it."""
    rows = found.rows()
    costs = any(row.cost is not None for row in rows)
    table = Table(box=None, pad_edge=False)
    table.add_column("policy")
    heads = ("context", "budget", "cuts", *_COLUMNS, "used", "over", "invalid", "ms")
    for head in (*heads, *(["cost"] if costs else [])):
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(row.policy, *_cells(row), *([_cost(row)] if costs else []))
    console = Console()
    # A table that is read by a program or a file is not broken at the width of no terminal.
    console.print(table, width=None if console.is_terminal else max(console.width, 160))
    console.print(
        "anchors, lines: what was needed after the cut and is there, by name, and in a line that a"
        " tool printed; grounded: edits whose known old lines are there; recoverable: there or"
        " stored where the context says.",
        style="dim",
    )
    failures = [cut for cut in found.cuts if cut.failure is not None]
    for cut in failures:
        console.print(f"{cut.session} at message {cut.message}, {cut.policy}: {cut.failure}")
    if found.repaired:
        console.print(f"repaired before it was measured: {', '.join(found.repaired)}")


def _cells(row: Row) -> list[str]:
    return [
        f"{row.context:,}",
        f"{row.share:.1%}",
        str(row.cuts) if not row.failed else f"{row.cuts} ({row.failed} failed)",
        *(_share(row, name) for name in _COLUMNS),
        f"{row.used:.1%}",
        f"{row.overshoot:,}",
        str(row.violations),
        f"{row.milliseconds:.1f}",
    ]


def _share(row: Row, name: str) -> str:
    share = row.retention.share(name)
    if share is None:
        return "-"
    if name == "grounded":
        return f"{share:.1%} of {row.retention.edits}"
    return f"{share:.1%}"


def _cost(row: Row) -> str:
    return "-" if row.cost is None else f"{row.cost:.3f}"
