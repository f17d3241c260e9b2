"""``ullage policy``: shows, converts and checks presets and policies in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine import policy_file
from ullage.cli.codes import FINE, FOUND
from ullage.cli.console import say, say_json, table
from ullage.cli.faults import faults
from ullage.cli.options import add_json, command, set_completion
from ullage.cli.policies import choose_policy
from ullage.cli.unread import Unread

if TYPE_CHECKING:
    import argparse

# The presets that `Policy.preset` knows.
PRESETS = (
    "default",
    "cyber-autoagent",
    "amplifier-simple",
    "amplifier-smart",
    "supyagent",
    "sre-agent",
    "adk-session",
    "valis",
)


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = commands.add_parser(
        "policy",
        help="show, convert and check policies",
        description="Shows and checks the settings of an engine.",
    )
    inner = parser.add_subparsers(required=True, metavar="COMMAND")
    presets = command(
        inner,
        "presets",
        "list the presets",
        "Lists the presets.",
        list_presets,
        found="",
        reads=False,
    )
    add_json(presets, "print a JSON object with the settings of each preset")
    showing = command(
        inner,
        "show",
        "print all settings of a policy",
        "Prints all settings of a preset or of a policy in a file, by default as TOML. Settings"
        " that the file leaves out have their defaults.",
        show,
        found="",
        reads=False,
    )
    policy = showing.add_argument("policy", metavar="NAME|FILE", help="a preset or a file")
    set_completion(policy, "file")
    form = showing.add_mutually_exclusive_group()
    for name, write in (("toml", _toml), ("yaml", _yaml), ("json", _json)):
        form.add_argument(
            f"--{name}",
            action="store_const",
            dest="write",
            const=write,
            default=_toml,
            help=f"as {name.upper()}",
        )
    checking = command(
        inner,
        "check",
        "check a policy in a file",
        "Prints the errors in files of policies, with their lines.",
        check,
        found="a file has an error",
    )
    files = checking.add_argument("files", nargs="+", metavar="FILE", help=".toml, .yaml or .json")
    set_completion(files, "file")
    add_json(checking, "print a JSON object for each fault")


def list_presets(options: argparse.Namespace) -> int:
    """Prints the main settings of each preset."""
    presets = {name: ullage.Policy.preset(name) for name in PRESETS}
    if options.json:
        say_json({name: policy.to_dict() for name, policy in presets.items()})
        return FINE
    rows = [
        [
            name,
            " ".join(policy.stages),
            f"{policy.window:,}",
            f"{policy.high:.0%}",
            f"{policy.low:.0%}",
            "" if policy.max_messages is None else str(policy.max_messages),
            str(len(policy.levels)),
        ]
        for name, policy in presets.items()
    ]
    heads = ["preset", "stages", "window", "high", "low", "messages", "levels"]
    table(heads, rows, left=2, below="`ullage policy show NAME` prints all settings of one.")
    return FINE


def show(options: argparse.Namespace) -> int:
    """Prints the settings of a policy."""
    policy, _ = choose_policy(options.policy, None)
    assert policy is not None  # noqa: S101 - as a source is given
    say(options.write(policy.to_dict()).rstrip("\n"))
    return FINE


def check(options: argparse.Namespace) -> int:
    """Prints the errors in files."""
    code = FINE
    did = False
    unread = Unread()
    for file in options.files:
        with unread:
            found = faults(Path(file))
            did = True
            for fault in found:
                code = FOUND
                if options.json:
                    say_json({"file": file, **fault._asdict()})
                else:
                    line = "" if fault.line is None else f":{fault.line}"
                    say(f"{file}{line}: {fault.problem}", "bold")
    return unread.report(code, did=did)


def _toml(settings: dict[str, Any]) -> str:
    # TOML has no null. A setting that is None is left out, and its default is None.
    return "\n".join(
        f"{name} = {_toml_value(value)}" for name, value in settings.items() if value is not None
    )


def _toml_value(value: Any) -> str:
    """Returns a value as TOML. Each level of a policy is an inline table on its own line."""
    if isinstance(value, dict):
        given = ((name, inner) for name, inner in value.items() if inner is not None)
        return f"{{ {', '.join(f'{name} = {_toml_value(inner)}' for name, inner in given)} }}"
    if isinstance(value, list):
        parts = [_toml_value(inner) for inner in value]
        if any(isinstance(inner, dict) for inner in value):
            return "".join(["[\n", *(f"    {part},\n" for part in parts), "]"])
        return f"[{', '.join(parts)}]"
    # TOML writes the strings, numbers and booleans of settings like JSON.
    return json.dumps(value, ensure_ascii=False)


def _yaml(settings: dict[str, Any]) -> str:
    text: str = policy_file.yaml().safe_dump(settings, sort_keys=False)
    return text


def _json(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2)
