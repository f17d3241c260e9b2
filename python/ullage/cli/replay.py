"""``ullage replay``: measures policies on recorded sessions."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FAILED, FINE, FOUND
from ullage.cli.console import complain, progress, say_json
from ullage.cli.conversations import STANDARD_INPUT, read_each
from ullage.cli.errors import CommandError
from ullage.cli.options import (
    add_files,
    add_json,
    add_window,
    at_least,
    command,
    set_completion,
    value_of,
)
from ullage.cli.overwriting import add_dry_run, add_force, require_new, write_page
from ullage.cli.replay_table import show
from ullage.cli.unread import Unread
from ullage.sessions import UnreadableSessionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.replay import Replay, Sweep

# The high mark with which the project's own figures of the cost were simulated.
_COST_AT = 50_000

# Bytes of the unit in which progress is shown.
_KILO = 1_000


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "replay",
        "measure policies on recorded sessions",
        "Cuts recorded sessions where their history is long, compacts the messages before the cut,"
        " and reports how much of the content that the agent needed after the cut is kept.",
        run,
        found="a compaction was over its budget or not valid",
    )
    add = parser.add_argument
    add_files(parser)
    policy = add(
        "--policy",
        action="append",
        metavar="NAME|FILE",
        help="a preset, or a policy in a .toml, .yaml or .json file; several run side by side",
    )
    set_completion(policy, "file")
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
    add("--baselines", action="store_true", help="also run a sliding window and a line cover")
    add(
        "--cost",
        type=at_least(1),
        nargs="?",
        const=_COST_AT,
        metavar="TOKENS",
        help=f"simulate the cost of whole sessions at this high mark ({_COST_AT})",
    )
    add("--model", help="the id of the model, for its tokens and prices (o200k_base)")
    add_window(parser)
    add(
        "--workers",
        type=at_least(1),
        metavar="N",
        help="measure files in this many processes, each one file at a time",
    )
    add("--ray", action="store_true", help="measure files on a Ray cluster")
    add("--jobs", type=at_least(1), metavar="N", help="sessions at a time (one for each core)")
    rows = add(
        "--rows", type=Path, metavar="FILE", help="write the rows as a table: .csv or .parquet"
    )
    set_completion(rows, "file")
    add_json(parser, "print rows, cuts and costs as JSON")
    page = add("--html", type=Path, metavar="FILE", help="write a page with plots")
    set_completion(page, "file")
    add_force(parser)
    add_dry_run(parser)


def run(options: argparse.Namespace) -> int:
    """Measures policies and prints the results.

    Returns:
        0 if every compaction was valid and within its budget, 1 if one was not, 2 if there was
        nothing to measure, 3 if a part of the sessions could not be read.
    """
    # The import is slow, and the other commands do not need it.
    from ullage.replay import Replay, Sweep, grid, html, read_policy, table

    for new in (options.html, options.rows):
        if new:
            require_new(new, options)
    if options.rows:
        # Fails before the work, and not after it.
        table(Replay([], [], []), options.rows.suffix)
    unread = Unread()
    policies = [read_policy(name) for name in options.policy or ["default"]]
    if options.window is not None:
        policies = grid(policies, {"window": [options.window]})
    settings = grid(policies, _grid(options))
    sweep = Sweep(
        settings,
        contexts=options.context,
        shares=options.budget,
        baselines=options.baselines,
        cost_at=options.cost,
        **_for_model(options.model),
    )
    # With a page the table is not printed.
    has_table = not options.json and not options.html
    measured = _measure(options, sweep, unread)
    unread += [
        UnreadableSessionError(session.name, session.problem) for session in measured.unreadable
    ]
    if options.json:
        say_json(measured.to_dict())
    elif has_table and measured.cuts:
        show(measured, ullage.Economics.known_for_model(options.model))
    if options.rows and measured.cuts:
        write_page(options.rows, table(measured, options.rows.suffix), options)
    if options.html and measured.cuts:
        write_page(options.html, html(measured).encode(), options)
    if not measured.cuts:
        least = min(options.context)
        complain(
            f"no session has {least:,} tokens of history and {sweep.least_after} messages after it"
        )
    is_broken = any(row.failed or row.overshoot or row.violations for row in measured.rows())
    code = unread.report(FOUND if is_broken else FINE, did=bool(measured.cuts))
    return code if measured.cuts else FAILED


def _measure(options: argparse.Namespace, sweep: Sweep, unread: Unread) -> Replay:
    """Measures the sessions, in threads of this process or in other processes."""
    from ullage.replay import replay, replay_files

    is_here = not options.workers and not options.ray
    if STANDARD_INPUT in options.files and not is_here:
        raise CommandError("--workers and --ray need files: standard input is read in one process")
    with progress("kB") as work:

        def show(done: int, total: int) -> None:
            # The size of standard input is not known: it counts as nothing.
            if total:
                work.at(-(-done // _KILO), -(-total // _KILO))

        if is_here:
            sessions = read_each(options.files, unread, show)
            return replay(sessions, sweep, jobs=options.jobs)
        return replay_files(
            options.files,
            sweep,
            workers=options.workers or 1,
            ray=options.ray,
            on_unreadable=unread.append,
            progress=show,
        )


def _for_model(model: str | None) -> dict[str, Any]:
    if model is None:
        return {}
    return {
        # Not a lambda, because it is pickled for worker processes.
        "counter": partial(ullage.TokenCounter.for_model, model),
        "economics": ullage.Economics.for_model(model),
    }


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
        values[name] = [value_of(value) for value in rest.split(",")]
    return values
