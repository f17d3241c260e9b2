"""``ullage repair``: writes the nearest conversation that a provider accepts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE
from ullage.cli.console import note, say_json
from ullage.cli.errors import CommandError
from ullage.cli.options import add_file, add_format, add_json, command
from ullage.cli.output import add_output, change
from ullage.cli.unread import Unread

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "repair",
        "repair a conversation that a provider would reject",
        "Repairs what `ullage lint` finds and writes the conversation in the form that it was read"
        " in. A report goes to standard error. It removes nothing that can stay.",
        run,
        found="",
    )
    add_file(parser)
    add_output(parser)
    parser.add_argument(
        "--open-calls",
        choices=("answer", "remove"),
        default="answer",
        help="calls without a result: answer them with an error (default), or remove them",
    )
    add_format(parser)
    add_json(
        parser, "print an object with the repairs, and with the messages unless a file gets them"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report")


def run(options: argparse.Namespace) -> int:
    """Repairs conversations and lists the repairs."""
    unread = Unread()

    def repair(name: str, messages: list[Any]) -> list[ullage.Repair]:
        try:
            repaired = ullage.repair(messages, options.format, open_calls=options.open_calls)
        except ullage.MessageError as error:
            # A file that cannot be read cannot be repaired.
            raise CommandError(f"{name}: {error}") from error
        messages[:] = repaired
        return repaired.repairs

    done = change(options, repair, unread)
    for changed in done:
        if options.json:
            say_json(changed.to_dict(repairs=[asdict(one) for one in changed.report]))
        elif not options.quiet:
            for line in map(str, changed.report) if changed.report else ["nothing to repair"]:
                note(f"{changed.name}: {line}")
    return unread.report(FINE, did=bool(done))
