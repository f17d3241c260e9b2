"""Views whose state is in a store: conversations that move between workers."""

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ullage
from tests.python.lengths import long
from tests.python.store_places import CELLS, EVERY
from tests.python.store_worker import POLICY, found_of, history_of

WORKER = Path(__file__).with_name("store_worker.py")
TURNS = 8


def engine_of(store):
    return ullage.ContextManager(POLICY, store=store)


@pytest.fixture(params=CELLS)
def place(request, tmp_path):
    return EVERY[request.param](tmp_path)


@pytest.fixture
def database(tmp_path):
    return EVERY["sqlite"](tmp_path)


def test_a_session_goes_on_in_another_worker(place):
    alone = engine_of(ullage.MemoryStore()).open()
    for turns in range(1, TURNS):
        view = engine_of(place.open()).open(session="alice/42")
        history = history_of("a", turns)
        assert view.messages(history) == alone.messages(history)
    assert len(view.messages(history)) < len(history)
    other = engine_of(place.open()).open(session="bob/7")
    assert other.messages(history_of("b", 1)) == history_of("b", 1)


class Interrupted:
    """A store to which another worker writes just before the first write."""

    def __init__(self, store, meanwhile):
        self._store, self._meanwhile, self.writes = store, meanwhile, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write_cell(self, *args):
        self.writes += 1
        if self.writes == 1:
            self._meanwhile()
        return self._store.write_cell(*args)


def test_of_two_workers_at_once_the_second_goes_on_from_the_first(database):
    alone = engine_of(ullage.MemoryStore()).open()
    first = alone.messages(history_of("a", 4), hard=True)
    both = alone.messages(history_of("a", 5))
    assert len(first) < len(history_of("a", 4))

    def answer_first():
        one = engine_of(database.open()).open(session="s")
        assert one.messages(history_of("a", 4), hard=True) == first

    store = Interrupted(database.open(), answer_first)
    two = engine_of(store).open(session="s")
    assert two.messages(history_of("a", 5)) == both
    assert store.writes == 2, "its first write came too late"
    assert engine_of(database.open()).open(session="s").messages(history_of("a", 5)) == both


def test_reported_tokens_alone_do_not_write_the_state_again(database):
    store = Interrupted(database.open(), lambda: None)
    view = engine_of(store).open(session="s")
    history = history_of("a", TURNS)
    for _ in range(3):
        view.messages(history)
        view.observe(view.tokens, 0)
    assert view.savings.requests == 3
    assert store.writes == 1


def test_a_refusal_is_known_to_the_next_worker(database):
    history = history_of("a", 3)
    one = engine_of(database.open()).open(session="s")
    one.messages(history)
    full = one.tokens
    other = engine_of(database.open()).open(session="s")
    other.messages([*history, {"role": "assistant", "content": "Done."}])
    one.refused()
    assert one.tokens <= 0.7 * full
    third = engine_of(database.open()).open(session="s")
    third.messages(history)
    assert third.tokens <= 0.7 * full
    assert third.ceiling == one.ceiling is not None


def test_a_state_that_goes_on_being_used_does_not_expire(database):
    history = history_of("a", TURNS)
    first = engine_of(database.open(keep_for=1.0)).open(session="s").messages(history)
    for _ in range(5):
        time.sleep(0.3)
        store = database.open(keep_for=1.0)
        assert engine_of(store).open(session="s").messages(history) == first
        store.clean([])
        assert store.read_cell("view/s") is not None
    time.sleep(1.1)
    database.open(keep_for=1.0).clean([])
    assert store.read_cell("view/s") is None


def test_an_async_worker_and_bytes_in_messages(database):
    import asyncio

    block = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n"}}}
    history = [{"role": "user", "content": [block, {"text": "look " * 4_000}]}]
    history += [
        {"role": ("assistant", "user")[turn % 2], "content": [{"text": f"{turn} " * 300}]}
        for turn in range(8)
    ]
    requests = [
        asyncio.run(engine_of(database.open()).open(session="s").amessages(history))
        for _ in range(2)
    ]
    assert requests[0] == requests[1]


