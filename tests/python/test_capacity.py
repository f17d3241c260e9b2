"""A process that serves conversations in turn holds a bounded amount of memory."""

import gc
import pickle
import tracemalloc

import pytest

import ullage
from tests.python.store_worker import POLICY, history_of
from ullage._engine import artifact_writer, summarizer
from ullage._engine.lru_cache import LruCache
from ullage._engine.steps import run
from ullage._hosts import conversations, engines
from ullage._hosts.rows import SameRows
from ullage.stores import EncryptedStore, SQLiteStore, encrypted, shared

# Small limits, so that few conversations fill each cache.
REMEMBERED = 16
VIEW_BYTES = 100_000
# Conversations after which all caches are full, and as many again.
CONVERSATIONS = 40
# One conversation that was kept by mistake takes more, and so do the references of all of them.
GROWTH = 4_000


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    for module in (artifact_writer, encrypted, shared, summarizer):
        monkeypatch.setattr(module, "_REMEMBERED", REMEMBERED)


def sqlite(folder):
    return SQLiteStore(folder / "a.db", keep_for=86_400)


STORES = {
    "sqlite": sqlite,
    "encrypted": lambda folder: EncryptedStore(sqlite(folder), encrypt=bytes, decrypt=bytes),
    "file": lambda folder: ullage.FileStore(folder / "outputs", keep=20, clean_above=30),
}


def grown(serve):
    """Bytes by which Python's objects grow while a second lot of conversations is served."""
    tracemalloc.start()
    try:
        for number in range(CONVERSATIONS):
            serve(number)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(CONVERSATIONS, 2 * CONVERSATIONS):
            serve(number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", STORES)
def test_an_engine_that_serves_many_conversations_stays_bounded(kind, tmp_path):
    engine = ullage.ContextManager(
        POLICY,
        store=STORES[kind](tmp_path),
        summarizer=lambda request: f"In short: {request.text[:200]}",
        view_bytes=VIEW_BYTES,
    )
    kept = []

    def serve(number):
        history = history_of(f"c{number}", 6)
        assert len(engine.view_of(history).messages(history)) < len(history)
        kept.append(len(engine._views))

    assert grown(serve) < GROWTH
    assert max(kept) < CONVERSATIONS, "views were dropped"


def test_an_encrypted_store_caches_a_limited_number_of_bytes(monkeypatch):
    monkeypatch.setattr(encrypted, "_REMEMBERED_BYTES", 10_000)
    store = EncryptedStore(ullage.MemoryStore(), encrypt=bytes, decrypt=bytes)
    for number in range(10):
        reference = f"messages-{number:016x}"
        named = " ".join(f"run-{number}{other:015x}" for other in range(40))
        store.put(named.encode(), reference=reference)
        store._named_in(reference)
    # A reference takes 69 bytes.
    assert len(store._named) == 3


def test_a_cache_stays_within_its_bytes():
    cache: LruCache[str] = LruCache(10, most_bytes=100)
    for number in range(5):
        cache.put(number, str(number), size=30)
    assert [cache.get(number) for number in range(5)] == [None, None, "2", "3", "4"]
    cache.put(2, "larger", size=70)
    assert [cache.get(number) for number in (2, 3, 4)] == ["larger", None, "4"]
    cache.put(5, "larger than all", size=1_000)
    assert len(cache) == 1
    assert cache.take(5) == "larger than all"
    assert cache.take(5) is None
    cache.put(6, "small", size=90)
    assert cache.get(6) == "small"
    assert len(pickle.loads(pickle.dumps(cache))) == 0


def test_conversations_with_a_key_stay_within_their_bytes(monkeypatch):
    monkeypatch.setattr(conversations, "KEPT_BYTES", 500_000)
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    known = conversations.Conversations(SameRows())

    def serve(number):
        for turns in (3, 6):
            history = history_of(f"c{number}", turns)
            conversation, reading = known.of(engine, history, key=number)
            run(conversation.request(reading))

    for number in range(CONVERSATIONS):
        serve(number)
    kept = [number for number in range(CONVERSATIONS) if known.known(engine, number)]
    # Each has 23 messages of 3,700 bytes, and 15,000 bytes of text.
    assert kept == list(range(CONVERSATIONS - 5, CONVERSATIONS))


def test_a_leak_would_be_seen():
    held = []
    assert grown(lambda number: held.append(history_of(f"c{number}", 4))) > 10 * GROWTH


def test_a_host_that_names_many_models_has_engines_for_the_last_ones(monkeypatch):
    monkeypatch.setattr(engines, "MODELS", 4)
    made = engines.Engines(None, policy=POLICY, format="openai")
    first = made.of("model-0", None)
    assert made.of("model-0", None) is first
    assert grown(lambda number: made.of(f"model-{number}", None)) < GROWTH
    assert made.of("model-0", None) is not first
