"""``ullage report``: a session as a page."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FAILED, FINE
from ullage.recording import is_recording

if TYPE_CHECKING:
    import argparse

    from ullage.replay import Session

_STANDARD_OUTPUT = "-"
# Of a window, what stays free for the answer where only the window is given: as much as the share
# that the default policy reserves of its own.
_RESERVED = 0.04


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = commands.add_parser(
        "report",
        help="draw a session as a page",
        description="Writes a page about a session: its tokens against the window over time, what"
        " was compacted and what that saved, cache and cost, and each piece that left. FILE is what"
        " `ullage.Recorder` wrote in a real run, or a recorded session, in which a policy is"
        " followed as if it had been there.",
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("file", metavar="FILE", help="a recording; or a session: JSON, JSON lines, a folder")
    add("-o", "--output", default="report.html", metavar="FILE", help="the page; - for stdout")
    add("--store", type=Path, metavar="DIR", help="the folder where what left is stored")
    add("--policy", metavar="NAME|FILE", help="a preset, or a policy in a .toml or .json file")
    add("--model", help="the id of the model, for its window, its tokens and its prices")
    add("--window", type=int, metavar="TOKENS", help="another window than the policy's")
    add("--session", type=int, default=1, metavar="N", help="which of several sessions (1)")


def run(options: argparse.Namespace) -> int:
    """Writes the page.

    Returns:
        0 if it is written, 2 if the file cannot be read or the page not be written.
    """
    # The other commands need none of it, and it takes a while.
    from ullage.replay import UnreadableSessionError, follow, read_sessions

    # It keeps all: nobody knows which conversations refer to it.
    folder = options.store
    store = None if folder is None else ullage.FileStore(folder, keep=None, clean_above=None)
    if is_recording(options.file):
        recorder = ullage.Recorder(options.file)
    else:
        try:
            session = _session(read_sessions(options.file), options.session)
        except UnreadableSessionError as error:
            print(f"ullage: {error}", file=sys.stderr)
            return FAILED
        recorder = follow(session, _policy(options), model=options.model, store=store)
    if options.output == _STANDARD_OUTPUT:
        print(recorder.html(store=store), end="")
        return FINE
    page = Path(options.output)
    try:
        _write(page, recorder.html(store=store, folder=page.parent))
    except OSError as error:
        print(f"ullage: cannot write the page: {error}", file=sys.stderr)
        return FAILED
    print(page)
    return FINE


def _session(found: list[Session], number: int) -> Session:
    from ullage.replay import UnreadableSessionError

    if not 1 <= number <= len(found):
        raise UnreadableSessionError(
            f"there is no session {number}: the file holds {len(found)}; choose with --session"
        )
    if len(found) > 1:
        others = f"session {number} of {len(found)}; --session chooses another"
        print(f"ullage: {others}", file=sys.stderr)
    return found[number - 1]


def _policy(options: argparse.Namespace) -> ullage.Policy | None:
    """The policy that is asked for; None for that of the model."""
    from ullage.replay import read_policy

    if options.policy is not None:
        policy = read_policy(options.policy).policy
    elif options.model is not None:
        policy = ullage.model_limits(options.model).policy()
    else:
        policy = ullage.Policy()
    if options.window is None:
        return policy
    reserve = min(policy.reserve_output, int(options.window * _RESERVED))
    changes = {"window": options.window, "reserve_output": reserve}
    return ullage.Policy.from_dict({**policy.to_dict(), **changes})


def _write(file: Path, page: str) -> None:
    """Writes all of the page, or nothing."""
    descriptor, made = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
            out.write(page)
        # A temporary file is its owner's alone; a page is as any other file.
        mask = os.umask(0)
        os.umask(mask)
        Path(made).chmod(0o666 & ~mask)
        Path(made).replace(file)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
