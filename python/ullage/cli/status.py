"""``ullage status``: how full a conversation is, as Supyagent's chat shows it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FAILED, FINE, FOUND
from ullage.cli.conversations import UnreadableFileError, read
from ullage.notes import note_in
from ullage.replay import read_policy
from ullage.supyagent import ContextSettings, ContextStatus
from ullage.supyagent.tokens import DEFAULT_MODEL, FORMAT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ullage.report import Status

_SETTINGS = {".yaml", ".yml"}


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = commands.add_parser(
        "status",
        help="draw how full a conversation is",
        description="Draws what a conversation takes of its window, and how near the next"
        " compaction is. The code is 1 where one is due.",
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("file", metavar="FILE", help="JSON or JSON lines, - for stdin")
    add("--model", help="the id of the model, for its window and its tokens")
    add(
        "--policy",
        metavar="NAME|FILE",
        help="a preset, a policy in a .toml or .json file, or an agent's .yaml",
    )
    add("--tools", type=Path, metavar="FILE", help="tool definitions as JSON")
    add(
        "--summary",
        type=Path,
        metavar="FILE",
        help="the summary that Supyagent, or ullage.supyagent, keeps of a conversation",
    )
    add("--format", help="the wire format; told from the messages if not given")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--tokens", action="store_true", help="print one line")
    shown.add_argument("--json", action="store_true", help="print a JSON object")
    shown.add_argument(
        "--summarize",
        action="store_true",
        help="print what a summary without a model says of all but the recent messages",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the status.

    Returns:
        0 if nothing is due, 1 if a compaction is, 2 if a file cannot be read.
    """
    try:
        messages = read(options.file)
        tools = None if options.tools is None else read_tools(options.tools)
    except UnreadableFileError as error:
        print(f"ullage: {error}", file=sys.stderr)
        return FAILED
    policy, model = _policy(options.policy, options.model)
    if options.summarize:
        print(summary_of(messages, policy, options.format))
        return FINE
    engine = ullage.ContextManager(policy, model=model, format=options.format, tools=tools)
    status = engine.status(messages)
    if options.json:
        print(json.dumps(asdict(status)))
        return FINE if status.due == "none" else FOUND
    if not (_is_supyagents(options) and _is_openai(messages, options.format)):
        return _drawn(status, status.due != "none", options)
    try:
        session = _supyagents(options, messages, tools)
    except UnreadableFileError as error:
        print(f"ullage: {error}", file=sys.stderr)
        return FAILED
    return _drawn(session, session.triggers["will_trigger"], options)


def _drawn(status: Status | ContextStatus, due: bool, options: argparse.Namespace) -> int:
    print(status.tokens_line() if options.tokens else status.render())
    return FOUND if due else FINE


def read_tools(path: Path) -> Any:
    """The tool definitions in a file.

    Raises:
        UnreadableFileError: If it cannot be read, or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{path}: {error}") from error


def summary_of(messages: Sequence[Any], policy: ullage.Policy | None, format: str | None) -> str:
    """What the engine says, without a model, of all but the recent messages."""
    settings = (policy or ullage.Policy()).to_dict() | {
        "max_messages": 1,
        "low_messages": 1.0,
        "summaries": "always",
        "stages": ["window", "summarize"],
        "levels": [{}],
    }
    engine = ullage.ContextManager(ullage.Policy.from_dict(settings), format=format)
    note = note_in(engine.view(messages))
    return note.body if note is not None and note.body else "There is nothing to summarize."


def _is_supyagents(options: argparse.Namespace) -> bool:
    """Whether a session of Supyagent is asked for: by its agent's file, or its summary."""
    return options.summary is not None or _is_agent(options.policy)


def _is_openai(messages: list[Any], format: str | None) -> bool:
    """Whether the messages are in the form of Supyagent's."""
    try:
        return (format or ullage.detect_format(messages)) == FORMAT
    except ullage.MessageError:
        # Plain texts have the form of every format.
        return True


def _is_agent(source: str | None) -> bool:
    return source is not None and Path(source).suffix.lower() in _SETTINGS


def _supyagents(
    options: argparse.Namespace, messages: list[Any], tools: list[Any] | None
) -> ContextStatus:
    """What Supyagent's chat shows of a session.

    Raises:
        UnreadableFileError: If the file of its summary holds none.
    """
    settings = ContextSettings()
    if _is_agent(options.policy):
        settings = ContextSettings.load(options.policy)
    model = options.model or settings.model or DEFAULT_MODEL
    manager = settings.manager(summary_storage_path=options.summary, model=model)
    if options.summary is not None and manager.summary is None:
        raise UnreadableFileError(f"{options.summary} holds no summary")
    return manager.context_status(messages, tools)


def _policy(source: str | None, model: str | None) -> tuple[ullage.Policy | None, str | None]:
    """The policy that is asked for, and the model, which an agent's file may name."""
    if source is None:
        return None, model
    if _is_agent(source):
        settings = ContextSettings.load(source)
        return settings.policy(model), model or settings.model
    return read_policy(source).policy, model
