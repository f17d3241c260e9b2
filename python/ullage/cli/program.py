"""Parses the commands, runs them and reports their errors."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING

import ullage
from ullage.cli import (
    compact,
    completion,
    count,
    demo,
    lint,
    mcp,
    plan,
    policy,
    repair,
    replay,
    report,
    retrieve,
    status,
)
from ullage.cli.codes import FAILED, FOUND, INTERRUPTED, exit_codes
from ullage.cli.console import complain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

# In the order in which a new user needs the commands.
_COMMANDS = (
    demo,
    count,
    status,
    plan,
    compact,
    lint,
    repair,
    retrieve,
    mcp,
    replay,
    report,
    policy,
    completion,
)

# Errors that are not faults of ullage.
_EXPECTED = (ullage.UllageError, KeyboardInterrupt, OSError, MemoryError)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code, see :func:`ullage.cli.main`."""
    options = parser_of_commands().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Ids and file names may hold characters that the terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", ullage.UllageWarning)
            warnings.showwarning = _print_warning
            code: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if sys.flags.dev_mode and not isinstance(error, _EXPECTED):
            raise
        return _report_error(error)
    return code


def _report_error(error: BaseException) -> int:
    """Reports an error and returns its exit code."""
    is_missing = isinstance(error, ModuleNotFoundError) and error.name not in {None, "ullage"}
    if isinstance(error, ullage.UllageError) or is_missing:
        # A missing package of an extra names the extra.
        complain(str(error))
        return FAILED
    _discard_output()
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader, such as `head`, has closed the pipe after finding what it needs.
        return FOUND
    if isinstance(error, OSError):
        # Errors of files are CommandErrors, so this one is of the output.
        complain(f"cannot print: {error}")
    elif isinstance(error, MemoryError):
        complain("not enough memory")
    else:
        complain(
            f"{type(error).__name__}: {error}; this is a bug in ullage: please report it with"
            " what `python -X dev -m ullage ...` prints"
        )
    return FAILED


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Prints a warning without the line of code, which means nothing to a user of a command."""
    complain(str(message))


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest command and the nearest option."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parses arguments. Raises an error for an unknown option."""
        found, unknown = super().parse_known_args(args, namespace)
        option = next((given for given in unknown if given.startswith("-")), None)
        if option is not None:
            name = option.partition("=")[0]
            self.error(f"unknown option '{name}'{_nearest(name, self._option_string_actions)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Prints the error and exits."""
        if unknown := re.match(r"argument COMMAND: invalid choice: '([^']*)'", message):
            # argparse has no other way to the commands.
            kind = argparse._SubParsersAction  # noqa: SLF001
            commands = [action for action in self._actions if isinstance(action, kind)]
            names = [name for action in commands for name in action.choices]
            remedy = _nearest(unknown[1], names) or f"; use {', '.join(names)}"
            message = f"unknown command '{unknown[1]}'{remedy}"
        super().error(message)


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def parser_of_commands() -> argparse.ArgumentParser:
    """Returns the parser of all commands."""
    parser = _Parser(
        "ullage",
        description="A context engine for LLM agents.",
        epilog=exit_codes("something was found"),
    )
    parser.add_argument("--version", action="version", version=f"ullage {ullage.__version__}")
    parser.set_defaults(run=lambda _: _without_command(parser), program=parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


def _without_command(parser: argparse.ArgumentParser) -> int:
    parser.print_help(sys.stderr)
    return FAILED


def _discard_output() -> None:
    """Discards unprinted output, which Python would try to print again when it ends."""
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return  # There is no standard output, or it is not a file.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
