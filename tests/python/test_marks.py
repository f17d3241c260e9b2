"""A text can say of itself that it is stored: whether it is, only the store knows."""

import json
import re
from typing import Any

import pytest

import ullage
from tests.python.conversations import long_conversation, render
from tests.python.histories import history
from tests.python.judges import BLOCK, MESSAGE

POLICY = ullage.Policy(window=20_000, reserve_output=1_000, keep_recent=2, low=0.5)
FOREIGN = (
    "[ullage: report output of 90,000 characters is stored as report-0123456789abcdef;"
    " retrieve it by that reference]\n" + "a finding of the other session\n" * 3_000
)


def of_session(text):
    messages = render(long_conversation(8, 30), "bedrock")
    messages[2]["content"][0]["toolResult"]["content"] = [{"text": text}]
    return messages


def stored(store):
    return [store.get(reference).decode() for reference in store.list()]


def test_an_output_with_the_mark_of_another_session_is_stored_at_arrival():
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    shrunk = engine.shrink("read_file", FOREIGN)
    assert len(shrunk) < len(FOREIGN) / 10
    assert stored(store) == [FOREIGN]


def test_an_output_with_the_mark_of_another_session_is_stored_before_it_is_cut():
    store = ullage.MemoryStore()
    messages = of_session(FOREIGN)
    ullage.ContextManager(POLICY, store=store).compact(messages)
    everything = "".join(stored(store)) + json.dumps(messages)
    assert json.dumps(FOREIGN)[1:-1] in everything or FOREIGN in everything


def test_a_mark_of_this_session_is_believed_and_not_stored_again():
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    whole = "a finding of this session\n" * 3_000
    shrunk = engine.shrink("report", whole)
    assert engine.shrink("report", shrunk) is shrunk
    engine.compact(of_session(shrunk), hard=True)
    assert [text for text in stored(store) if "finding of this session" in text][:1] == [whole]
    assert sum(text.startswith("[ullage: ") for text in stored(store)) == 0


def test_what_was_retrieved_enters_whole_and_is_not_stored_again():
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    shrunk = engine.shrink("report", "a finding of this session\n" * 3_000)
    (reference,) = store.list()
    assert reference in shrunk
    piece = ullage.retrieve(store, reference, lines=(1, 700))
    assert ullage.count_tokens(piece) > POLICY.shrink_above
    assert engine.shrink("retrieve", piece) is piece
    assert store.list() == [reference]


@pytest.mark.parametrize("plan", ["plan", "compact", "view"])
def test_other_content_under_a_reference_gets_another_reference(plan):
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    first = engine.plan(of_session("x\n" * 9_000))
    taken = first.report()["references"]
    for reference in taken:
        store.put(b"something else", reference=reference)
    messages = of_session("x\n" * 9_000)
    if plan == "plan":
        assert engine.plan(messages).to_dict() == first.to_dict()
        return
    outcome = engine.view(messages) if plan == "view" else (engine.compact(messages), messages)[1]
    assert not any(reference in json.dumps(outcome) for reference in taken)
    assert any("x\nx\n" in text for text in stored(store))


@pytest.mark.parametrize("format", ["openai", "anthropic", "ai-sdk", "openai-responses"])
def test_the_string_of_a_user_stays_one_when_a_note_joins_it(format):
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store, format=format)
    messages: list[Any] = []
    task = "Which query is slow?"
    for turn in range(3):
        for step in range(40):
            words = f"Word {step} of turn {turn} is said at length. " * 20
            messages += [
                {"role": "user", "content": words if messages else task},
                {"role": "assistant", "content": words},
            ]
        report = engine.compact(messages, hard=True)
        assert report.removed_messages > 40
        first = messages[0]["content"]
        assert re.match(rf"{re.escape(task)}\n\n\d{{6}} ---\n\[ullage: ", first)
        assert first.count("[ullage: ") == 1, "a newer note takes the place of the older one"
        assert all(reference in first for reference in report.references)
        # The string takes no more than was counted for its two texts.
        counted = engine.counter.count_messages(messages[:1])
        assert ullage.count_tokens(first) + MESSAGE + BLOCK <= counted
        before = list(messages)
        engine.compact(messages, hard=True)
        assert messages == before
    # The messages that were removed first are found through the notes.
    assert any("of turn 0" in text for text in stored(store))


def test_a_user_or_a_tool_that_quotes_a_joined_note_writes_none():
    engine = ullage.ContextManager(POLICY)
    messages = history(200)
    engine.compact(messages, hard=True)
    joined = messages[0]["content"]
    for quoted in (f"What is this? {joined}", joined[len("First task") :], f"{joined}\nAnd this?"):
        later = [
            {"role": "user", "content": quoted},
            *history(200)[1:],
            {"role": "user", "content": quoted},
        ]
        engine.compact(later, hard=True)
        assert re.match(rf"{re.escape(quoted)}\n\n\d{{6}} ---\n", later[0]["content"])
        assert later[-1]["content"] == quoted


def test_any_number_of_sessions_that_say_the_same_share_a_store():
    store = ullage.MemoryStore()
    for run in range(8):
        messages = render(long_conversation(8, 30), "bedrock")
        for message in messages:
            message["metadata"] = {"usage": run}
        ullage.ContextManager(POLICY, store=store).compact(messages, 1_500)
        (reference,) = [r for r in store.list() if r in json.dumps(messages) and "transcript" in r]
        assert f'"usage":{run}' in store.get(reference).decode()
