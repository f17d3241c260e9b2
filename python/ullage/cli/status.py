"""``ullage status``: how full a conversation is, as Supyagent's chat shows it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE, FOUND
from ullage.cli.console import say, say_json
from ullage.cli.conversations import read
from ullage.cli.errors import about
from ullage.cli.options import add_engine, add_file, add_format, add_json, command, engine_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

# What the engine writes where messages were.
_NOTE = "[ullage: "


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "status",
        "draw how full a conversation is",
        "Draws what a conversation takes of its window, and how near the next compaction is.",
        run,
        found="a compaction is due",
    )
    add_file(parser)
    add_format(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--tokens", action="store_true", help="print one line")
    add_json(shown, "print a JSON object")
    shown.add_argument(
        "--summarize",
        action="store_true",
        help="print what a summary without a model says of all but the recent messages",
    )
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the status of each conversation.

    Returns:
        0 if nothing is due, 1 if a compaction is.
    """
    engine = engine_of(options)
    code = FINE
    sessions = read(options.file).sessions
    for session in sessions:
        with about(session.name, session.messages, options.format):
            status = engine.status(session.messages)
            said = ""
            if options.summarize:
                said = summary_of(session.messages, engine.policy, options.format)
            elif not options.json:
                said = status.tokens_line() if options.tokens else status.render()
        if options.json:
            say_json({"file": session.name, **asdict(status)})
        else:
            if len(sessions) > 1:
                say(session.name, "bold")
            say(said)
        if status.due != "none" and not options.summarize:
            code = FOUND
    return code


def summary_of(messages: Sequence[Any], policy: ullage.Policy, format: str | None) -> str:
    """What the engine says, without a model, of all but the recent messages."""
    settings = policy.to_dict() | {
        "max_messages": 1,
        "low_messages": 1.0,
        "summaries": "always",
        "stages": ["window", "summarize"],
        "levels": [{}],
    }
    engine = ullage.ContextManager(ullage.Policy.from_dict(settings), format=format)
    return _note_in(engine.view(messages)) or "There is nothing to summarize."


def _note_in(value: Any) -> str:
    """The body of the note that stands anywhere in some messages."""
    if isinstance(value, str):
        return value.partition("\n")[2] if value.startswith(_NOTE) else ""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for part in inner if (found := _note_in(part))), "")
