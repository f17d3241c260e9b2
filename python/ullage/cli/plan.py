"""``ullage plan``: shows what a compaction would do, and why, without doing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._engine.wording import many
from ullage.cli.codes import FINE, FOUND
from ullage.cli.console import progress, say, say_json
from ullage.cli.conversations import read
from ullage.cli.errors import about
from ullage.cli.options import (
    add_engine,
    add_file,
    add_format,
    add_json,
    add_planning,
    command,
    engine_of,
    store_of,
)
from ullage.cli.unread import Unread

if TYPE_CHECKING:
    import argparse

    from ullage import Plan


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "plan",
        "show what a compaction would do, without doing it",
        "Plans a compaction and shows the savings of each stage. Nothing is changed or stored.",
        run,
        found="there is something to do",
    )
    add_file(parser)
    add_planning(parser)
    add_format(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--explain", action="store_true", help="list each edit and its reason")
    add_json(shown, "print the plan as JSON")
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the plan of each conversation."""
    engine = engine_of(options, store_of(options.store))
    code = FINE
    plans: list[tuple[str, Plan]] = []
    unread = Unread()
    with progress("conversations") as work:
        sessions = read(options.file, unread).sessions
        work.total = len(sessions)
        for session in sessions:
            with unread, about(session.name, session.messages, options.format):
                plan = engine.plan(
                    session.messages, options.budget, options.hard, pins=tuple(options.pin)
                )
                plans.append((session.name, plan))
            work()
    for name, plan in plans:
        if options.json:
            say_json({"file": name, **plan.to_dict()})
        else:
            if len(sessions) > 1:
                say(name, "bold")
            say(plan.explain().rstrip("\n") if options.explain else _shortly(plan))
        code = code if plan.is_empty else FOUND
    return unread.report(code, did=bool(plans))


def _shortly(plan: Plan) -> str:
    """Describes the plan with a line for each stage, not for each edit."""
    first, *_, last = plan.explain().rstrip("\n").split("\n")
    if plan.is_empty:
        return plan.explain().rstrip("\n")
    report = plan.report()
    return "\n".join([first, *stage_lines(report["stages"]), last])


def stage_lines(stages: dict[str, dict[str, int]]) -> list[str]:
    """Returns a line for each stage."""
    return [
        f"  {name:<9} {many(stage['edits'], 'edit')}, {stage['saved']:,} tokens saved"
        for name, stage in stages.items()
    ]
