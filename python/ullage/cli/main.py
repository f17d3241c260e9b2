"""Commands and their arguments."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import ullage
from ullage.cli import replay, report, status
from ullage.cli.codes import FAILED, FINE, FOUND, INTERRUPTED
from ullage.cli.conversations import UnreadableFileError, read

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Returns:
        0 if all is well, 1 if something was found, 2 if the command could not do its work.
    """
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Ids and names of files may hold what the terminal has no character for.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except ullage.UllageError as error:
        print(f"ullage: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Who reads has seen enough, as `head` does; what was printed was found.
        _discard_output()
        return FOUND
    except OSError as error:
        _discard_output()
        print(f"ullage: cannot print: {error}", file=sys.stderr)
        return FAILED
    return code


def _discard_output() -> None:
    """Lets what cannot be printed go: Python would try once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ullage", description="A context engine for LLM agents.")
    parser.add_argument("--version", action="version", version=f"ullage {ullage.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    linting = commands.add_parser("lint", help="say what a provider would reject in a conversation")
    linting.add_argument("files", nargs="+", metavar="FILE", help="JSON or JSON lines, - for stdin")
    linting.add_argument("--format", help="the wire format; told from the messages if not given")
    linting.add_argument("--json", action="store_true", help="print a JSON object for each finding")
    linting.set_defaults(
        run=lambda options: lint(options.files, options.format, as_json=options.json)
    )
    replay.add_to(commands)
    report.add_to(commands)
    status.add_to(commands)
    return parser


def lint(files: Sequence[str], format: str | None, *, as_json: bool) -> int:
    """Prints what a provider would reject, a line for each; what cannot be read stops nothing."""
    code = FINE
    for file in files:
        try:
            violations = ullage.validate(read(file), format)
        except UnreadableFileError as error:
            print(f"ullage: {error}", file=sys.stderr)
            code = FAILED
            continue
        except ullage.MessageError as error:
            print(f"ullage: {file}: {error}", file=sys.stderr)
            code = FAILED
            continue
        if violations:
            code = max(code, FOUND)
        for violation in violations:
            if as_json:
                print(json.dumps({"file": file, **asdict(violation)}))
            else:
                print(f"{file}: {violation}")
                print(f"    {violation.provider_says}")
    return code
