"""``ullage status``: shows how full a conversation is, as Supyagent's chat does."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine import policy_file
from ullage._engine.notes import note_in
from ullage.cli.codes import FINE, FOUND
from ullage.cli.console import progress, say, say_json
from ullage.cli.conversations import read
from ullage.cli.errors import CommandError, about
from ullage.cli.options import (
    add_engine,
    add_file,
    add_format,
    add_json,
    command,
    engine_of,
    set_completion,
)
from ullage.cli.policies import of_agent
from ullage.cli.unread import Unread

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ullage.report.reports import Status
    from ullage.supyagent import ContextManager, ContextStatus

# The form of Supyagent's messages.
_SUPYAGENTS = "openai"


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "status",
        "show how full a conversation is",
        "Shows how much of the window a conversation takes, and how near the next compaction is.",
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
        help="print a summary of all but the recent messages, made without a model",
    )
    summary = parser.add_argument(
        "--summary",
        type=Path,
        metavar="FILE",
        help="the summary that Supyagent, or ullage.supyagent, keeps of the conversation",
    )
    set_completion(summary, "file")
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the status of each conversation.

    Returns:
        0 if no compaction is due, 1 if one is.
    """
    engine = engine_of(options)
    manager = _supyagents(options)
    unread = Unread()
    found: list[tuple[str, Status, str]] = []
    is_due = False
    with progress("conversations") as work:
        sessions = read(options.file, unread).sessions
        work.total = len(sessions)
        for session in sessions:
            with unread, about(session.name, session.messages, options.format):
                status = engine.status(session.messages)
                due = status.due != "none"
                drawn: Status | ContextStatus = status
                if manager is not None and _is_supyagents(session.messages, options.format):
                    drawn = _drawn(manager, session.messages, engine.tools, status)
                    due = drawn.triggers["will_trigger"]
                said = ""
                if options.summarize:
                    said = summary_of(session.messages, engine.policy, options.format)
                elif options.tokens:
                    said = drawn.tokens_line()
                elif not options.json:
                    largest = f"\n\nThe largest: {status.largest}." if status.largest else ""
                    said = drawn.render() + largest
                found.append((session.name, status, said))
                is_due = is_due or (due and not options.summarize)
            work()
    for name, status, said in found:
        if options.json:
            say_json({"file": name, **asdict(status)})
        else:
            if len(sessions) > 1:
                say(name, "bold")
            say(said)
    return unread.report(FOUND if is_due else FINE, did=bool(found))


def summary_of(messages: Sequence[Any], policy: ullage.Policy, format: str | None) -> str:
    """Returns the engine's own summary of all but the recent messages."""
    policy = policy.replace(
        max_messages=1,
        low_messages=1.0,
        summaries="always",
        stages=["window", "summarize", "trim"],
        levels=[{}],
    )
    engine = ullage.ContextManager(policy, format=format)
    note = note_in(engine.view(messages))
    return note.body if note is not None and note.body else "There is nothing to summarize."


def _supyagents(options: argparse.Namespace) -> ContextManager | None:
    """Returns a manager of Supyagent, if an agent file or a summary of Supyagent is given.

    Raises:
        UllageError: If the agent file or the summary cannot be read.
    """
    if options.json or options.set:
        # JSON output, and settings that an agent lacks, use the engine's status.
        return None
    agent = None
    if options.policy is not None and policy_file.is_policy_file(Path(options.policy)):
        agent = of_agent(policy_file.load(Path(options.policy)))
    if agent is None and options.summary is None:
        return None
    # The import is slow, and rarely needed.
    from ullage.supyagent import ContextSettings
    from ullage.supyagent.tokens import DEFAULT_MODEL

    agent = agent or ContextSettings()
    model = options.model or agent.model or DEFAULT_MODEL
    manager = agent.manager(summary_storage_path=options.summary, model=model)
    if options.summary is not None and manager.summary is None:
        raise CommandError(f"{options.summary} holds no summary")
    return manager


def _is_supyagents(messages: list[Any], format: str | None) -> bool:
    try:
        return (format or ullage.detect_format(messages)) == _SUPYAGENTS
    except ullage.MessageError:
        # Plain texts have the form of every format.
        return True


def _drawn(
    manager: ContextManager, messages: list[Any], tools: Any, status: Status
) -> ContextStatus:
    """Returns the status that Supyagent's chat shows. It counts the system prompt as a message."""
    drawn = manager.context_status(messages, tools)
    system = status.fixed - status.tool_tokens
    return replace(drawn, message_tokens=(drawn.message_tokens or 0) + system)
