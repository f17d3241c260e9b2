"""One suite for every store, each at a real place: files, databases and servers."""

import asyncio
import copy
import hashlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ullage
from tests.python.frozen import Wire
from tests.python.lengths import long
from tests.python.loop_probe import LoopProbe
from tests.python.store_places import CELLS, EVERY, EXPIRING, SHARED
from ullage._engine import artifact_writer

REFERENCE = "read_file-0123456789abcdef"
UNKNOWN = "read_file-fedcba9876543210"


def place_at(request, tmp_path):
    return EVERY[request.param](tmp_path)


@pytest.fixture(params=EVERY)
def place(request, tmp_path):
    return place_at(request, tmp_path)


@pytest.fixture(params=SHARED)
def shared(request, tmp_path):
    return place_at(request, tmp_path)


@pytest.fixture(params=EXPIRING)
def expiring(request, tmp_path):
    return place_at(request, tmp_path)


def numbered(number, tool="run"):
    return f"{tool}-{number:016x}"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"text\r\n \t", id="text"),
        pytest.param(bytes(range(256)), id="every-byte"),
        pytest.param("中😀\0".encode() * 50_000, id="half-a-megabyte"),
        pytest.param(b"0123456789" * 10_000_000, id="100-megabytes"),
    ],
)
def test_content_comes_back_byte_for_byte(place, content):
    # On a busy machine.
    store = place.open(
        **{} if place.class_name in {"FileStore", "MemoryStore"} else {"timeout": 60}
    )
    assert store.put(content, reference=REFERENCE, tool="read_file") == REFERENCE
    assert store.put(content, reference=REFERENCE) == REFERENCE, "twice is no mistake"
    assert store.get(REFERENCE) == content
    assert store.list() == [REFERENCE]
    assert isinstance(store, ullage.stores.FullStore)
    with pytest.raises(ullage.ReferenceTakenError, match=REFERENCE):
        store.put(b"another", reference=REFERENCE)
    assert store.get(REFERENCE) == content


def test_an_unknown_reference_is_an_error_that_names_the_nearest(place):
    store = place.open()
    with pytest.raises(ullage.StoreError, match=f"{REFERENCE}; the store is empty"):
        store.get(REFERENCE)
    store.put(b"one", reference=REFERENCE)
    with pytest.raises(ullage.StoreError, match=f"{UNKNOWN}; the nearest .*{REFERENCE}"):
        store.get(UNKNOWN)


@pytest.mark.parametrize("text", ["", "x", "../../etc/passwd", f"{REFERENCE}\n", "A-" + "0" * 16])
def test_only_a_reference_names_content(place, text):
    store = place.open()
    for use in (store.get, store.delete, lambda text: store.put(b"x", reference=text)):
        with pytest.raises(ullage.StoreError, match="is not a reference"):
            use(text)


def test_references_are_listed_and_deleted(place):
    store = place.open()
    references = sorted(numbered(number, tool) for number in range(3) for tool in ("run", "read"))
    for reference in references:
        store.put(reference.encode(), reference=reference)
    assert place.open().list() == references
    assert store.delete(references[0]) is True
    assert store.delete(references[0]) is False
    assert place.open().list() == references[1:]
    with pytest.raises(ullage.StoreError, match="nothing is stored"):
        store.get(references[0])


TEXTS = {
    numbered(1): b"alpha\nan ERROR here\nomega\n",
    numbered(2): b"nothing\n",
    numbered(3): 'größer als Ärger: error-7 (x) 100% "quoted" it\'s\n'.encode(),
    numbered(4): b"\0binary\0 ERROR\n" * 20,
    numbered(5): b"a\xffb ERROR in latin\n",
    numbered(6): b"line\n" * 300_000 + b"the last ERROR\n",
}


