"""Copies of engines and of what they are made of, in this process and for another."""

import copy
import pickle
from functools import partial

import pytest

import ullage

from .conversations import long_conversation, render

COPIES = [
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
    pytest.param(lambda value: pickle.loads(pickle.dumps(value)), id="pickle"),
]
REFERENCE = "read_file-3f9a0b12c4d5e6f7"


def messages():
    return render(long_conversation(20), "anthropic")


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize(
    "make",
    [
        partial(ullage.TokenCounter, "cl100k_base"),
        partial(ullage.TokenCounter.for_model, "claude-sonnet-4-5"),
        partial(ullage.TokenCounter.with_ratio, 3.5),
        partial(ullage.TokenCounter.with_ratio, "claude"),
        partial(ullage.TokenCounter.preset, "cyber-autoagent", "gpt-4o"),
    ],
    ids=["encoding", "model", "ratio", "named-ratio", "preset"],
)
def test_a_copied_counter_counts_the_same(make, copied):
    counter, bedrock = make(), render(long_conversation(4), "bedrock")
    twin = copied(counter)
    assert twin.name == counter.name
    assert twin.count("one two three" * 20) == counter.count("one two three" * 20)
    assert twin.count_messages(bedrock) == counter.count_messages(bedrock)


class Counter(ullage.TokenCounter):
    pass


def test_a_counter_of_a_subclass_is_not_pickled_as_another_class():
    with pytest.raises(TypeError, match="__reduce__"):
        pickle.dumps(Counter())
    counter = Counter()
    assert copy.deepcopy(counter) is counter


@pytest.mark.parametrize("copied", COPIES)
def test_a_copied_store_has_the_content(copied, tmp_path):
    memory = ullage.MemoryStore()
    memory.put(b"\x00 content", reference=REFERENCE)
    twin = copied(memory)
    assert twin.get(REFERENCE) == b"\x00 content"
    memory.put(b"more", reference="read_file-0000000000000000")
    assert len(twin.list()) == 1, "a copy of a store in memory is one of its own"
    files = ullage.FileStore(tmp_path, "a session", keep=1, clean_above=1)
    files.put(b"content", reference=REFERENCE)
    twin = copied(files)
    assert (twin.get(REFERENCE), twin.folder, twin.session) == (b"content", tmp_path, "a session")
    twin.put(b"other", reference="read_file-0000000000000000")
    assert len(twin.clean([], spare_own=False)) == 1, "it has the limits of the first"


@pytest.mark.parametrize("copied", COPIES)
def test_a_copied_engine_compacts_alike(copied, tmp_path):
    engine = ullage.ContextManager(
        ullage.Policy(window=4_000, reserve_output=500),
        store=ullage.FileStore(tmp_path),
        model="claude-sonnet-4-5",
        summarizer=str,
    )
    engine.system = "Be brief."
    twin = copied(engine)
    assert (twin.policy, twin.system, twin.store.folder) == (engine.policy, "Be brief.", tmp_path)
    assert twin.view(messages()) == engine.view(messages())


def test_an_engine_with_a_recorder_is_copied_but_not_pickled():
    engine = ullage.ContextManager(recorder=ullage.Recorder())
    assert copy.deepcopy(engine).recorder is engine.recorder
    with pytest.raises(TypeError, match="in another process"):
        pickle.dumps(engine)


def test_a_view_says_how_it_is_kept():
    view = ullage.ContextManager().open()
    with pytest.raises(TypeError, match="state"):
        pickle.dumps(view)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copied_tracker_has_the_usage_and_counts_separately(copied):
    catalog = ullage.ModelCatalog(prices={"mine": {"input": 1.0, "output": 2.0}})
    tracker = ullage.UsageTracker(500, catalog=catalog)
    tracker.record("s", "agent", "mine", ullage.Usage(1, 100, 10))
    twin = copied(tracker)
    assert (twin.usage("s"), twin.cost(), twin.budget) == (tracker.usage("s"), tracker.cost(), 500)
    twin.record("s", "agent", "mine", ullage.Usage(1, 1, 1))
    assert tracker.usage("s").total == 110
    assert (twin.usage("s").total, twin.usage().total) == (112, 112)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copied_catalog_finds_the_same(copied):
    catalog = ullage.ModelCatalog(overrides={"mine": {"window": 9_000}}, litellm="auto")
    assert copied(catalog).limits("mine") == catalog.limits("mine")
    assert copied(catalog).limits("gpt-4o") == catalog.limits("gpt-4o")


def test_a_conversation_says_how_it_is_kept():
    with pytest.raises(TypeError, match="keep its messages"):
        pickle.dumps(ullage.Conversation(messages()))


def test_every_object_says_what_it_is(tmp_path):
    engine = ullage.ContextManager()
    view = engine.open()
    view.messages(messages())
    objects = [
        engine,
        view,
        engine.plan(messages()),
        ullage.Conversation(messages()),
        ullage.MemoryStore(),
        ullage.FileStore(tmp_path),
        ullage.Policy(),
        ullage.TokenCounter(),
        ullage.ModelCatalog(overrides={"mine": {"window": 9_000}}),
        ullage.Recorder(),
        ullage.RetrievalTool(ullage.MemoryStore()),
        ullage.Transcript(tmp_path / "transcript.jsonl"),
        ullage.UsageTracker(),
        ullage.Economics(),
    ]
    for value in objects:
        assert " object at 0x" not in repr(value), type(value).__name__
    assert "mine" in repr(objects[8])
    assert repr(view).startswith(f"View({len(messages())} messages, ")
