"""``ullage completion``: prints a script with which a shell completes commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ullage.cli.codes import FINE
from ullage.cli.errors import MissingExtraError
from ullage.cli.options import command

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "completion",
        "print the completion script of a shell",
        "Prints a script for a shell. Once it is loaded, the tab key completes commands, options"
        ' and files. For bash: eval "$(ullage completion bash)" in ~/.bashrc; for zsh, a file'
        " _ullage in a folder of fpath; for fish, ~/.config/fish/completions/ullage.fish.",
        run,
        found="",
        reads=False,
    )
    parser.add_argument("shell", choices=SHELLS)


def run(options: argparse.Namespace) -> int:
    """Prints the script."""
    try:
        import shtab
    except ImportError:
        raise MissingExtraError("completion", "shtab", "type the commands") from None
    parser = options.program
    kinds = {"file": shtab.FILE, "folder": shtab.DIRECTORY}
    for action in _actions(parser):
        if (kind := getattr(action, "completed_by", None)) is not None:
            action.complete = kinds[kind]  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=options.shell))
    return FINE


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields all arguments of a parser and of its commands."""
    for action in parser._actions:  # noqa: SLF001 - as shtab finds them; argparse has no other way
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for inner in action.choices.values():
                yield from _actions(inner)
