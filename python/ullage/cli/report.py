"""``ullage report``: draws a session as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ullage
from ullage.cli.codes import FINE
from ullage.cli.console import note, progress, say
from ullage.cli.conversations import STANDARD_INPUT, read
from ullage.cli.errors import CommandError
from ullage.cli.options import (
    add_file,
    add_policy,
    at_least,
    command,
    policy_of,
    set_completion,
    store_of,
)
from ullage.cli.overwriting import add_dry_run, add_force, require_new, write_page
from ullage.cli.unread import Unread
from ullage.report.recording import is_recording
from ullage.report.timeline import Timeline

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ullage.sessions import Session

_STANDARD_OUTPUT = "-"


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "report",
        "draw a session as a page",
        "Writes a page about a session: its tokens against the window over time, its compactions"
        " and their savings, cache and cost, and each removed piece. FILE is a recording that"
        " `ullage.Recorder` wrote in a real run, or a recorded session, on which a policy is"
        " simulated.",
        run,
        found="",
    )
    add_file(parser)
    add = parser.add_argument
    page = add(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="the page (report.html); - for standard output",
    )
    set_completion(page, "file")
    add_force(parser)
    store = add("--store", type=Path, metavar="FOLDER", help="the folder for removed content")
    set_completion(store, "folder")
    add_dry_run(parser)
    add_policy(parser, model="for its window, tokens and prices")
    add(
        "--session",
        type=at_least(1),
        default=1,
        metavar="N",
        help="the number of the session, if FILE has several (1)",
    )


def run(options: argparse.Namespace) -> int:
    """Writes the page.

    Returns:
        0 if the page is written, 2 if it cannot be.
    """
    # The import is slow, and the other commands do not need it.
    from ullage.replay import follow

    if options.output != _STANDARD_OUTPUT:
        require_new(options.output, options)
    store = None if options.dry_run else store_of(options.store)
    unread = Unread()
    is_page = options.output != _STANDARD_OUTPUT
    folder = Path(options.output).parent if is_page else None
    if options.file != STANDARD_INPUT and is_recording(options.file):
        recorder = ullage.Recorder(options.file)
        with progress("pages"):
            page = recorder.html(store=store, folder=folder).encode()
    else:
        with progress("conversations"):
            sessions = read(options.file, unread).sessions
        if unread and not sessions:
            return unread.report(FINE, did=False)
        session = _session(sessions, options.session)
        policy, model = policy_of(options)
        with progress("requests") as work:
            recorder = follow(session, policy, model=model, store=store, progress=work.at)
            page = recorder.html(store=store, folder=folder).encode()
    if not is_page:
        # As bytes: the page is UTF-8, whatever the terminal shows.
        sys.stdout.buffer.write(page)
        return unread.report(FINE, did=True)
    write_page(options.output, page, options)
    if not options.dry_run:
        say(str(Path(options.output)))
        say(str(_savings(recorder)))
    return unread.report(FINE, did=True)


def _savings(recorder: ullage.Recorder) -> ullage.Savings:
    line = Timeline.of(recorder.entries, ullage.Economics())
    return line.savings(recorder.window, ullage.Economics.known_for_model(recorder.model))


def _session(found: list[Session], number: int) -> Session:
    if number > len(found):
        raise CommandError(
            f"session {number} not found: the file has {len(found)}; choose one with --session"
        )
    if len(found) > 1:
        note(f"ullage: session {number} of {len(found)}; --session chooses another")
    return found[number - 1]
