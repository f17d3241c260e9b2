"""A history whose host promises to append only is read no further than what is new."""

import sys
import threading
import weakref
from typing import Any

import pytest

import ullage

from .growing import WORDS, grown, turn

# Beyond 10,000 messages the very list that was counted is known again by some of them.
LONG = 10_400


# One object in many conversations, as a host has it that writes its requests as constants.
BEGIN = {"role": "user", "content": [{"text": "You are an agent. Begin."}]}
GO_ON = {"role": "user", "content": [{"text": "Go on."}]}


def answered(words: int) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"text": "word " * words}]}


def test_a_promised_history_counts_as_a_fresh_one():
    counter = ullage.TokenCounter()
    for messages in grown(20):
        fresh = ullage.TokenCounter().count_messages(messages)
        assert counter.count_messages(messages, append_only=True) == fresh
    del messages[5:]
    fresh = ullage.TokenCounter().count_messages(messages)
    assert counter.count_messages(messages, append_only=True) == fresh


def test_an_engine_whose_host_promises_compacts_as_any_other():
    policy = ullage.Policy(window=6_000, reserve_output=500, low=0.5)
    plain = ullage.ContextManager(policy)
    promised = ullage.ContextManager(policy, append_only=True)
    one: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault."}]
    other = [dict(message) for message in one]
    compacted = 0
    for number in range(60):
        one.extend(turn(number))
        other.extend(turn(number))
        reports = plain.compact(one), promised.compact(other)
        assert reports[0].tokens_after == reports[1].tokens_after
        compacted += reports[0].saved > 0
        assert one == other
    assert compacted >= 2


def test_a_promised_history_is_not_read_again():
    counter = ullage.TokenCounter()
    *_, messages = grown(8)
    before = counter.count_messages(messages, append_only=True)
    messages[4]["content"][0]["content"] = WORDS * 40
    assert counter.count_messages(messages, append_only=True) == before
    messages.extend(turn(8))
    new = counter.count_messages(messages, append_only=True) - before
    assert new == counter.count_messages(messages[-2:])
    assert counter.count_messages(messages) > before + new + 30 * counter.count(WORDS)


def test_an_edit_in_place_is_noticed_without_the_promise():
    counter = ullage.TokenCounter()
    *_, messages = grown(8)
    counter.count_messages(messages)
    messages[4]["content"][0]["content"] = WORDS * 40
    assert counter.count_messages(messages) == ullage.TokenCounter().count_messages(messages)


def test_a_conversation_that_begins_and_ends_alike_is_another_one():
    counter = ullage.TokenCounter()
    for words in (1, 50_000):
        messages = [BEGIN, answered(words), GO_ON]
        fresh = ullage.TokenCounter().count_messages(messages)
        assert counter.count_messages(messages, append_only=True) == fresh


def test_a_conversation_of_one_shared_message_is_not_any_that_begins_with_it():
    counter = ullage.TokenCounter()
    for messages in (
        [BEGIN],
        [BEGIN, answered(3)],
        [BEGIN, answered(99)],
        [BEGIN, answered(3), GO_ON],
    ):
        fresh = ullage.TokenCounter().count_messages(messages)
        assert counter.count_messages(messages, append_only=True) == fresh


def test_a_plan_that_the_host_applies_itself_changes_the_count():
    # Nothing is removed, so that the list is as long as before, and the first and the last message
    # are the same objects.
    policy = ullage.Policy(window=6_000, reserve_output=500, compress_to=60, stages=["compress"])
    engine = ullage.ContextManager(policy, append_only=True)
    *_, messages = grown(40)
    before = engine.counter.count_messages(messages, append_only=True)
    plan = engine.plan(messages, hard=True)
    messages[:] = plan.apply(messages)
    after = engine.counter.count_messages(messages, append_only=True)
    assert after == plan.tokens_after < before
    assert engine.compact(messages).tokens_before == after


def test_conversations_side_by_side_keep_their_counts():
    counter = ullage.TokenCounter()
    lists: list[list[dict[str, Any]]] = [[BEGIN] for _ in range(4)]
    for number in range(12):
        for messages in lists:
            messages += [answered(number), GO_ON]
            for length in (len(messages), len(messages) - 1):
                fresh = ullage.TokenCounter().count_messages(messages[:length])
                assert counter.count_messages(messages[:length], append_only=True) == fresh


