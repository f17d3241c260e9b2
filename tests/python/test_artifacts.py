"""A folder of artifacts when things go wrong: full disks, killed processes, hostile names."""

# mypy: disable-error-code="type-arg"

import asyncio
import contextlib
import json
import os
import random
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from tests.python.conversations import long_conversation, render
from tests.python.lengths import long

NAME = re.compile(r"[a-z0-9_]{1,32}_\d{8}_\d{6}_[0-9a-f]{16}\.log")
LONG = "a line of some output\n" * 20_000


def files(folder):
    return sorted(path for path in Path(folder).rglob("*") if not path.is_dir())


def result(text):
    return {"toolUseId": "1", "status": "success", "content": [{"text": text}]}


def stored(folder, tool, output, **more):
    """The content that a store keeps of an output that is shrunk at arrival."""
    store = ullage.FileStore(folder, **more)
    engine = ullage.ContextManager(store=store)
    engine.shrink(tool, result(output))
    return [store.get(reference) for reference in store.list()]


@pytest.mark.parametrize(
    "tool",
    [
        "../../etc/cron.d/x",
        "/etc/passwd",
        "..",
        "a\0b",
        "x" * 10_000,
        "工具",
        "\ud800",
        "con",
        "-rf *",
        "",
    ],
    ids=lambda tool: ascii(tool)[:30],
)
def test_no_name_of_a_tool_or_session_leads_out_of_the_folder(tmp_path, tool):
    folder = tmp_path / "inner"
    assert stored(folder, tool, LONG) == stored(folder, tool, LONG, session=tool) == [LONG.encode()]
    assert list(tmp_path.iterdir()) == [folder]
    found = files(folder)
    assert [len(path.relative_to(folder).parts) for path in found].count(1) == 1
    assert all(NAME.fullmatch(path.name) for path in found)
    assert len(found) == 2


def test_two_sessions_never_share_a_folder(tmp_path):
    ids = ["", "a", "A", "a ", "a/b", "a_b", "\ud800", "\ud801", "\ufffd", "x" * 99, "x" * 100]
    stores = [ullage.FileStore(tmp_path, session=session) for session in ids]
    for session, store in zip(ids, stores, strict=True):
        content = ascii(session).encode()
        store.put(content, reference="bash-0123456789abcdef")
        assert (store.session, store.folder) == (session, tmp_path)
    for session, store in zip(ids, stores, strict=True):
        assert store.get("bash-0123456789abcdef") == ascii(session).encode()
    assert len({store.directory for store in stores}) == len(ids)
    assert ullage.FileStore(tmp_path).list() == [], "a session is no part of the folder's own"


OUTPUTS = [
    pytest.param(os.fsdecode(b"caf\xe9\n" * 9_000), b"caf\xe9\n" * 9_000, id="not-utf-8"),
    pytest.param("\ud800 x\n" * 9_000, "\ud800 x\n".encode("utf-8", "surrogatepass") * 9_000, id="surrogates"),
    pytest.param("a\0b\n" * 9_000, b"a\0b\n" * 9_000, id="nul"),
    pytest.param("x y " * 250_000, b"x y " * 250_000, id="one-line"),
    pytest.param("[" * 100_000 + "]" * 100_000, b"[" * 100_000 + b"]" * 100_000, id="deep"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "content"), OUTPUTS)
def test_an_output_comes_back_byte_for_byte(tmp_path, output, content):
    assert stored(tmp_path, "bash", output) == [content]


def test_a_hundred_megabytes_come_back_byte_for_byte(tmp_path):
    store = ullage.FileStore(tmp_path)
    content = os.urandom(1 << 20).hex().encode() * 50
    store.put(content, reference="bash-0123456789abcdef")
    assert ullage.FileStore(tmp_path).get("bash-0123456789abcdef") == content
    tail = ullage.retrieve(store, "bash-0123456789abcdef", pattern=content[-40:].decode())
    assert len(tail) < 30_000


def test_two_results_in_one_second_are_two_artifacts(tmp_path):
    store = ullage.FileStore(tmp_path)
    engine = ullage.ContextManager(store=store)
    for number in range(20):
        engine.shrink("bash", f"{number}\n" + LONG)
    assert len(store.list()) == len(files(tmp_path)) == 20