@pytest.mark.parametrize("store", [None, ullage.MemoryStore()], ids=["none", "memory"])
def test_a_store_without_cells_is_refused(store):
    with pytest.raises(ullage.PolicyError, match=r"ullage\.stores\.SQLiteStore; got (None|Memory)"):
        engine_of(store).open(session="s")


def test_what_is_no_state_is_refused(database):
    store = database.open()
    with pytest.raises(ullage.PolicyError, match="not both"):
        engine_of(store).open({"view": {}, "messages": []}, session="s")
    store.write_cell("view/s", b"[1, 2]", None)
    with pytest.raises(ullage.MessageError, match="view/s in the store is not"):
        engine_of(store).open(session="s").messages(history_of("a", 1))


class Service:
    """Four workers, between which conversations move at every turn; some are killed at work.

    Args:
        code: The expression that opens the store.
        kill_one_in: A worker is killed at one of so many turns.
    """

    def __init__(self, code, kill_one_in):
        self._code, self._kill_one_in = code, kill_one_in
        self._random = random.Random(29)
        self._jobs: list[queue.Queue[Any]] = [queue.Queue() for _ in range(4)]
        self._lock = threading.Lock()
        self.kills = 0
        self.found: dict[tuple[str, int], Any] = {}

    def run(self, conversations, turns):
        self._turns, self._left = turns, len(conversations)
        for number, conversation in enumerate(conversations):
            self._jobs[number % 4].put((conversation, 1))
        workers = [threading.Thread(target=self._serve, args=(slot,)) for slot in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _started(self):
        return subprocess.Popen(
            [sys.executable, str(WORKER), self._code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _serve(self, slot):
        process = self._started()
        while (job := self._jobs[slot].get()) is not None:
            # One that failed by itself is noticed below.
            with suppress(OSError):
                process.stdin.write(json.dumps(job) + "\n")
                process.stdin.flush()
            with self._lock:
                is_killed = self._random.randrange(self._kill_one_in) == 0
                patience, away = self._random.random() * 0.03, self._random.randrange(1, 4)
            if is_killed:
                time.sleep(patience)
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                process, self.kills = self._started(), self.kills + 1
            elif line := process.stdout.readline():
                self.found[job] = json.loads(line)
                job = (job[0], job[1] + 1)
            else:
                self.found[job] = {"problems": ["the worker failed"]}
                job = (job[0], self._turns + 1)
            if job[1] <= self._turns:
                self._jobs[(slot + away) % 4].put(job)
                continue
            with self._lock:
                self._left -= 1
                if self._left == 0:
                    for jobs in self._jobs:
                        jobs.put(None)
        process.communicate()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "conversations", "turns"),
    [("sqlite", 10, TURNS), *(long(kind, 200, 12) for kind in CELLS)],
)
def test_conversations_survive_the_workers_that_answer_them(kind, conversations, turns, tmp_path):
    place = EVERY[kind](tmp_path)
    names = [f"c{number}" for number in range(conversations)]
    service = Service(place.code(), kill_one_in=20 if conversations < 50 else 100)
    service.run(names, turns)
    assert service.kills >= 2, "half of four"
    assert len(service.found) == conversations * turns
    budget = 3_000 - 300
    for name in names:
        alone = engine_of(ullage.MemoryStore())
        view, compacted = alone.open(), False
        for turn in range(1, turns + 1):
            found = service.found[name, turn]
            assert (found["problems"], found["missing"]) == ([], [])
            assert found["tokens"] <= budget
            # The same bytes as in one process that nobody killed; so prefixes stay as well.
            assert found == found_of(view, alone.store, history_of(name, turn))
            compacted = compacted or found["is_compacted"]
        assert compacted