def test_a_dropped_conversation_is_let_go_of():
    class Message(dict[str, Any]):
        """A dict that can be asked after."""

    counter = ullage.TokenCounter()
    messages = [Message(BEGIN), Message(GO_ON)]
    dropped = weakref.ref(messages[1])
    counter.count_messages(messages, append_only=True)
    del messages
    counter.count_messages([BEGIN], append_only=True)
    assert dropped() is None


def long_history() -> list[dict[str, Any]]:
    *_, messages = grown(LONG // 2 + 1)
    return messages


def promised(counter: ullage.TokenCounter, messages: list[dict[str, Any]]) -> int:
    return counter.count_messages(messages, append_only=True)


def test_a_long_history_counts_as_a_fresh_one_however_it_goes_on():
    counter, messages = ullage.TokenCounter(), long_history()
    fresh = counter.count_messages
    assert promised(counter, messages) == fresh(messages)
    for number in range(3):
        messages.extend(turn(LONG + number))
        assert promised(counter, messages) == fresh(messages)
    messages[-1] = {"role": "user", "content": WORDS * 50}
    assert promised(counter, messages) == fresh(messages)
    messages[0] = {"role": "user", "content": WORDS * 60}
    assert promised(counter, messages) == fresh(messages)
    del messages[101:]
    assert promised(counter, messages) == fresh(messages)


@pytest.mark.parametrize("place", [1, 3_333, LONG - 2])
def test_another_long_list_is_compared_whole(place):
    counter, messages = ullage.TokenCounter(), long_history()
    promised(counter, messages)
    other = list(messages)
    other[place] = {"role": other[place]["role"], "content": WORDS * 70}
    assert promised(counter, other) == counter.count_messages(other)


def test_a_plan_that_is_written_into_a_long_list_is_noticed_wherever_it_is():
    messages = long_history()
    # One result, which is none of those that are looked at on every turn.
    [block] = messages[5_002]["content"]
    block["content"] = "\n".join(f"{line}: {WORDS}" for line in range(3_000))
    size = ullage.TokenCounter().count_messages(messages)
    policy = ullage.Policy(window=size + 8_000, reserve_output=8_000, stages=["compress"])
    engine = ullage.ContextManager(policy, append_only=True)
    before = promised(engine.counter, messages)
    plan = engine.plan(messages, before - 20_000, hard=True)
    applied = plan.apply(messages)
    changed = [place for place, message in enumerate(messages) if applied[place] is not message]
    assert changed == [5_002]
    assert len(applied) == len(messages)
    messages[:] = applied
    assert promised(engine.counter, messages) == plan.tokens_after < before


def test_a_dropped_long_list_is_let_go_of():
    class Message(dict[str, Any]):
        """A dict that can be asked after."""

    counter = ullage.TokenCounter()
    messages: list[Any] = [*long_history(), Message(role="user", content=WORDS)]
    dropped = weakref.ref(messages[-1])
    promised(counter, messages)
    assert sys.getrefcount(dropped()) > 2
    del messages
    promised(counter, [BEGIN])
    assert dropped() is None


@pytest.mark.parametrize("requests", [300, LONG // 2])
def test_threads_that_count_one_growing_list_count_what_it_held(requests):
    counter = ullage.TokenCounter()
    *_, messages = grown(requests)
    turns = [turn(requests + number) for number in range(40)]
    counts = [counter.count_messages(messages)]
    for new in turns:
        counts.append(counts[-1] + counter.count_messages(new))
    wrong: list[int] = []
    finished = threading.Event()

    def count() -> None:
        while not finished.is_set():
            counted = promised(counter, messages)
            if counted not in counts:
                wrong.append(counted)

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for new in turns:
        messages.extend(new)
        promised(counter, messages)
    finished.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert promised(counter, messages) == counts[-1]


@pytest.mark.parametrize("named", ["anthropic", "ai-sdk", "bedrock"])
def test_a_format_that_was_named_once_is_told_by_the_messages_again_afterwards(named):
    def fresh(format_):
        return ullage.TokenCounter().count_messages(messages, format=format_)

    counter = ullage.TokenCounter()
    # A field that only Chat reads.
    thought = {"role": "assistant", "content": "Yes.", "reasoning_content": "Why not? " * 20}
    messages = [{"role": "user", "content": "May I?"}, thought]
    assert fresh(named) != fresh(None)
    for _ in range(3):
        for format_ in (named, None, None, named, named, None):
            count = counter.count_messages(messages, format=format_, append_only=True)
            assert count == fresh(format_)
        messages.append({"role": "user", "content": "Go on."})
