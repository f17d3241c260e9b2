"""Transcripts: nothing that was written is lost, and the view comes back as it was."""

# mypy: disable-error-code="no-untyped-def,type-arg,arg-type"

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

from .conversations import FORMATS, long_conversation, render
from .lengths import long

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    # Half a character, too, as some tools print.
    | st.text(st.characters()) | st.binary(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)  # fmt: skip


def said(number):
    return {"role": "user" if number % 2 == 0 else "assistant", "content": f"word {number}"}


@given(
    messages=st.lists(st.dictionaries(st.text(max_size=6) | st.just("ullage"), JSON), max_size=5)
)
def test_what_was_appended_comes_back(tmp_path_factory, messages):
    path = tmp_path_factory.mktemp("t") / "log.jsonl"
    with ullage.Transcript(path) as transcript:
        assert [transcript.append(message) for message in messages] == list(range(len(messages)))
        assert transcript.messages() == transcript.view() == messages
    with ullage.Transcript(path) as again:
        assert again.messages() == again.view() == messages
        assert again.recovered is None


def test_a_message_is_one_line_and_nothing_else_is_written(tmp_path):
    with ullage.Transcript(tmp_path / "log.jsonl") as transcript:
        transcript.extend(said(number) for number in range(3))
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [said(number) for number in range(3)]
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_compacted_view_comes_back_and_the_history_stays(tmp_path, format):
    messages = render(long_conversation(20), format)
    engine = ullage.ContextManager(store=ullage.MemoryStore())
    path = tmp_path / "log.jsonl"
    with ullage.Transcript(path) as transcript:
        transcript.extend(messages[:-2])
        for budget in (6_000, 3_500):
            view = transcript.view()
            assert engine.compact(view, budget=budget, hard=True).first_changed is not None
            transcript.set_view(view)
            assert transcript.view() == view
        transcript.extend(messages[-2:])
        expected = [*view, *messages[-2:]]
        assert all(a is b for a, b in zip(transcript.view(), expected, strict=True))
    size = path.stat().st_size
    with ullage.Transcript(path) as again:
        assert again.view() == expected
        assert again.messages() == messages
        assert again.resume(format) == expected
    assert path.stat().st_size == size


@pytest.mark.parametrize("data", ["not base64!", 3, None, "YWJj\n", ["a"]])
def test_what_only_looks_like_bytes_is_no_loss(tmp_path, data):
    message = {"content": {"__bytes_encoded__": True, "data": data}}
    with ullage.Transcript(tmp_path / "log") as transcript:
        transcript.append(message)
    with ullage.Transcript(tmp_path / "log") as again:
        assert again.messages() == [message]


def test_what_is_hidden_is_gone_from_the_view_alone(tmp_path):
    note = {"role": "user", "content": "note"}
    with ullage.Transcript(tmp_path / "log") as transcript:
        transcript.extend(said(number) for number in range(10))
        transcript.hide(2, 5, note)
        assert transcript.view() == [said(0), said(1), note, *map(said, range(5, 10))]
        transcript.hide(1, 7)
        assert transcript.view() == [said(0), *map(said, range(7, 10))]
        transcript.hide(8, 9, note)
        expected = [said(0), said(7), note, said(9)]
        assert transcript.view() == expected
        for start, end in [(-1, 2), (3, 3), (5, 11), (4, 2)]:
            with pytest.raises(ullage.MessageError, match="there are no messages"):
                transcript.hide(start, end)
    with ullage.Transcript(tmp_path / "log") as again:
        assert again.view() == expected
        assert len(again) == 10


@pytest.mark.parametrize("at", range(1, 40, 3))
def test_a_torn_last_line_is_skipped_and_said(tmp_path, at):
    path = tmp_path / "log.jsonl"
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(4))
    whole = path.read_bytes()
    path.write_bytes(whole[:-at])
    with ullage.Transcript(path) as again:
        kept = 4 if at == 1 else 3
        assert again.messages() == [said(number) for number in range(kept)]
        assert (again.recovered is None) == (at == 1)
        again.append(said(9))
    with ullage.Transcript(path) as again:
        assert again.messages() == [*map(said, range(kept)), said(9)]
    assert path.read_bytes().startswith(whole[:-at])


def test_a_line_that_makes_no_sense_is_skipped_and_said(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [
        json.dumps(said(0)),
        "\x00\x00\x00",
        '{"ullage":"view","items":[[0,7]]}',
        '{"ullage":"riddle"}',
        '{"ullage":"view","items":3}',
        json.dumps(said(1)),
    ]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\n")
    with ullage.Transcript(path) as transcript:
        assert transcript.view() == [said(0), said(1)]
        assert transcript.recovered is not None
        assert len(transcript.recovered.split("; ")) == 5


def test_another_process_and_another_opening_are_kept_out(tmp_path):
    path = str(tmp_path / "log.jsonl")
    code = "import sys, ullage; ullage.Transcript(sys.argv[1]).append({'role': 'user'})"

    def other():
        command = [sys.executable, "-c", code, path]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)

    with ullage.Transcript(path):
        with pytest.raises(ullage.StoreError, match="open already"):
            ullage.Transcript(path)
        assert "open already" in other().stderr
        with ullage.Transcript(path, lock=False) as unlocked:
            unlocked.append(said(0))
    assert other().returncode == 0
    with ullage.Transcript(path) as again:
        assert len(again) == 2