@pytest.mark.parametrize(
    "pattern",
    [
        *("ERROR", "(?i)error", "RRO", r"error-\d+", "a.*omega|noth", "größer", r"100% \"q"),
        *("x?it's", "nowhere", "^alpha$", "ER{2}OR", "ERR?OR", "[a-z]+ing", r"\(x\)", "", "la"),
        *(r"\x41|\x61l", r"\x41N", r"\bERROR\b", "(an )?ERROR", "[[:alpha:]]+ing", "an.ERROR"),
    ],
)
def test_every_store_finds_the_same_lines(place, pattern):
    store, model = place.open(), ullage.MemoryStore()
    for reference, content in TEXTS.items():
        store.put(content, reference=reference)
        model.put(content, reference=reference)
    assert ullage.search(store, pattern) == ullage.search(model, pattern)
    store.delete(numbered(1))
    model.delete(numbered(1))
    assert ullage.search(store, pattern, 1) == ullage.search(model, pattern, 1)


def test_a_pattern_that_makes_no_sense_is_refused(place):
    with pytest.raises(ullage.StoreError, match="pattern"):
        place.open().search("(")


def test_sessions_do_not_see_each_other(shared):
    mine, other = shared.open(session="alice/42"), shared.open(session="bob: 7%")
    mine.put(b"mine", reference=REFERENCE)
    assert other.list() == shared.open(session="").list() == []
    other.put(b"other", reference=REFERENCE)
    assert other.delete(REFERENCE)
    assert mine.get(REFERENCE) == b"mine"


def test_a_pickled_store_is_another_one_of_the_same_place(expiring):
    store = expiring.open(session="s", keep_for=60)
    store.put(b"content", reference=REFERENCE)
    other = pickle.loads(pickle.dumps(copy.deepcopy(store)))
    assert (other.get(REFERENCE), other.session, other.keep_for) == (b"content", "s", 60)
    assert repr(other) == repr(store)


# Seconds after which unused content goes: a busy machine must manage two calls in four tenths of it.
KEEP = 4.0
# Two of these are longer than it, also in S3, whose times are whole seconds. One is shorter.
AGE = 0.65 * KEEP


def test_cleaning_spares_what_any_conversation_reaches(expiring):
    one, two = (expiring.open(keep_for=KEEP) for _ in range(2))
    transcript, named, idle = numbered(1, "messages"), numbered(2), numbered(3)
    one.put(f"the output is {named}".encode(), reference=transcript)
    one.put(b"named by the transcript", reference=named)
    one.put(b"used by nobody", reference=idle)
    time.sleep(AGE)
    # Another worker, which has stored none of it.
    assert two.clean([f"[ullage: stored as {transcript}, 3 lines]"]) == []
    time.sleep(AGE)
    assert set(two.clean([transcript])) <= {idle}, "what a server expires by itself is not named"
    assert one.list() == sorted([transcript, named])
    assert one.get(named) == b"named by the transcript"


def test_reading_and_storing_again_extend_the_life(expiring):
    store = expiring.open(keep_for=KEEP)
    for number in range(3):
        store.put(b"content", reference=numbered(number))
    time.sleep(AGE)
    store.put(b"content", reference=numbered(0))
    expiring.open(keep_for=KEEP).get(numbered(1))
    time.sleep(AGE)
    store.clean([])
    assert store.list() == [numbered(0), numbered(1)]


def test_without_keep_for_everything_stays(expiring):
    store = expiring.open()
    store.put(b"content", reference=REFERENCE)
    assert store.clean([]) == []
    assert store.list() == [REFERENCE]
    with pytest.raises(ullage.StoreError, match="keep_for"):
        expiring.open(keep_for=0)


WRITER = """
import sys, ullage, ullage.stores
store, name, rounds = {store}, sys.argv[1], int(sys.argv[2])
for number in range(rounds):
    for owner in ("both", name):
        reference = f"{{owner}}-{{number:016x}}"
        store.put(reference.encode() * 5_000, reference=reference)
    print("written", flush=True)
"""


def writer(place, name, rounds):
    code = WRITER.format(store=place.code())
    return subprocess.Popen(
        [sys.executable, "-c", code, name, str(rounds)], stdout=subprocess.PIPE, text=True
    )


def assert_whole(store):
    for reference in store.list():
        assert store.get(reference) == reference.encode() * 5_000


