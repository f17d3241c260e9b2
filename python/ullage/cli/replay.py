"""``ullage replay``: policies over recorded sessions."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FAILED, FINE, FOUND
from ullage.replay import (
    Sweep,
    UnreadableSessionError,
    grid,
    html,
    read_policy,
    read_sessions,
    replay,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.replay import Replay, Session

# The high mark of the simulated cost that the project's own figures are of.
_COST_AT = 50_000


class _MissingExtraError(Exception):
    """A library of the extra is not installed."""


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = commands.add_parser(
        "replay",
        help="measure policies on recorded sessions",
        description="Cuts recorded sessions where their history is long, compacts what is before"
        " the cut, and reports how much is left of what the agent needed after it.",
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="sessions: JSON or JSON lines, folders; .xz, .gz")
    add(
        "--policy",
        action="append",
        metavar="NAME|FILE",
        help="a preset, or a policy in a .toml or .json file; several run side by side",
    )
    add(
        "--grid",
        nargs="+",
        action="extend",
        default=[],
        metavar="SETTING=VALUE,...",
        help="try each combination of these values in each policy",
    )
    add(
        "--context",
        type=_numbers(int, None),
        default=[80_000],
        metavar="TOKENS,...",
        help="tokens of history at which sessions are first cut (80000)",
    )
    add(
        "--budget",
        type=_numbers(float, 1),
        default=[0.25, 0.125],
        metavar="SHARE,...",
        help="shares of the history that are the budget (0.25,0.125)",
    )
    add("--baselines", action="store_true", help="run a sliding window and a line cover beside")
    add(
        "--cost",
        type=_at_least_one,
        nargs="?",
        const=_COST_AT,
        metavar="TOKENS",
        help=f"simulate what whole sessions cost at this high mark ({_COST_AT})",
    )
    add("--model", help="the id of the model whose tokens are counted and paid (o200k_base)")
    add("--jobs", type=_at_least_one, metavar="N", help="sessions at a time (one for each core)")
    add("--json", action="store_true", help="print rows, cuts and costs as JSON")
    add("--html", type=Path, metavar="FILE", help="write a page with plots")


def run(options: argparse.Namespace) -> int:
    """Measures, and prints what was measured.

    Returns:
        0 if every compaction kept its budget and its validity, 1 if one did not, 2 if there was
        nothing to measure or a file could not be read.
    """
    code = FINE
    settings = grid([read_policy(name) for name in options.policy or ["default"]], _grid(options))
    sessions: list[Session] = []
    for file in options.files:
        found = _read(file)
        sessions.extend(found)
        code = code if found else FAILED
    sweep = Sweep(
        settings,
        contexts=options.context,
        shares=options.budget,
        baselines=options.baselines,
        cost_at=options.cost,
        **_for_model(options.model),
    )
    try:
        # A page is enough where nothing else can be shown.
        table = None if options.json or options.html else _table()
        with _progress(len(sessions)) as progress:
            measured = replay(sessions, sweep, jobs=options.jobs, progress=progress)
    except _MissingExtraError as error:
        _complain(str(error))
        return FAILED
    if options.json:
        print(json.dumps(measured.to_dict()))
    elif table is not None and measured.cuts:
        table(measured)
    if options.html and measured.cuts:
        code = max(code, _write(options.html, html(measured)))
    if not measured.cuts:
        least = min(options.context)
        _complain(
            f"no session reaches {least:,} tokens with {sweep.least_after} messages to follow"
        )
        return FAILED
    for row in measured.rows():
        if row.failed or row.overshoot or row.violations:
            code = max(code, FOUND)
    return code


def _write(file: Path, page: str) -> int:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        _complain(f"cannot write the page: {error}")
        return FAILED
    return FINE


def _read(file: str) -> list[Session]:
    """The sessions in a file; none, with a complaint, where it cannot be read."""
    try:
        return read_sessions(Path(file))
    except UnreadableSessionError as error:
        _complain(str(error))
        return []


def _for_model(model: str | None) -> dict[str, Any]:
    if model is None:
        return {}
    return {
        "counter": lambda: ullage.TokenCounter.for_model(model),
        "economics": ullage.Economics.for_model(model),
    }


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: it must be at least 1")
    return number


_at_least_one.__name__ = "whole number"


def _numbers(kind: Callable[[str], Any], most: float | None) -> Callable[[str], list[Any]]:
    def numbers(text: str) -> list[Any]:
        found = [kind(part.replace("_", "")) for part in text.split(",")]
        if any(not number > 0 or (most is not None and number > most) for number in found):
            upper = "" if most is None else f" and at most {most}"
            raise argparse.ArgumentTypeError(f"{text!r}: each must be above 0{upper}")
        return found

    numbers.__name__ = "list of numbers"
    return numbers


def _grid(options: argparse.Namespace) -> dict[str, list[Any]]:
    values = {}
    for given in options.grid:
        name, equals, rest = given.partition("=")
        if not equals or not rest:
            raise ullage.PolicyError(f"--grid: {given!r} is not of the form setting=value,value")
        values[name] = [_value(value) for value in rest.split(",")]
    return values


def _value(text: str) -> Any:
    """A value as JSON has it; a word is itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _table() -> Callable[[Replay], None]:
    """What prints the table; asked for before the work, so that no work is lost."""
    try:
        from ullage.cli.table import show
    except ImportError as error:
        raise _MissingExtraError(
            f"the table needs {error.name}: pip install 'ullage[cli]', or use --json"
        ) from None
    return show


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], object] | None]:
    """A bar on the terminal, where there is one and what draws it is installed."""
    try:
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
    except ImportError:
        yield None
        return
    console = Console(stderr=True)
    if not console.is_terminal or sys.stderr is None:
        yield None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("sessions", total=total)
        yield lambda: bar.advance(task)


def _complain(problem: str) -> None:
    print(f"ullage: {problem}", file=sys.stderr)
