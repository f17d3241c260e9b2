"""Tables for people, drawn by rich (extra ``cli``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from ullage.replay import Replay, Row

_COLUMNS = ("anchors", "lines", "grounded", "recoverable")

_WIDTH_OF_A_FILE = 160
# They are much alike.
_FAILURES_SHOWN = 3


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
    if not console.is_terminal:
        # What a file or a program reads is not broken at the width of no terminal.
        console = Console(width=_WIDTH_OF_A_FILE)
    console.print(table)
    console.print(
        "anchors, lines: what was needed after the cut and is there, by name, and in a line that a"
        " tool printed; grounded: edits whose known old lines are there; recoverable: there or"
        " stored where the context says.",
        style="dim",
    )
    failures = [cut for cut in found.cuts if cut.failure is not None]
    for cut in failures[:_FAILURES_SHOWN]:
        place = f"{cut.session} at message {cut.message}"
        console.print(f"{place}, {cut.policy}: {cut.failure}", markup=False)
    if len(failures) > _FAILURES_SHOWN:
        console.print(f"and {len(failures) - _FAILURES_SHOWN} more; --json has them all")
    if found.repaired:
        console.print(
            f"{len(found.repaired)} sessions were repaired first, as no provider would take them"
            " (ullage lint says why)."
        )


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