def test_two_processes_write_at_once(shared):
    processes = [writer(shared, name, 20) for name in ("one", "two")]
    assert all(process.communicate(timeout=50) for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    store = shared.open()
    assert len(store.list()) == 3 * 20
    assert_whole(store)


@pytest.mark.parametrize("kills", [3, long(30)])
def test_a_killed_writer_leaves_only_whole_content(shared, kills):
    store = shared.open()
    for kill in range(kills):
        with writer(shared, f"k{kill}", 10**6) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.007 * (kill % 5))
            os.kill(process.pid, signal.SIGKILL)
        assert_whole(store)
    assert store.put(b"after", reference=REFERENCE) == REFERENCE


def engine_of(store):
    policy = ullage.Policy(window=4_000, reserve_output=500)
    return ullage.ContextManager(policy, store=store)


def conversation():
    messages: list[dict[str, Any]] = []
    for number in range(12):
        messages.append({"role": "user", "content": f"Read file {number}."})
        function = {"name": "read_file", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = f"file {number} says\n" + f"{number} is a number of its own\n" * 300
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return messages


def test_a_store_that_cannot_be_reached_is_an_error_within_its_timeout(shared):
    options = {} if shared.class_name == "FileStore" else {"timeout": 1.0}
    before, messages = time.monotonic(), conversation()
    with pytest.raises(ullage.StoreError):
        engine_of(shared.open_unreachable(**options)).compact(messages)
    assert messages == conversation()
    with pytest.raises(ullage.StoreError):
        shared.open_unreachable(**options).get(REFERENCE)
    assert time.monotonic() - before < 10


def test_many_threads_use_one_store(place):
    store, together = place.open(), threading.Barrier(32)

    def work(number):
        together.wait(30)
        for turn in range(3):
            content = f"{number % 4} {turn}".encode()
            reference = numbered(number % 4 * 10 + turn)
            store.put(content, reference=reference)
            assert store.get(reference) == content

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(work, range(32)))
    assert len(store.list()) == 12


def test_a_store_never_holds_up_the_event_loop(place):
    store, probe = place.open(), LoopProbe()

    class Watched:
        def put(self, content, *, reference, tool=None):
            probe.work()
            return store.put(content, reference=reference, tool=tool)

        def get(self, reference):
            probe.work()
            return store.get(reference)

        def list(self):
            probe.work()
            return store.list()

    async def work():
        messages = conversation()
        await engine_of(Watched()).acompact(messages)
        first = store.list()[0]
        await ullage.aretrieve(Watched(), first)
        await ullage.asearch(Watched(), "number")

    probe.run(work())
    assert len(probe.was_free) > 3
    assert all(probe.was_free)


def test_awaited_work_goes_on_beside_the_store(place):
    store = place.open()

    async def work(number):
        log = f"line of {number}\n" * 20_000
        return log, await ullage.ContextManager(store=store).ashrink("bash", log)

    async def together():
        return await asyncio.gather(*map(work, range(20)))

    for log, short in asyncio.run(together()):
        (reference,) = [name for name in store.list() if name in short]
        assert store.get(reference).decode() == log


def test_what_an_engine_removes_is_found_by_another_worker(shared):
    messages = conversation()
    engine_of(shared.open()).compact(messages)
    other = shared.open()
    named = {name for name in other.list() if name in str(messages)}
    assert named
    assert all(other.get(name) for name in named)


@pytest.fixture(params=CELLS)
def cells(request, tmp_path):
    return place_at(request, tmp_path)


def test_a_cell_changes_only_where_nobody_changed_it(cells):
    one, two = cells.open(session="s"), cells.open(session="s")
    assert one.read_cell("view") is None
    first = one.write_cell("view", b"1", None)
    assert first is not None
    assert two.write_cell("view", b"2", None) is None, "somebody was first"
    cell = two.read_cell("view")
    assert (cell.content, cell.version) == (b"1", first)
    second = two.write_cell("view", b"2", first)
    assert second not in {None, first}
    assert one.write_cell("view", b"3", first) is None
    assert one.read_cell("view").content == b"2"
    assert cells.open(session="other").read_cell("view") is None
    assert one.list() == [], "a cell is no artifact"


def test_many_workers_count_in_one_cell_without_a_loss(cells):
    def count(_):
        store = cells.open()
        for _ in range(5):
            version = None
            while version is None:
                cell = store.read_cell("count")
                number = int(cell.content) if cell else 0
                version = store.write_cell("count", str(number + 1).encode(), cell and cell.version)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))
    assert cells.open().read_cell("count").content == b"40"


