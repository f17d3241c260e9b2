"""Options that several commands share."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import exit_codes
from ullage.cli.conversations import system_in, tools_in
from ullage.cli.errors import CommandError
from ullage.cli.policies import change_policy, choose_policy

if TYPE_CHECKING:
    from collections.abc import Callable

# The encodings that are counted exactly.
ENCODINGS = ("o200k_base", "cl100k_base")
FORMATS = ("bedrock", "anthropic", "openai", "openai-responses", "gemini", "ai-sdk")
_CONVERSATION = "a file or folder with a conversation, - for standard input"


def command(
    commands: Any,
    name: str,
    help: str,
    description: str,
    run: Callable[..., int],
    *,
    found: str,
    reads: bool = True,
) -> argparse.ArgumentParser:
    """Adds a command.

    Args:
        commands: The commands of a parser.
        name: The name of the command.
        help: The line in the list of commands.
        description: The text of the command's help.
        run: The function that runs the command and returns its exit code.
        found: The condition for exit code 1; empty if the command never has it.
        reads: True if a part of the command's input may be unreadable.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=description, epilog=exit_codes(found, reads=reads)
    )
    parser.set_defaults(run=run)
    return parser


def add_file(parser: argparse.ArgumentParser) -> None:
    """Adds the conversation that a command reads."""
    set_completion(parser.add_argument("file", metavar="FILE", help=_CONVERSATION), "file")


def add_files(parser: argparse.ArgumentParser) -> None:
    """Adds the conversations that a command reads."""
    set_completion(
        parser.add_argument("files", nargs="+", metavar="FILE", help=_CONVERSATION), "file"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Adds the option for the wire format."""
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help=f"the wire format, detected from the messages if not given: {', '.join(FORMATS)}",
    )


def add_json(parser: Any, help: str) -> None:
    """Adds the option for output as JSON."""
    parser.add_argument("--json", action="store_true", help=help)


def add_counting(parser: Any) -> None:
    """Adds the options that choose the counter."""
    parser.add_argument("--model", metavar="ID", help="the id of the model, for its tokens")
    _add_encoding(parser)


def counter_of(options: argparse.Namespace) -> ullage.TokenCounter | None:
    """Returns the chosen counter; None for the engine's own."""
    if options.encoding is not None:
        return ullage.TokenCounter(options.encoding)
    return None if options.model is None else ullage.TokenCounter.for_model(options.model)


def add_policy(parser: Any, *, model: str = "for its window and its token counter") -> None:
    """Adds the options that choose the policy.

    Args:
        parser: The parser of the command.
        model: The purpose of ``--model``, for its help.
    """
    add = parser.add_argument
    policy = add(
        "--policy",
        metavar="NAME|FILE",
        help="a preset, a policy in a .toml, .yaml or .json file, or an agent's .yaml",
    )
    set_completion(policy, "file")
    add(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="change a setting of the policy, such as keep_recent=10; may be repeated",
    )
    add("--model", metavar="ID", help=f"the id of the model, {model}")
    add_window(parser)


def add_window(parser: Any) -> None:
    """Adds the option that sets the window."""
    parser.add_argument(
        "--window",
        type=at_least(1),
        metavar="TOKENS",
        help="the context window; overrides the policy and the model",
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Adds the options of an engine, except for the store."""
    group = parser.add_argument_group("the engine")
    add_policy(group)
    _add_encoding(group)
    for name, what in (
        ("system", "the system prompt, as text or JSON"),
        ("tools", "the tool definitions, as JSON"),
    ):
        given = group.add_argument(
            f"--{name}", type=Path, metavar="FILE", help=f"{what}; part of the window"
        )
        set_completion(given, "file")


def engine_of(
    options: argparse.Namespace, store: ullage.Store | None = None
) -> ullage.ContextManager:
    """Returns the engine that the options describe.

    Raises:
        UllageError: If an option is wrong.
    """
    policy, model = policy_of(options)
    return ullage.ContextManager(
        policy,
        counter=counter_of(options),
        store=store,
        system=system_in(options.system),
        tools=tools_in(options.tools),
        format=options.format,
        model=model,
    )


def policy_of(options: argparse.Namespace) -> tuple[ullage.Policy | None, str | None]:
    """Returns the policy and the model. The policy is None if it is the model's own.

    The file of an agent may name the model.
    """
    policy, model = choose_policy(options.policy, options.model)
    changes = dict(_setting(given) for given in options.set)
    if options.window is not None:
        changes["window"] = options.window
    return (change_policy(policy, model, changes) if changes else policy), model


def add_planning(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a plan."""
    add = parser.add_argument
    add(
        "--budget",
        type=at_least(1),
        metavar="TOKENS",
        help="the most tokens of the messages; if not given, the window less the reserve",
    )
    add(
        "--hard",
        action="store_true",
        help="go down to the low mark now, rather than only above the high mark",
    )
    add(
        "--pin",
        action="append",
        default=[],
        type=at_least(0),
        metavar="INDEX",
        help="the index of a message that must not change, counted from 0; may be repeated",
    )
    store = add("--store", type=Path, metavar="FOLDER", help="the folder for removed content")
    set_completion(store, "folder")


def store_of(folder: Path | None) -> ullage.FileStore | None:
    """Returns the store in a folder.

    It removes nothing: the command cannot know which conversations refer to it.
    """
    return None if folder is None else ullage.FileStore(folder, keep=None, clean_above=None)


def at_least(least: int) -> Callable[[str], int]:
    """Returns a parser of whole numbers from ``least`` up."""

    def number(text: str) -> int:
        found = int(text)
        if found < least:
            raise argparse.ArgumentTypeError(f"{text!r}: it must be at least {least}")
        return found

    # The name in argparse's error.
    number.__name__ = "whole number"
    return number


def value_of(text: str) -> Any:
    """Returns the value of JSON text, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def set_completion(action: argparse.Action, by: str) -> None:
    """Sets how a shell completes an argument: "file" or "folder"."""
    action.completed_by = by  # type: ignore[attr-defined]


def _add_encoding(parser: Any) -> None:
    parser.add_argument(
        "--encoding", choices=ENCODINGS, help="count in this encoding, whatever the model"
    )


def _setting(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not equals:
        raise CommandError(f"--set: {given!r} is not of the form setting=value")
    return name, value_of(value)