def test_a_path_is_that_of_the_file(tmp_path):
    store = ullage.FileStore(tmp_path, session="s")
    store.put(b"x", reference="bash-0123456789abcdef")
    path = store.path("bash-0123456789abcdef")
    relative = store.relative_path("bash-0123456789abcdef")
    assert path is not None
    assert relative is not None
    assert path.read_bytes() == b"x"
    assert tmp_path / relative == path == store.directory / path.name
    assert store.path("bash-fedcba9876543210") is store.path("../../x") is None


# Stores outputs until it cannot, and says whether the conversation held the original after each.
FILLER = """
import copy, json, sys, ullage
store = ullage.FileStore(sys.argv[1])
engine = ullage.ContextManager(store=store)
failed = 0
for number in range(60):
    result = {"toolUseId": "1", "status": "success", "content": [{"text": f"{number} " * 30_000}]}
    before = copy.deepcopy(result)
    messages = json.loads(sys.argv[2])
    try:
        engine.shrink("bash", result)
    except ullage.StoreError as error:
        failed += 1
        assert result == before and "check that the folder" in str(error), error
        original = copy.deepcopy(messages)
        try:
            engine.compact(messages, 9_000, hard=True)
        except ullage.StoreError:
            assert messages == original
kept = store.list()
for reference in kept:
    content = store.get(reference)
    assert content == content[: content.index(b" ") + 1] * 30_000 or content[:1] == b"{", reference
print(json.dumps({"failed": failed, "kept": len(kept)}))
"""


def filled(folder, *, before="", limit=None, user=None):
    """Runs the filler on a folder; `before` is a shell command in a mount namespace of its own."""
    messages = json.dumps(render(long_conversation(4, 200), "openai"))

    def prepare():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-c", FILLER, str(folder), messages]
    if before:
        command = ["unshare", "-m", "sh", "-c", f'{before} && exec "$@"', "sh", *command]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=50, preexec_fn=prepare, check=False
    )


def test_a_file_that_cannot_grow_is_a_store_error_and_leaves_nothing(tmp_path):
    done = filled(tmp_path, limit=70_000)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failed"] > 0
    assert said["kept"] == len(files(tmp_path)), "no half-written file is left"


def test_a_full_disk_is_a_store_error_and_leaves_nothing(tmp_path):
    done = filled(tmp_path, before=f"mount -t tmpfs -o size=1m none {tmp_path}")
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("this user may mount nothing; the limit on a file's size is tested above")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failed"] > 10
    assert said["kept"] > 5


def test_a_folder_that_may_not_be_written_is_a_store_error():
    # Permissions do not bind root: it becomes nobody, in a place that nobody may enter and not write.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        code = """
import os, sys, ullage
engine = ullage.ContextManager(store=ullage.FileStore(sys.argv[1]))
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
text = "line\\n" * 50_000
result = {"toolUseId": "1", "status": "success", "content": [{"text": text}]}
try:
    engine.shrink("bash", result)
except ullage.StoreError as error:
    assert result["content"][0]["text"] == text
    print(error)
"""
        done = subprocess.run(
            [sys.executable, "-c", code, folder],
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert "cannot write" in done.stdout, done.stderr
        assert "ermission denied" in done.stdout
        assert list(Path(folder).iterdir()) == []


@pytest.mark.parametrize("make", ["pipe", "folder", "link"])
def test_what_lies_in_the_way_is_a_store_error_at_once(tmp_path, make):
    store = ullage.FileStore(tmp_path / "store")
    store.directory.mkdir()
    path = store.directory / "bash_20260101_000000_0123456789abcdef.log"
    if make == "pipe":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    else:
        (tmp_path / "outside").write_bytes(b"secret")
        path.symlink_to(tmp_path / "outside")
    # Opening a pipe waits for ever, and pytest-timeout would end the test.
    for use in (
        lambda: store.put(b"x", reference="bash-0123456789abcdef"),
        lambda: store.get("bash-0123456789abcdef"),
        lambda: ullage.retrieve(store, "bash-0123456789abcdef"),
    ):
        with pytest.raises(ullage.StoreError, match="it is "):
            use()
    assert store.list() == []
    assert b"secret" not in store.search("secret").encode()


# Puts small and large contents as fast as it can, a second name of each among them.
KILLED = """
import sys, ullage
store, number = ullage.FileStore(sys.argv[1], session="s"), int(sys.argv[2]) * 10**6
while True:
    number += 1
    content = b"%d " % number * (number % 7 * 20_000 + 1)
    for tool in ("one", "two"):
        store.put(content, reference=f"{tool}-{number:016x}")
    print("written", flush=True)