def sealed(content):
    """Encrypts for a test: other bytes each time, and broken ones are noticed."""
    nonce = os.urandom(16)
    return nonce + hashlib.sha256(nonce + content).digest() + xored(content, nonce)


def opened(stored):
    content = xored(stored[48:], stored[:16])
    if hashlib.sha256(stored[:16] + content).digest() != stored[16:48]:
        raise ValueError("the bytes were changed")
    return content


def xored(content, nonce):
    pad = hashlib.shake_256(nonce).digest(len(content))
    return bytes(one ^ other for one, other in zip(content, pad, strict=True))


def encrypted(store):
    return ullage.stores.EncryptedStore(store, encrypt=sealed, decrypt=opened)


def test_a_store_sees_only_what_was_encrypted(place):
    inner = place.open()
    store = encrypted(inner)
    log = "line 77: a secret\n" * 300
    for _ in range(2):
        assert store.put(log.encode(), reference=REFERENCE) == REFERENCE, "twice is no mistake"
    assert encrypted(place.open()).get(REFERENCE).decode() == log
    assert b"secret" not in inner.get(REFERENCE)
    assert "300 lines match" in ullage.search(store, "a secret")
    assert "no line matches" in ullage.search(inner, "a secret")
    with pytest.raises(ullage.ReferenceTakenError):
        store.put(b"other", reference=REFERENCE)
    inner.delete(REFERENCE)
    inner.put(b"not what was encrypted, and long enough to look so", reference=REFERENCE)
    with pytest.raises(ullage.StoreError, match=r"could not be decrypted: ValueError: the bytes"):
        store.get(REFERENCE)
    assert store.list() == [REFERENCE]
    assert store.delete(REFERENCE) is True
    assert store.clean([]) == []
    assert isinstance(store, ullage.stores.FullStore)


def test_what_is_encrypted_spares_what_a_conversation_reaches(expiring):
    store = encrypted(expiring.open(keep_for=KEEP))
    transcript, named, idle = numbered(1, "messages"), numbered(2), numbered(3)
    store.put(f"the output is {named}".encode(), reference=transcript)
    for reference in (named, idle):
        store.put(b"an output", reference=reference)
    time.sleep(AGE)
    store = encrypted(expiring.open(keep_for=KEEP))
    store.clean([transcript])
    time.sleep(AGE)
    store.clean([transcript])
    assert store.list() == sorted([transcript, named])


def test_a_cell_is_encrypted_too(cells):
    store = encrypted(cells.open())
    assert store.read_cell("view") is None
    version = store.write_cell("view", b"a secret", None)
    assert store.read_cell("view") == ullage.stores.Cell(b"a secret", version)
    assert b"secret" not in cells.open().read_cell("view").content


@pytest.mark.parametrize("name", ["s3", "redis", "postgres"])
def test_a_server_that_falls_silent_is_an_error_within_the_timeout(name, tmp_path):
    code = EVERY[name](tmp_path).code(timeout=1.0)
    (port,) = set(re.findall(r"127\.0\.0\.1:(\d+)", code))
    with Wire(int(port)) as wire:
        store = eval(code.replace(port, str(wire.port)))
        store.put(b"content", reference=REFERENCE)
        assert store.get(REFERENCE) == b"content"
        wire.freeze()
        before = time.monotonic()
        with pytest.raises(ullage.StoreError, match=REFERENCE):
            store.get(REFERENCE)
        assert time.monotonic() - before < 10
        store.close()


def test_an_engine_remembers_a_bounded_number_of_references(monkeypatch):
    monkeypatch.setattr(artifact_writer, "_REMEMBERED", 3)
    engine = ullage.ContextManager(store=ullage.MemoryStore())
    first = engine.shrink("bash", "line of 0\n" * 20_000)
    for number in range(1, 10):
        engine.shrink("bash", f"line of {number}\n" * 20_000)
        assert len(engine._components.arrival._artifact_writer._known) <= 3
    assert engine.shrink("bash", first) == first, "forgotten, and found in the store"
