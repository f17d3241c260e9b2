"""Transcripts whose files were damaged, torn, shared or copied into a child."""

# mypy: disable-error-code="no-untyped-def"

import os
import subprocess
import sys
import threading

import pytest

import ullage


def said(number):
    return {"role": "user", "content": f"word {number}"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize("line", range(10))
@pytest.mark.parametrize("damage", [lambda line: b"\0" * len(line), lambda line: line[:-6]])
def test_a_damaged_message_keeps_its_number(path, line, damage):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(10))
        transcript.hide(1, 5)
        transcript.hide(9, 10)
        view = transcript.view()
    lines = path.read_bytes().split(b"\n")
    lines[line] = damage(lines[line])
    path.write_bytes(b"\n".join(lines))
    for _ in range(2):
        with ullage.Transcript(path) as again:
            assert again.view() == [message for message in view if message != said(line)]
            assert again.messages() == [said(number) for number in range(10) if number != line]
            assert "is damaged" in str(again.recovered)
            assert len(again) == 10
    with ullage.Transcript(path) as again:
        assert again.append(said(10)) == 10
        again.hide(5, 6)
        expected = again.view()
        assert expected == [
            message for message in [*view, said(10)] if message not in (said(5), said(line))
        ]
    with ullage.Transcript(path) as again:
        assert again.view() == expected


def test_a_damaged_view_has_no_number_and_the_one_before_it_stands(path):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(4))
        transcript.hide(0, 1)
        transcript.hide(1, 2)
    path.write_bytes(path.read_bytes()[:-4] + b"\n")
    with ullage.Transcript(path) as again:
        assert again.view() == list(map(said, range(1, 4)))
        assert again.append(said(4)) == 4


def test_a_view_of_other_messages_is_skipped_and_said(path):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(4))
        transcript.hide(0, 1)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[1:]))
    with ullage.Transcript(path) as again:
        assert again.view() == list(map(said, range(1, 4)))
        assert "a view of 4 messages" in str(again.recovered)


def nested(depth):
    value: list[object] = []
    for _ in range(depth - 2):
        value = [value]
    return {"content": value}


def test_what_is_nested_too_deeply_is_refused_and_all_else_is_read(path):
    with ullage.Transcript(path) as transcript:
        transcript.append(nested(272))
        transcript.append({"content": [[]] * 1_000})
        for depth in (273, 900, 100_000):
            with pytest.raises(ullage.MessageError):
                transcript.append(nested(depth))
        with pytest.raises(ullage.MessageError, match="nested deeper than 272 levels"):
            transcript.set_view([nested(273)])
    with ullage.Transcript(path) as again:
        assert again.view() == [nested(272), {"content": [[]] * 1_000}]
        assert again.recovered is None


def test_a_line_too_deep_to_be_read_is_skipped_and_said(path):
    path.write_text('{"n":0}\n' + "[" * 100_000 + "]" * 100_000 + '\n{"n":2}\n')
    with ullage.Transcript(path) as transcript:
        assert transcript.messages() == [{"n": 0}, {"n": 2}]
        assert "record 2 cannot be read" in str(transcript.recovered)
        assert len(transcript) == 3


def test_without_a_lock_a_torn_line_of_another_takes_nothing_with_it(path):
    with ullage.Transcript(path, lock=False) as transcript:
        transcript.append(said(0))
        with path.open("ab") as other:
            other.write(b'{"role":"user","torn')
        assert transcript.append(said(1)) == 1
        transcript.hide(0, 1)
    with ullage.Transcript(path) as again:
        assert again.messages() == [said(0), said(1)]
        assert again.view() == [said(1)]
        assert "is torn" in str(again.recovered)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the sizes of files")
def test_without_a_lock_a_failed_write_takes_nothing_of_another_back(path):
    code = """
import resource, signal, sys, ullage
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
one, other = (ullage.Transcript(sys.argv[1], lock=False) for _ in range(2))
for number in range(5):
    other.append({"number": number})
resource.setrlimit(resource.RLIMIT_FSIZE, (400, resource.RLIM_INFINITY))
try:
    one.append({"words": "w" * 2_000})
except ullage.StoreError:
    print("failed")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
other.append({"number": 5})
one.append({"number": 6})
"""
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    assert done.stdout == "failed\n"
    with ullage.Transcript(path) as again:
        assert [message["number"] for message in again.messages()] == list(range(7))


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is made by a fork")
def test_a_child_neither_keeps_the_lock_nor_gives_it_away(path):
    transcript = ullage.Transcript(path)
    assert os.waitpid(in_child(transcript.close), 0)[1] == 0
    with pytest.raises(ullage.StoreError, match="open already"):
        ullage.Transcript(path)
    read, write = os.pipe()

    def wait():
        os.close(write)
        os.read(read, 1)

    child = in_child(wait)
    os.close(read)
    transcript.close()
    ullage.Transcript(path).close()
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is made by a fork")
def test_a_child_is_refused_also_while_a_thread_of_its_parent_was_writing(path):
    transcript = ullage.Transcript(path)
    transcript.append(said(0))

    def work():
        for call in (
            lambda: transcript.append(said(1)),
            lambda: transcript.set_view([]),
            lambda: transcript.hide(0, 1),
            transcript.resume,
            lambda: transcript.export(f"{path}.copy"),
        ):
            with pytest.raises(ullage.StoreError, match="before a fork"):
                call()
        assert transcript.view() == transcript.messages() == [said(0)]

    held, made = threading.Event(), threading.Event()

    def hold():
        with transcript._changing:
            held.set()
            made.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = in_child(work)
    made.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    transcript.close()


def test_errors_say_what_was_wrong(tmp_path, path):
    with ullage.Transcript(os.fsencode(path)) as transcript:
        assert transcript.path == str(path)
        transcript.append(said(0))
        transcript.export(os.fsencode(tmp_path / "copy"))
        with pytest.raises(ullage.StoreError, match="already exists; export to a new file"):
            transcript.export(tmp_path / "copy")
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ullage.StoreError, match="symbolic link; open the file"):
        ullage.Transcript(tmp_path / "link")
