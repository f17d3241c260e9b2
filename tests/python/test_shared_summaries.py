"""One summary for all workers that need it."""

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import ullage
from tests.python.store_places import CELLS, EVERY
from tests.python.store_worker import history_of
from ullage.stores import EncryptedStore, summarizer

POLICY = ullage.Policy(window=3_000, reserve_output=300)
SAID = "The user had logs read; each step took longer than the one before."


@pytest.fixture(params=CELLS)
def place(request, tmp_path):
    return EVERY[request.param](tmp_path)


@pytest.fixture
def database(tmp_path):
    return EVERY["sqlite"](tmp_path)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(summarizer, "_LOOK", 0.02)
    monkeypatch.setattr(summarizer, "_BEAT", 0.1)
    monkeypatch.setattr(summarizer, "_LEASE", 1.0)


class Model:
    """A model that is asked for summaries, and takes its time."""

    def __init__(self, seconds=0.0, error=None):
        self.asked, self._seconds, self._error = 0, seconds, error
        self._lock = threading.Lock()

    def __call__(self, request):
        with self._lock:
            self.asked += 1
        time.sleep(self._seconds)
        if self._error is not None:
            raise self._error
        return SAID


def compacted(store, model):
    engine = ullage.ContextManager(POLICY, store=store, summarizer=model)
    messages = history_of("a", 8)
    engine.compact(messages)
    return messages


def test_of_many_workers_one_asks_the_model(place):
    model = Model(seconds=0.5)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: compacted(place.open(), model), range(4)))
    assert model.asked == 1
    assert all(SAID in str(messages) for messages in found)
    assert found.count(found[0]) == 4
    assert SAID in str(compacted(place.open(), model)), "later too"
    assert model.asked == 1


WORKER = """
import sys, time
import ullage
import ullage.stores
from tests.python.store_worker import POLICY, history_of

def asked(request):
    with open(sys.argv[1], "a") as calls:
        calls.write("asked\\n")
    time.sleep(1)
    return "The logs were read."

store = {store}
messages = history_of("a", 8)
sys.stdin.readline()
ullage.ContextManager(POLICY, store=store, summarizer=asked).compact(messages)
print(messages)
"""


def test_of_two_processes_one_asks_the_model(database, tmp_path):
    command = [sys.executable, "-c", WORKER.format(store=database.code()), tmp_path / "calls"]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) for _ in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [process.communicate()[0] for process in processes]
    assert (tmp_path / "calls").read_text() == "asked\n"
    assert "The logs were read." in found[0]
    assert found[0] == found[1]


def refusing(error):
    """A store whose cells cannot be used."""
    store = ullage.MemoryStore()

    class Refusing:
        put, get = store.put, store.get

        def read_cell(self, name):
            raise error

        def write_cell(self, name, content, version):
            raise error

    return Refusing()


@pytest.mark.parametrize(
    "store",
    [
        pytest.param(lambda _: refusing(ullage.StoreError("no cells")), id="refusing"),
        pytest.param(lambda _: refusing(OSError("of a client")), id="any-error"),
        pytest.param(lambda folder: EVERY["objects"](folder).open(), id="objects-in-a-folder"),
        pytest.param(
            lambda _: EncryptedStore(ullage.MemoryStore(), encrypt=bytes, decrypt=bytes),
            id="encrypted-without-cells",
        ),
    ],
)
def test_without_cells_every_worker_asks(store, tmp_path):
    model = Model()
    assert SAID in str(compacted(store(tmp_path), model))
    assert model.asked == 1


def test_async_workers_share_a_summary(database):
    model = Model()

    async def asked(request):
        await asyncio.sleep(0.2)
        return model(request)

    async def worker():
        store = database.open()
        engine = ullage.ContextManager(POLICY, store=store, summarizer=asked)
        messages = history_of("a", 8)
        await engine.acompact(messages)
        return SAID in str(messages)

    async def together():
        return await asyncio.gather(worker(), worker(), worker())

    assert asyncio.run(together()) == [True, True, True]
    assert model.asked == 1


def test_after_a_failure_the_next_worker_asks(database):
    failing, model = Model(error=ValueError("overloaded")), Model()
    with pytest.warns(ullage.UllageWarning, match="overloaded"):
        assert SAID not in str(compacted(database.open(), failing))
    assert SAID in str(compacted(database.open(), model))
    assert (failing.asked, model.asked) == (1, 1)


def test_a_killed_worker_is_replaced_and_a_slow_one_is_not(database):
    slow = Model(seconds=2.5)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: compacted(database.open(), slow), range(2)))
    assert slow.asked == 1, "its signs of life were seen"
    store = database.open(session="other")
    # The state that a worker leaves if it is killed while it asks.
    killed = Model(seconds=60)
    thread = threading.Thread(target=compacted, args=(store, killed), daemon=True)
    store_write = store.write_cell
    writes = []

    def first_only(*args):
        writes.append(args)
        return store_write(*args) if len(writes) == 1 else None

    store.write_cell = first_only
    thread.start()
    while not killed.asked:
        time.sleep(0.01)
    model = Model()
    assert SAID in str(compacted(database.open(session="other"), model))
    assert model.asked == 1
