"""``ullage compact``: brings a conversation inside its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import MemoryStore
from ullage._engine.wording import many
from ullage.cli.codes import FINE
from ullage.cli.console import note, say_json
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
from ullage.cli.output import add_output, change
from ullage.cli.plan import stage_lines
from ullage.cli.unread import Unread

if TYPE_CHECKING:
    import argparse

    from ullage import Report


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "compact",
        "bring a conversation inside its budget",
        "Compacts a conversation and writes it in the form that it was read in. A report goes to"
        " standard error. With --store, `ullage retrieve` reads removed content back. Without it,"
        " removed content is lost, so --in-place then needs --force.",
        run,
        found="",
    )
    add_file(parser)
    add_output(parser)
    add_planning(parser)
    add_format(parser)
    add_json(parser, "print an object with the report, and with the messages if no file gets them")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report")
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    """Compacts conversations and prints a report of each."""
    # A dry run stores nothing either; the marks have the same length.
    store = MemoryStore() if options.dry_run and options.store else store_of(options.store)
    engine = engine_of(options, store)
    unread = Unread()

    def compact(name: str, messages: list[Any]) -> Report:
        with about(name, messages, options.format):
            return engine.compact(messages, options.budget, options.hard, pins=tuple(options.pin))

    done = change(options, compact, unread)
    for changed in done:
        if options.json:
            say_json(changed.to_dict(report=changed.report.to_dict()))
        elif not options.quiet:
            note(_in_words(changed.name, changed.report, options))
    return unread.report(FINE, did=bool(done))


def _in_words(name: str, report: Report, options: argparse.Namespace) -> str:
    before, after = f"{report.tokens_before:,}", f"{report.tokens_after:,}"
    if not report.stages:
        lines = [f"{name}: {before} tokens, budget {report.budget:,}; nothing is due"]
    else:
        lines = [
            f"{name}: {before} -> {after} tokens, budget {report.budget:,}",
            *stage_lines({key: vars(stage) for key, stage in report.stages.items()}),
            f"  {many(report.removed_messages, 'message')} removed",
            f"  {report.rewritten:,} tokens to be cached again",
        ]
        if options.store is None:
            lines.append("  the removed content is not stored: no --store was given")
        else:
            stored = "to be stored" if options.dry_run else "stored"
            lines.append(f"  {many(len(report.references), 'output')} {stored} in {options.store}")
    return "\n".join([*lines, *(f"  warning: {warning}" for warning in report.warnings)])
