"""Tests of the parts that the adapters share, without a host."""

from __future__ import annotations

import logging
from operator import itemgetter
from typing import Any

import pytest

import ullage
from ullage._engine.steps import run
from ullage._hosts.conversations import Conversations
from ullage._hosts.results import shrink_result
from ullage._hosts.rows import Reading, SameRows

from .provider import read_log


class ChatCodec:
    """For a host whose messages are dicts that it never changes."""

    stamp = itemgetter("content")

    def row(self, message: Any) -> Any:
        return {**message}

    def message(self, row: Any, original: Any) -> Any:
        return {**(original or {}), **row, "made": True}


def history(steps: int) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Why does the checkout fail?", "id": "u"}]
    for step in range(steps):
        function = {"name": "read_log", "arguments": "{}"}
        call = {"id": f"c{step}", "type": "function", "function": function}
        messages.append(
            {"role": "assistant", "content": "I look.", "tool_calls": [call], "id": f"a{step}"}
        )
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"c{step}",
                "content": read_log(step),
                "id": f"t{step}",
            }
        )
    return messages


def engine(**more: Any) -> ullage.ContextManager:
    policy = ullage.Policy(window=6_000, reserve_output=1_000)
    return ullage.ContextManager(policy, **{"store": ullage.MemoryStore(), **more})


def test_unchanged_messages_are_the_same_objects():
    own, messages = Conversations(ChatCodec()), history(20)
    conversation, reading = own.of(engine(), messages, key="k")
    sent = run(conversation.request(reading))
    known = set(map(id, messages))
    assert 0 < sum(id(message) in known for message in sent) < len(sent)
    assert all(message.get("made") for message in sent if id(message) not in known)


def test_what_the_engine_made_is_made_once():
    own, messages, decides = Conversations(ChatCodec()), history(20), engine()
    requests = []
    for _ in range(2):
        conversation, reading = own.of(decides, messages, key="k")
        requests.append(run(conversation.request(reading)))
    assert list(map(id, requests[0])) == list(map(id, requests[1]))


def test_an_edited_message_is_read_again():
    codec, messages = ChatCodec(), history(2)
    before = Reading(codec, messages)
    messages[2]["content"] = "It was edited."
    after = Reading(codec, messages, before)
    assert after.rows[2]["content"] == "It was edited."
    same = [new is old for new, old in zip(after.rows, before.rows, strict=True)]
    assert same == [True, True, False, True, True]


def test_a_state_of_another_conversation_is_not_used(caplog):
    own, decides = Conversations(ChatCodec()), engine()
    conversation, reading = own.of(decides, history(20), key="k")
    run(conversation.request(reading))
    saved = conversation.saved(None)
    other = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}]
    other += [{"role": "user", "content": "Who are you?"}]
    with caplog.at_level(logging.WARNING):
        conversation, reading = own.of(decides, other, key="another", saved=saved)
    assert "the saved state cannot be used" in caplog.text
    assert [m["content"] for m in run(conversation.request(reading))] == [
        m["content"] for m in other
    ]


@pytest.mark.parametrize("saved", [{}, {"mark": "m"}, {"mark": "m", "state": {"view": 3}}])
def test_a_damaged_state_is_not_used(saved, caplog):
    with caplog.at_level(logging.WARNING):
        conversation, reading = Conversations(ChatCodec()).of(engine(), history(2), "k", saved)
    assert "the saved state cannot be used" in caplog.text
    assert len(run(conversation.request(reading))) == 5


def test_the_state_of_another_process_takes_precedence():
    here, there, decides = Conversations(ChatCodec()), Conversations(ChatCodec()), engine()
    messages, kept = history(20), None
    for own in (here, there, here):
        messages += history(12)[1:]
        conversation, reading = own.of(decides, messages, key="k", saved=kept)
        sent = run(conversation.request(reading))
        kept = conversation.saved(kept) or kept
    # `here` goes on from what `there` compacted in between.
    conversation, reading = there.of(decides, messages, key="k", saved=kept)
    assert run(conversation.request(reading)) == sent


def test_conversations_without_a_key_are_found_by_their_beginning():
    own, decides = Conversations(ChatCodec()), engine()
    first, _ = own.of(decides, history(3))
    run(first.request(_))
    second, _ = own.of(decides, history(4))
    assert second._view is first._view


class Broken:
    def put(self, *_: Any) -> str:
        raise OSError("the disk is full")

    def get(self, reference: str) -> bytes:
        raise KeyError(reference)


def test_a_store_that_fails_does_not_end_the_run(caplog):
    decides = engine(store=Broken())
    conversation, reading = Conversations(ChatCodec()).of(decides, history(20), key="k")
    with caplog.at_level(logging.WARNING):
        sent = run(conversation.request(reading))
    assert decides.counter.count_messages(sent) <= 5_000
    assert "compacted without the store" in caplog.text
    long = "\n".join(read_log(part) for part in range(90))
    with caplog.at_level(logging.ERROR):
        assert run(shrink_result(decides, "read_log", long)) is long
    assert "the result was left as it is" in caplog.text


