"""``ullage lint``: finds what a provider would reject."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE, FOUND
from ullage.cli.console import progress, say, say_json
from ullage.cli.conversations import read_all
from ullage.cli.errors import about
from ullage.cli.options import add_files, add_format, add_json, command
from ullage.cli.unread import Unread

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "lint",
        "find what a provider would reject in a conversation",
        "Prints what a provider would reject, with the place, the reason and the remedy.",
        run,
        found="something was found",
    )
    add_files(parser)
    add_format(parser)
    add_json(parser, "print a JSON object for each finding")


def run(options: argparse.Namespace) -> int:
    """Prints what a provider would reject."""
    unread = Unread()
    found: list[tuple[str, ullage.Violation]] = []
    did = False
    with progress("conversations") as work:
        sessions = read_all(options.files, unread)
        work.total = len(sessions)
        for session in sessions:
            with unread, about(session.name, session.messages, options.format):
                violations = ullage.validate(session.messages, options.format)
                found += [(session.name, violation) for violation in violations]
                did = True
            work()
    for name, violation in found:
        if options.json:
            say_json({"file": name, **asdict(violation)})
        else:
            say(f"{name}: {violation}", "bold")
            say(f"    {violation.provider_says}")
    return unread.report(FOUND if found else FINE, did=did)