"""


@pytest.mark.parametrize("kills", [10, long(250)])
def test_a_process_killed_at_any_moment_leaves_only_whole_files(tmp_path, kills):
    wait, store = random.Random(2), ullage.FileStore(tmp_path, session="s", keep=None)
    checked: set[str] = set()
    for kill in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path), str(kill)],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(wait.random() * 0.05)
            os.kill(process.pid, signal.SIGKILL)
        listed = store.list()
        for reference in set(listed) - checked:
            number = int(reference.rsplit("-", 1)[1], 16)
            assert store.get(reference) == b"%d " % number * (number % 7 * 20_000 + 1)
        checked.update(listed)
        odd = [path.name for path in files(tmp_path) if not NAME.fullmatch(path.name)]
        assert all(re.fullmatch(r"\.\d+-\d+\.tmp", name) for name in odd)
        assert all(path.is_relative_to(store.directory) for path in files(tmp_path))
    assert checked
    if kills > 50:  # Left as the suite leaves nothing behind.
        print(f"{kills} kills, {len(checked)} artifacts whole, {len(odd)} temporary files left")  # noqa: T201
    # An hour later they are gone.
    for path in files(tmp_path):
        if path.suffix == ".tmp":
            os.utime(path, (1, 1))
    late = ullage.FileStore(tmp_path, session="s")
    late.put(b"late", reference="late-0123456789abcdef")
    assert [path for path in files(tmp_path) if path.suffix == ".tmp"] == []


@given(st.text(max_size=40), st.text(max_size=40), st.binary(max_size=300))
def test_what_was_put_comes_back_whatever_it_and_its_session_are(tool, session, content):
    with tempfile.TemporaryDirectory() as folder:
        store = ullage.FileStore(folder, session=session)
        store.put(content, reference="bash-0123456789abcdef", tool=tool)
        again = ullage.FileStore(folder, session=session)
        assert again.get("bash-0123456789abcdef") == content
        (path,) = files(folder)
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


# Retention.


def old_artifacts(folder, count):
    """Artifacts of a store that is gone, the first the oldest."""
    store = ullage.FileStore(folder)
    references = [f"old-{number:016x}" for number in range(count)]
    for age, reference in zip(range(count, 0, -1), references, strict=True):
        store.put(reference.encode(), reference=reference)
        path = store.path(reference)
        assert path is not None
        os.utime(path, (time.time() - age * 60,) * 2)
    return references


def mention(messages, reference):
    messages[0] = {"role": "user", "content": [{"text": f"The task, with {reference} to read."}]}


def test_a_compaction_removes_what_is_old_and_not_referred_to(tmp_path):
    references = old_artifacts(tmp_path, 160)
    store = ullage.FileStore(tmp_path)
    policy = ullage.Policy(
        window=20_000,
        reserve_output=1_000,
        stages=["offload", "compress", "window"],  # So that single outputs are stored as well.
    )
    engine = ullage.ContextManager(policy, store=store)
    messages = render(long_conversation(30, 300), "bedrock")
    mention(messages, references[0])
    engine.compact(messages, 15_000, hard=True)
    left = store.list()
    new = [reference for reference in left if not reference.startswith("old-")]
    assert len(new) > 2
    assert references[0] in left
    assert references[1] not in left
    assert len(left) == 101, "the newest hundred, and the one that is referred to"
    # Everything that the conversation refers to is there, also through transcripts.
    seen, wanted = set(), ullage._core.references_in(messages)
    while wanted:
        reference = wanted.pop()
        if reference not in seen:
            seen.add(reference)
            wanted += ullage._core.references_in(store.get(reference).decode())
    assert set(new) <= seen


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_store_of_ones_own_is_told_what_is_in_use(asynchronous):
    class Own(dict):
        told: list = []  # noqa: RUF012 - one for the one store of the test

        def put(self, content, *, reference, tool=None, **_):
            self[reference] = content
            return reference

        def get(self, reference):  # type: ignore[override]
            return self[reference]

        def clean(self, live):
            self.told.append(live)
            if not asynchronous:
                return []

            async def later():
                return []

            return later()

    store = Own()
    Own.told = []
    engine = ullage.ContextManager(ullage.Policy(window=20_000, reserve_output=1_000), store=store)
    messages = render(long_conversation(30, 300), "bedrock")
    mention(messages, "old-0123456789abcdef")
    if asynchronous:
        asyncio.run(engine.acompact(messages, 6_000, hard=True))
    else:
        engine.compact(messages, 6_000, hard=True)
    (live,) = Own.told
    assert "old-0123456789abcdef" in live
    assert live == ullage._core.references_in(messages)
    engine.compact(messages, 9_000)
    assert len(Own.told) == 1, "nothing was stored since"


def test_a_cleaning_that_fails_fails_nothing_else(caplog):
    class Broken(ullage.MemoryStore):
        def clean(self, live):
            raise OSError(5, "Input/output error")

    engine = ullage.ContextManager(
        ullage.Policy(window=20_000, reserve_output=1_000), store=Broken()
    )
    messages = render(long_conversation(30, 300), "bedrock")
    assert engine.compact(messages, 6_000, hard=True).tokens_after <= 6_000
    assert "the store was not cleaned" in caplog.text


def test_cleaning_by_hand(tmp_path):
    references = old_artifacts(tmp_path, 12)
    store = ullage.FileStore(tmp_path, keep=3, clean_above=6)
    store.get(references[0])
    assert store.clean(f"see {references[1]}") == references[2:9]
    assert store.clean([], spare_own=False) == []
    for number in range(20, 23):
        store.put(b"%d" % number, reference=f"new-{number:016x}")
    assert store.above_limit
    # The one that another conversation held stays.
    assert store.clean([]) == references[9:]
    store.put(b"more", reference="new-ffffffffffffffff")
    assert store.clean([], spare_own=False) == [], "there are no more than six"
    with contextlib.suppress(TypeError):
        store.clean([1])  # type: ignore[list-item]
    keeps_all = ullage.FileStore(tmp_path, keep=None)
    assert keeps_all.clean([]) == []


def test_a_long_process_leaves_no_more_than_its_newest_conversations_need(tmp_path):
    store = ullage.FileStore(tmp_path, keep=5, clean_above=10)
    idle = store.put(b"the idle one", reference="idle-0000000000000000")
    for number in range(300):
        reference = store.put(b"%d" % number, reference=f"bash-{number:016x}")
        store.clean([f"see {reference}"])
        assert store.path(reference)
        if number % 100 == 99:
            store.clean([idle])
    assert store.path(idle)
    # The files of 256 conversations, those from before the first cleaning, and the idle one.
    assert len(store.list()) < 270


def test_references_are_found_anywhere_in_messages():
    class Part:
        def __init__(self, text):
            self.text = text

    cyclic: list = ["in-0000000000000001"]
    cyclic.append(cyclic)
    value = [
        {"a": ("x in-0000000000000002.", {"in-0000000000000003": None})},
        Part(["in-0000000000000004"]),
        b"in-0000000000000005",
        cyclic,
        "\ud800 in-0000000000000006\ud800",
    ]
    assert ullage._core.references_in(value) == [f"in-{n:016x}" for n in (1, 2, 3, 4, 6)]
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(ullage.MessageError, match="nested deeper"):
        ullage._core.references_in(deep)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_stores_and_reads_whatever_threads_of_its_parent_did(tmp_path):
    # Many names make the threads hold the lock for long.
    for number in range(600):
        (tmp_path / f"old_20260101_000000_{number:016x}.log").touch()
    files, memory = ullage.FileStore(tmp_path, keep=None), ullage.MemoryStore()
    engine = ullage.ContextManager(store=memory)
    stopped = threading.Event()

    def work(thread: int) -> None:
        turn = 0
        while not stopped.is_set():
            turn += 1
            reference = f"bash-{(thread << 32) + turn:016x}"
            files.put(b"%d" % turn, reference=reference)
            files.list()
            memory.put(b"%d" % turn, reference=reference)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    try:
        for thread in threads:
            thread.start()
        for fork in range(6):
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(5)
                reference = f"child-{fork:016x}"
                for store in (files, memory):
                    store.put(b"of the child", reference=reference)
                    assert store.get(reference) == b"of the child"
                assert engine.stats.compactions == 0
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
