"""Ctrl-C ends every command, whatever it is doing, and long work says how far it is."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial

import pytest

from .commands import COMMAND, MESSAGES, lines
from .lengths import long
from .test_replay import long_session

posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")
pty = pytest.importorskip("pty") if os.name == "posix" else None
# Native code that never comes back, as one that works for long, and no signal interrupts.
STUCK = """
import ctypes, sys
native, lock = ctypes.CDLL(None), ctypes.create_string_buffer(256)
native.pthread_mutex_lock(lock)

def stuck(*_, **more):
    print("working", file=sys.stderr, flush=True)
    native.pthread_mutex_lock(lock)

"""
# The command, after a change of something in it.
CHANGED = "{change}\nfrom ullage.cli import main\nsys.exit(main())"
# The step that is stuck, and the command that uses it.
LONG = {
    "count": ("import ullage.cli.count as c; c._bytes = stuck", ("count", "notes.txt")),
    "lint": ("import ullage; ullage.validate = stuck", ("lint", "a.json")),
    "plan": ("import ullage; ullage.ContextManager.plan = stuck", ("plan", "a.json")),
    "compact": ("import ullage; ullage.ContextManager.compact = stuck", ("compact", "a.json")),
    "a folder": (
        "import ullage.replay.run as r; r.measure = stuck",
        ("replay", "--jobs", "2", "a.json", "a.json", "a.json"),
    ),
    "report": ("import ullage.replay; sys.modules['ullage.replay.follow'].valid = stuck", ("report", "a.json")),
    "a file": ("import os; os.fsync = stuck", ("compact", "a.json", "-q", "-o", "new.json")),
    "a transcript": ("import ullage.sessions.transcripts as t; t.Transcript = stuck", ("count", "t.jsonl")),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notes.txt").write_text("words")
    (tmp_path / "a.json").write_text(json.dumps(MESSAGES))
    (tmp_path / "t.jsonl").write_text('{"ullage":"view","of":0,"items":[]}\n')
    (tmp_path / "tmp").mkdir()
    return tmp_path


def started(change, arguments, folder, **more):
    command = [sys.executable, "-c", CHANGED.format(change=change), *arguments]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        # A shell lets what it starts in the background ignore the signal, the tests among it.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
    )  # fmt: skip


@posix
@pytest.mark.parametrize(
    "name", [long(name) if name in {"lint", "plan"} else name for name in LONG]
)
def test_an_interruption_ends_long_native_work(name, folder):
    change, arguments = LONG[name]
    before = sorted(folder.rglob("*"))
    with started(STUCK + change, arguments, folder) as process:
        assert process.stderr
        try:
            assert process.stderr.readline() == b"working\n"
            process.send_signal(signal.SIGINT)
            # It would never end by itself.
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in err
    # No temporary file or folder is left.
    assert sorted(folder.rglob("*")) == before


@posix
def test_an_interruption_still_unwinds_what_can_be_unwound(folder):
    change = """
import sys, time, ullage.cli.lint as c

def slow(*_):
    try:
        print("working", file=sys.stderr, flush=True)
        time.sleep(3600)
    finally:
        print("cleaned up", file=sys.stderr, flush=True)

c.read_all = slow
"""
    with started(change, ("lint", "a.json"), folder) as process:
        assert process.stderr
        assert process.stderr.readline() == b"working\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, b"cleaned up\n")


EAGER = "import sys, ullage.cli.console as c; c.SHOWN_AFTER = 0.0; c.LINE_EVERY = 0.01"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("count",), b"0 of 1 conversations after"),
        (("lint",), b"reading after"),
        (("compact",), b"reading after"),
        long(("status",), b"reading after"),
        long(("plan",), b"reading after"),
        long(("repair",), b"reading after"),
        (("replay", "--json", "--context", "4000"), b"reading after"),
        (("report", "-o", "-"), b"reading after"),
    ],
)
def test_long_work_says_how_far_it_is_where_there_is_no_terminal(command, says, folder):
    # It reads for as long as nothing comes.
    with started(EAGER, (*command, "-"), folder, stdin=subprocess.PIPE) as process:
        assert process.stderr
        line = process.stderr.readline()
        out, err = process.communicate(lines(long_session().messages).encode())
    assert line.startswith(b"ullage: " + says)
    assert process.returncode in {0, 1}
    assert out or command == ("lint",)
    assert b"Traceback" not in err


def test_steps_are_counted(folder):
    arguments = ("replay", "--json", "--jobs", "1", "--context", "4000", "a.json", "a.json")
    slow = """
import ullage.replay.run as r, threading
measure, shown = r.measure, threading.Event()

def slow(*given):
    shown.wait(30)
    return measure(*given)

note = c.note
def say(text, *more):
    if " kB after " in text:
        shown.set()
    note(text, *more)

r.measure, c.note = slow, say
"""
    with started(EAGER + slow, arguments, folder) as process:
        _, err = process.communicate()
    size = -(-2 * (folder / "a.json").stat().st_size // 1_000)
    assert re.search(rf"ullage: \d+ of {size:,} kB after \d+ s".encode(), err)


def test_short_work_says_nothing(folder):
    done = subprocess.run(
        [*COMMAND, "count", "--json", str(folder / "a.json")], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@posix
def test_a_terminal_gets_a_bar_and_the_output_stays_apart(folder):
    pytest.importorskip("rich")
    assert pty is not None
    ours, theirs = pty.openpty()
    process = started(EAGER, ("count", "--json", "-"), folder, stdin=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"conversations" not in shown:
        shown += os.read(ours, 65_536)
    out, _ = process.communicate(json.dumps(MESSAGES).encode())
    os.close(ours)
    assert process.returncode == 0
    assert json.loads(out)["messages"] == len(MESSAGES)
    assert b"0/1" in shown
