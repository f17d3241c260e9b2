"""Files that `ullage compact` and `ullage repair` write: in the form they read, or not at all."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ullage
from ullage._engine.files import write_whole
from ullage.sessions import read_session_file, read_sessions

from .commands import BEDROCK, COMMAND, MESSAGES, SMALL, every_kind, inside, lines, run
from .lengths import long

WRITABLE = ["list.json", "request.json", "chat.json", "contents.json", "input.json", "lines.jsonl", "lines.jsonl.gz", "list.json.xz", "two.jsonl", "transcript.jsonl"]  # fmt: skip
ONLY_READ = ["adk.json", "claude.jsonl", "session_s"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals and links of POSIX")


def tokens(path):
    counter = ullage.TokenCounter()
    return [counter.count_messages(session.messages) for session in read_sessions(path)]


@pytest.mark.parametrize("name", WRITABLE)
def test_what_is_written_in_place_has_the_form_that_was_read(name, tmp_path):
    path = every_kind(tmp_path)[name]
    before = read_session_file(path)
    store = tmp_path / "store"
    assert inside("compact", "--in-place", path, *SMALL, "--store", store, "-q") == (0, "", "")
    after = read_session_file(path)
    assert (after.kind, len(after.sessions)) == (before.kind, len(before.sessions))
    assert max(tokens(path)) <= 3_500
    assert not any(ullage.validate(session.messages) for session in after.sessions)
    assert {entry.name for entry in tmp_path.iterdir() if ".part" in entry.name} == set()
    if name == "request.json":
        assert json.loads(path.read_text())["model"] == "x"
    # Everything that was removed is in the store, byte for byte.
    listed = inside("retrieve", "--store", store)[1].split()
    raw = [inside("retrieve", reference, "--store", store, "--raw")[1] for reference in listed]
    assert raw == [ullage.FileStore(store).get(reference).decode() for reference in listed]
    if name == "list.json":
        gone = [message for message in MESSAGES if message not in after.sessions[0].messages]
        assert gone
        text = "".join(raw)
        assert all(f"call-{number}-0w299" in text for number in range(15))


@pytest.mark.parametrize("name", ONLY_READ)
def test_what_others_write_is_not_changed_but_written_elsewhere(name, tmp_path):
    path = every_kind(tmp_path)[name]
    code, out, err = inside("compact", "-i", path, *SMALL)
    assert (code, out) == (2, "")
    assert "only the program that wrote it" in err
    other = tmp_path / "other.json"
    assert inside("compact", path, *SMALL, "-o", other, "-q") == (0, "", "")
    assert max(tokens(other)) <= 3_500


def test_a_transcript_keeps_all_that_was_ever_said(tmp_path):
    path = every_kind(tmp_path)["transcript.jsonl"]
    before = path.read_bytes()
    assert inside("compact", "-i", path, *SMALL, "-q") == (0, "", "")
    assert path.read_bytes().startswith(before)
    with ullage.Transcript(path) as transcript:
        assert transcript.messages()[1:] == MESSAGES
        assert transcript.view() == read_sessions(path)[0].messages
        # An agent has it open.
        code, _, err = inside("repair", "-i", path)
        assert (code, "open" in err) == (2, True)


def test_a_transcript_that_nothing_tells_is_named(tmp_path):
    path = tmp_path / "new.jsonl"
    with ullage.Transcript(path) as transcript:
        transcript.extend(MESSAGES)
        before = path.read_bytes()
        # While an agent has it open, it is not replaced.
        code, _, err = inside("compact", "-i", "--force", path, *SMALL)
        assert (code, path.read_bytes()) == (2, before)
        assert "open in another program" in err
    assert inside("compact", "-i", "--transcript", path, *SMALL, "-q") == (0, "", "")
    assert path.read_bytes().startswith(before)
    assert max(tokens(path)) <= 3_500
    other = tmp_path / "list.json"
    other.write_text("[]")
    code, _, err = inside("compact", "-i", "--transcript", other)
    assert (code, "is a list of messages" in err) == (2, True)


def test_a_file_that_needs_nothing_is_not_touched(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(' [ {"role" : "user", "content": "Hi"} ] ')
    before = path.stat()
    assert inside("compact", "-i", path)[0] == inside("repair", "-i", path)[0] == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_an_agent_writes_meanwhile_is_not_lost(tmp_path, monkeypatch, capsys):
    from ullage.cli import main

    file = tmp_path / "a.jsonl"
    file.write_text(lines(MESSAGES))
    compact = ullage.ContextManager.compact

    def slowly(*arguments, **more):
        with file.open("a") as agent:
            agent.write('{"role": "assistant", "content": "I go on."}\n')
        return compact(*arguments, **more)

    monkeypatch.setattr(ullage.ContextManager, "compact", slowly)
    assert main(["compact", "-i", str(file), *SMALL]) == 2
    assert "another program changed" in capsys.readouterr().err
    assert file.read_text() == lines(MESSAGES) + '{"role": "assistant", "content": "I go on."}\n'


@posix
def test_links_and_permissions_stay(tmp_path):
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    path.write_text(json.dumps(MESSAGES))
    path.chmod(0o640)
    link.symlink_to(path.name)
    assert inside("compact", "-i", "--force", link, *SMALL)[0] == 0
    assert link.is_symlink()
    assert max(tokens(path)) <= 3_500
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
def test_nobody_reads_a_file_meanwhile_who_could_not_read_it_before(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("what only its owner may read")
    path.chmod(0o600)
    seen = []
    flush = os.fsync

    def look(file):
        seen.append(stat.S_IMODE(os.fstat(file).st_mode))
        flush(file)

    monkeypatch.setattr(os, "fsync", look)
    write_whole(path, b"the same")
    assert seen == [0o600]


@posix
def test_what_is_no_file_is_written_to_as_it_is(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(MESSAGES))
    assert inside("compact", path, "-q", "-o", os.devnull) == (0, "", "")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    _, out, _ = run("compact", path, "-q", "-o", "/dev/stdout")
    assert json.loads(out) == MESSAGES


@pytest.mark.parametrize("target", ["nowhere/a.json", "."])
def test_what_cannot_be_written_is_said(target, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(MESSAGES))
    code, out, err = inside("compact", path, "-o", tmp_path / target)
    assert (code, out) == (2, "")
    assert "cannot be written" in err
    code, _, err = inside("compact", "-", "-i", stdin="[]")
    assert (code, "standard input cannot be written back" in err) == (2, True)


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_file_that_may_not_be_written_stays(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(MESSAGES))
    path.chmod(0o440)
    code, _, err = inside("compact", "-i", "--force", path, *SMALL)
    assert (code, "Permission denied" in err) == (2, True)


def interrupted(file, store, kill, chance, took):
    """Compacts a file in place, and is killed at a random moment; the code."""
    command = [*COMMAND, "compact", "-i", str(file), *SMALL, "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(chance.uniform(0.0, took))
        process.send_signal(kill)
        process.communicate()
    return process.returncode


@posix
@pytest.mark.parametrize("kill", ["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("times", [4, long(50)])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new(kill, times, tmp_path):
    file, store = tmp_path / "a.json", tmp_path / "store"
    old = json.dumps(MESSAGES).encode()
    file.write_bytes(old)
    start = time.monotonic()
    assert run("compact", "-i", file, *SMALL, "--store", store)[0] == 0
    took = time.monotonic() - start
    new = file.read_bytes()
    assert len(new) < len(old)
    chance = random.Random(7)
    for _ in range(times):
        file.write_bytes(old)
        code = interrupted(file, store, getattr(signal, kill), chance, took)
        assert file.read_bytes() in {old, new}
        if kill == "SIGINT":
            # Before Python is up, the signal ends it in its own way.
            assert code in {0, 1, 130, -signal.SIGINT}
            assert not [entry for entry in tmp_path.iterdir() if ".part" in entry.name]
        # The stored content is whole, whatever became of the file.
        kept = ullage.FileStore(store)
        assert all(kept.get(reference) for reference in kept.list())


@posix
def test_an_interruption_is_no_fault(tmp_path, monkeypatch):
    from ullage.cli import main

    file = tmp_path / "a.json"
    file.write_text(json.dumps(MESSAGES))
    before = file.read_bytes()

    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stopped)
    assert main(["compact", "-i", "--force", str(file), *SMALL]) == 130
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


# A disk on which files may have so many bytes and no more, as a full one would.
LIMITED = (
    "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2);"
    "from ullage.cli import main; sys.exit(main(sys.argv[2:]))"
)


@posix
@pytest.mark.parametrize("bytes_left", [0, 1_000])
def test_a_full_disk_leaves_the_file_as_it_was(bytes_left, tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(BEDROCK))
    before = file.read_bytes()
    full = [sys.executable, "-c", LIMITED, str(bytes_left)]
    for more in ((), ("--store", tmp_path / "store")):
        code, out, err = run("compact", "-i", "--force", file, *SMALL, *more, command=full)
        assert (code, out) == (2, "")
        assert "a.json" in err
        assert file.read_bytes() == before
        assert not [entry for entry in tmp_path.iterdir() if ".part" in entry.name]
    # A transcript that cannot grow is as it was.
    folder = tmp_path / "kinds"
    folder.mkdir()
    transcript = every_kind(folder)["transcript.jsonl"]
    before = transcript.read_bytes()
    assert run("compact", "-i", transcript, *SMALL, command=full)[0] == 2
    assert transcript.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_standard_output_is_an_error(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(MESSAGES))
    for arguments in (["compact", *SMALL], ["plan"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*COMMAND, *arguments, str(file)], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 2, arguments
        assert b"cannot print" in done.stderr
        assert b"Traceback" not in done.stderr


def test_a_reader_that_stops_early_is_no_fault(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(MESSAGES * 20))
    for arguments in (["repair", "-q"], ["count", "--json", *[str(file)] * 50]):
        with subprocess.Popen(
            [*COMMAND, *arguments, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout
            process.stdout.close()
            assert process.stderr
            assert process.stderr.read() == b""
        assert process.returncode == 1


def test_what_the_terminal_cannot_show_is_written_as_it_is(tmp_path):
    file = tmp_path / "a.json"
    messages = [{"role": "user", "content": "naïve \ud800 snow ☃"}]
    file.write_text(json.dumps(messages))
    for encoding, command in (("ascii", "compact"), ("utf-8", "repair")):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        _, out, _ = run(command, "-q", file, env=environment)
        assert json.loads(out) == messages


def test_one_file_may_be_compacted_into_itself(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(MESSAGES))
    assert inside("compact", file, *SMALL, "-o", file, "-q", "--force") == (0, "", "")
    assert max(tokens(file)) <= 3_500