@pytest.mark.parametrize("message", [object(), {"a": {1, 2}}, {"a": float("nan")}, {"a": object()}])
def test_what_is_no_json_is_refused_and_not_written(tmp_path, message):
    with ullage.Transcript(tmp_path / "log") as transcript:
        transcript.append(said(0))
        with pytest.raises(ullage.MessageError, match="message 1 cannot be written as JSON"):
            transcript.append(message)
        assert len(transcript) == 1
        with pytest.raises(ullage.MessageError):
            transcript.set_view([message])
        assert transcript.view() == [said(0)]


def test_a_closed_one_says_so(tmp_path):
    transcript = ullage.Transcript(tmp_path / "log")
    transcript.close()
    transcript.close()
    with pytest.raises(ullage.StoreError, match="closed"):
        transcript.append(said(0))
    with pytest.raises(ullage.PolicyError, match="fsync"):
        ullage.Transcript(tmp_path / "log", fsync="sometimes")
    with pytest.raises(ullage.StoreError):
        ullage.Transcript(tmp_path)


def test_an_export_is_the_whole_file_and_overwrites_none(tmp_path):
    with ullage.Transcript(tmp_path / "log", fsync="always") as transcript:
        transcript.extend(said(number) for number in range(6))
        transcript.hide(0, 4)
        transcript.export(tmp_path / "copies" / "one")
        with pytest.raises(ullage.StoreError):
            transcript.export(tmp_path / "copies" / "one")
    with ullage.Transcript(tmp_path / "copies" / "one") as copy:
        assert copy.messages() == [said(number) for number in range(6)]
        assert copy.view() == [said(4), said(5)]


def test_threads_lose_nothing(tmp_path):
    with ullage.Transcript(tmp_path / "log") as transcript:
        places: list[int] = []

        def write(thread):
            places.extend(transcript.append({"thread": thread, "number": n}) for n in range(50))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(places) == list(range(400))
    with ullage.Transcript(tmp_path / "log") as again:
        for number in range(8):
            own = [message["number"] for message in again.messages() if message["thread"] == number]
            assert own == list(range(50))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is made by a fork")
def test_after_a_fork_the_child_is_refused(tmp_path):
    with ullage.Transcript(tmp_path / "log") as transcript:
        child = os.fork()
        if child == 0:
            try:
                transcript.append(said(0))
            except ullage.StoreError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the sizes of files")
def test_a_full_disk_takes_back_what_was_half_written(tmp_path):
    code = """
import json, resource, signal, sys, ullage
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
transcript = ullage.Transcript(sys.argv[1])
for number in range(100):
    try:
        transcript.append({"number": number, "words": "w" * 90})
    except ullage.StoreError:
        print(number, len(transcript))
        break
transcript.close()
"""
    path = tmp_path / "log"
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    number, count = map(int, done.stdout.split())
    assert number == count > 0
    assert path.read_bytes().endswith(b"}\n")
    with ullage.Transcript(path) as again:
        assert again.recovered is None
        assert [message["number"] for message in again.messages()] == list(range(count))
        again.append(said(0))


def pairs(number):
    call = {"toolUse": {"toolUseId": f"c{number}", "name": "look", "input": {"at": number}}}
    result = {"toolResult": {"toolUseId": f"c{number}", "content": [{"text": "found " * 40}]}}
    return {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}


def work(path, acknowledge):
    """Goes on where the log ends: calls, results, and a compaction now and then."""
    engine = ullage.ContextManager(store=ullage.MemoryStore())
    with ullage.Transcript(path) as transcript:
        view = transcript.resume("bedrock")
        if not view:
            transcript.append({"role": "user", "content": [{"text": "Go."}]})
        number = len(transcript)
        while True:
            for message in pairs(number):
                acknowledge(transcript.append(message))
            number += 1
            if number % 5 == 0:
                view = transcript.view()
                engine.compact(view, budget=2_000)
                transcript.set_view(view)


def killed(path, seconds):
    """The lines that a process was told before it was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(path, lambda place: os.write(write, b"%d\n" % place))
        finally:
            os._exit(1)
    os.close(write)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = b"".join(iter(lambda: os.read(read, 65_536), b""))
    os.close(read)
    return told.split(b"\n")[:-1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is made by a fork")
@pytest.mark.parametrize("times", [20, long(500)])
def test_a_process_that_is_killed_at_any_moment_loses_nothing_it_was_told(tmp_path, times):
    ullage.ContextManager().plan([{"role": "user", "content": "warm"}])
    chance = random.Random(7)
    path = tmp_path / "log.jsonl"
    for turn in range(times):
        if turn % 20 == 0:
            path.unlink(missing_ok=True)
        told = killed(path, chance.uniform(0.0, 0.02))
        with ullage.Transcript(path) as again:
            if told:
                assert len(again) > int(told[-1])
            again.resume("bedrock")
            assert not ullage.validate(again.view(), "bedrock")