@pytest.mark.parametrize(
    ("codec", "key"), [pytest.param(ChatCodec, "k", id="key"), pytest.param(SameRows, None, id="")]
)
def test_copies_of_known_messages_are_not_read_again(codec, key):
    """OpenAI's SDK makes its items anew for each request, of the same texts."""
    policy = ullage.Policy(window=100_000, reserve_output=1_000)
    own, decides, messages = Conversations(codec()), ullage.ContextManager(policy), history(3)
    conversation, before = own.of(decides, messages, key=key)
    run(conversation.request(before))
    messages = [{**message} for message in messages] + history(1)[1:]
    again, after = own.of(decides, messages, key=key)
    assert again is conversation
    sent = run(again.request(after))
    assert all(new is old for new, old in zip(after.rows, before.rows, strict=False))
    # The host's own objects are sent, not the known ones.
    assert list(map(id, sent)) == list(map(id, messages))


def test_the_form_of_a_conversation_may_show_later():
    own, decides = Conversations(SameRows()), engine()
    items: list[Any] = [{"role": "user", "content": "Go."}]
    call = {"type": "function_call", "call_id": "c", "name": "read_log", "arguments": "{}"}
    for more in ([], [call, {"type": "function_call_output", "call_id": "c", "output": "x"}]):
        items += more
        conversation, reading = own.of(decides, items)
        assert run(conversation.request(reading)) == items


def test_branches_without_a_key_are_sent_as_a_process_sends_them_that_knows_no_rows():
    known, decides, apart = Conversations(SameRows()), engine(), engine()
    branches: list[list[Any]] = [history(15), history(15), history(12)]
    for step in range(40):
        branch = branches[step % 3]
        branch += history(2)[1:]
        branch[-1] = {**branch[-1], "content": f"{step % 3}: {branch[-1]['content']}"}
        given = [{**message} for message in branch]
        requests = []
        for own, decider in ((known, decides), (Conversations(SameRows()), apart)):
            conversation, reading = own.of(decider, given)
            requests.append(run(conversation.request(reading)))
        assert requests[0] == requests[1]
    assert len(requests[0]) < len(given)


def test_a_message_that_was_edited_in_place_is_read_again_without_a_key():
    own, decides, messages = Conversations(SameRows()), engine(), history(3)
    conversation, reading = own.of(decides, messages)
    run(conversation.request(reading))
    messages[2]["content"] = "It was edited."
    conversation, reading = own.of(decides, [*messages, {"role": "user", "content": "And?"}])
    sent = run(conversation.request(reading))
    assert "It was edited." in str(sent)
    assert conversation.tokens == decides.counter.count_messages(sent)


class SealedCodec(ChatCodec):
    """A codec whose rows are JSON-like only once they are dumped."""

    def dump(self, row: Any) -> Any:
        return {"sealed": row}

    def load(self, dumped: Any) -> Any:
        return dumped["sealed"]


class FailingLater(Broken):
    """A store whose disk is full after the first compaction."""

    def __init__(self) -> None:
        self.stored: list[str] = []

    def put(self, *_: Any, **named: Any) -> str:
        if len(self.stored) > 3:
            raise OSError("the disk is full")
        self.stored.append(named["reference"])
        return self.stored[-1]


def test_without_the_store_the_state_is_loaded_as_it_was_dumped(caplog):
    decides, own, messages = engine(store=FailingLater()), Conversations(SealedCodec()), history(0)
    with caplog.at_level(logging.WARNING):
        for _ in range(60):
            messages += history(1)[1:]
            conversation, reading = own.of(decides, messages, key="k")
            sent = run(conversation.request(reading))
    assert "compacted without the store" in caplog.text
    assert all("role" in message for message in sent)


def test_what_must_stay_is_sent_even_if_it_does_not_fit(caplog):
    messages = [{"role": "user", "content": "Why does the checkout fail? " * 30}]
    conversation, reading = Conversations(ChatCodec()).of(engine(), messages, key="k")
    with caplog.at_level(logging.WARNING):
        assert len(run(conversation.request(reading, system="Be brief. " * 1_700))) == 1
    assert "the request stays above its budget" in caplog.text


def test_a_thousand_messages_take_less_than_a_millisecond():
    from statistics import median
    from time import perf_counter

    policy = ullage.Policy(window=2_000_000, reserve_output=1_000)
    decides = ullage.ContextManager(policy, store=ullage.MemoryStore())
    own, messages, took = Conversations(ChatCodec()), history(500), []
    for number in range(40):
        messages += [{"role": "assistant", "content": "Yes."}]
        messages += [{"role": "user", "content": f"And {number}?"}]
        given = list(messages)
        start = perf_counter()
        conversation, reading = own.of(decides, given, key="k")
        sent = run(conversation.request(reading))
        took.append(perf_counter() - start)
        assert len(sent) == len(given)
    # The first reads all of it. The bound is twice the promise: other work may share the machine.
    assert median(took[1:]) < 0.002
