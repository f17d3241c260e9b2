"""Commands and their arguments."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import ullage
from ullage.cli.conversations import UnreadableFileError, read

if TYPE_CHECKING:
    from collections.abc import Sequence

# Exit codes, as linters have them.
FINE, FOUND, FAILED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Returns:
        0 if all is well, 1 if something was found, 2 if the command could not do its work.
    """
    options = _parser().parse_args(arguments)
    try:
        return lint(options.files, options.format, as_json=options.json)
    except (UnreadableFileError, ullage.UllageError) as error:
        print(f"ullage: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ullage", description="A context engine for LLM agents.")
    parser.add_argument("--version", action="version", version=f"ullage {ullage.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    linting = commands.add_parser("lint", help="say what a provider would reject in a conversation")
    linting.add_argument("files", nargs="+", metavar="FILE", help="JSON or JSON lines, - for stdin")
    linting.add_argument("--format", help="the wire format; told from the messages if not given")
    linting.add_argument("--json", action="store_true", help="print a JSON object for each finding")
    return parser


def lint(files: Sequence[str], format: str | None, *, as_json: bool) -> int:
    """Prints what a provider would reject, a line for each."""
    found = 0
    for file in files:
        for violation in ullage.validate(read(file), format):
            found += 1
            if as_json:
                print(json.dumps({"file": file, **asdict(violation)}))
            else:
                print(f"{file}: {violation}")
                print(f"    {violation.provider_says}")
    return FOUND if found else FINE
