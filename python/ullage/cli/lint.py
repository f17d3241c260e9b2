"""``ullage lint``: what a provider would reject."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FAILED, FINE, FOUND
from ullage.cli.console import complain, say, say_json
from ullage.cli.conversations import read
from ullage.cli.options import add_files, add_format, add_json, command

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "lint",
        "say what a provider would reject in a conversation",
        "Prints what a provider would reject, where, why, and what to do about it.",
        run,
        found="something was found",
    )
    add_files(parser)
    add_format(parser)
    add_json(parser, "print a JSON object for each finding")


def run(options: argparse.Namespace) -> int:
    """Prints what is found; what cannot be read stops nothing."""
    code = FINE
    for file in options.files:
        try:
            sessions = read(file).sessions
        except ullage.UllageError as error:
            complain(str(error))
            code = FAILED
            continue
        for session in sessions:
            code = max(code, _lint(session.name, session.messages, options))
    return code


def _lint(name: str, messages: list[Any], options: argparse.Namespace) -> int:
    try:
        violations = ullage.validate(messages, options.format)
    except ullage.MessageError as error:
        complain(f"{name}: {error}")
        return FAILED
    for violation in violations:
        if options.json:
            say_json({"file": name, **asdict(violation)})
        else:
            say(f"{name}: {violation}", "bold")
            say(f"    {violation.provider_says}")
    return FOUND if violations else FINE
