"""Reported usage corrects a counter, and a promised history is read no further than what is new."""

import os
import signal
import threading
import weakref
from typing import Any

import pytest

import ullage

WORDS = "The handler reads the file, finds the line that fails and says so. "


def turn(number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "bash", "input": {"command": WORDS}}
    result = {
        "type": "tool_result",
        "tool_use_id": f"c{number}",
        "content": WORDS * (number % 9 + 1),
    }
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


def grown(requests: int):
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault."}]
    for number in range(requests):
        yield messages
        messages.extend(turn(number))


def true_size(messages: list[dict[str, Any]]) -> int:
    """A provider that counts 1.3 times what o200k_base makes of it, and 15,000 tokens beside."""
    return int(ullage.TokenCounter().count_messages(messages) * 1.3) + 15_000


@pytest.mark.parametrize("append_only", [False, True])
def test_after_ten_requests_a_count_is_near_to_the_report(append_only):
    counter = ullage.TokenCounter.for_model("claude-sonnet-4-5")
    for number, messages in enumerate(grown(25)):
        true = true_size(messages)
        if number >= 10:
            counted = counter.count_messages(messages, append_only=append_only)
            assert abs(counted - true) / true < 0.04
        assert counter.observe(messages, true, append_only=append_only)
    assert counter.scale != 1.0


def test_a_wild_report_is_ignored_and_an_odd_one_outvoted():
    counter = ullage.TokenCounter.for_model("claude-sonnet-4-5")
    for messages in grown(15):
        counter.observe(messages, true_size(messages))
    before = counter.count_messages(messages)
    for wild in (0, 10**9, 2**70):
        assert not counter.observe(messages, wild)
    counter.observe(messages, 3 * before)
    assert abs(counter.count_messages(messages) - before) / before < 0.04


@pytest.mark.parametrize("model", [None, "gpt-4o"])
def test_an_exact_counter_stays_exact_for_texts(model):
    counter = ullage.TokenCounter() if model is None else ullage.TokenCounter.for_model(model)
    for messages in grown(15):
        counter.observe(messages, true_size(messages))
    assert counter.scale > 1.2
    assert counter.count(WORDS) == ullage.count_tokens(WORDS)
    assert counter.fits(WORDS, ullage.count_tokens(WORDS))


def test_an_engine_keeps_the_room_that_the_provider_reported():
    engine = ullage.ContextManager(ullage.Policy(window=60_000, reserve_output=1_000))
    for messages in grown(15):
        assert engine.observe(messages, true_size(messages))
    status = engine.status(messages)
    assert abs(status.fixed - 15_000) < 500
    assert status.available == 60_000 - 1_000 - status.fixed


def test_one_wild_first_report_takes_no_room():
    engine = ullage.ContextManager()
    messages = [{"role": "user", "content": "Find the fault in the handler and say where it is."}]
    before = engine.status(messages)
    assert engine.observe(messages, 200_000)
    assert engine.status(messages) == before
    engine.compact(messages)


@pytest.mark.parametrize("wild", [[0, 1], [1], [0], [0, 1, 2, 3, 4]])
def test_wild_reports_leave_room_to_work_in(wild):
    engine = ullage.ContextManager(model="claude-sonnet-4-5")
    for number, messages in enumerate(grown(5)):
        reported = 195_000 + number if number in wild else true_size(messages)
        assert engine.observe(messages, reported)
        assert engine.status(messages).available >= 192_000 // 4
        engine.compact(messages)


def test_a_refusal_says_that_room_was_learned():
    engine = ullage.ContextManager(ullage.Policy(window=20_000, reserve_output=1_000))
    for messages in grown(5):
        engine.observe(messages, true_size(messages))
    long = [{"role": "user", "content": "Find the fault." + WORDS * 1_000}]
    for _ in range(3):
        engine.observe(long, true_size(long))
    with pytest.raises(ullage.BudgetError, match="kept free for what the provider has reported"):
        engine.compact(long)


def test_a_shorter_history_is_something_after_reports_below_the_count():
    counter = ullage.TokenCounter.with_ratio("sre-agent")
    *_, messages = grown(40)
    count = counter.count_messages(messages)
    for _ in range(3):
        counter.observe(messages, count * 6 // 10)
    assert counter.count_messages(messages) == count * 6 // 10
    shorter = counter.count_messages(messages[:9])
    fresh = ullage.TokenCounter.with_ratio("sre-agent").count_messages(messages[:9])
    assert shorter == pytest.approx(fresh * 0.6, abs=1)


def test_a_conversation_is_known_again_after_its_first_message_was_given_a_note():
    engine = ullage.ContextManager(ullage.Policy(window=24_000, reserve_output=1_000))
    for messages in grown(15):
        engine.observe(messages, true_size(messages))
    before = engine.status(messages).fixed
    assert abs(before - 15_000) < 500
    report = engine.compact(messages, 900, hard=True)
    assert "window" in report.stages
    assert "removed" in str(messages[0])
    assert engine.status(messages).fixed == before


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


@pytest.mark.parametrize("append_only", [False, True])
def test_what_stands_beside_the_messages_is_counted_again_where_it_is_replaced(append_only):
    engine = ullage.ContextManager(system=WORDS, append_only=append_only)
    *_, messages = grown(3)

    def fixed(**beside):
        available = engine.compact(messages, **beside).budget
        assert available == engine.status(messages, **beside).available
        return 200_000 - 8_000 - available

    words, counts = fixed(), ullage.TokenCounter().count
    assert words == fixed() == counts(WORDS)
    assert fixed(system=WORDS * 2) == counts(WORDS * 2)
    engine.system = WORDS * 3
    assert fixed() == counts(WORDS * 3)
    engine.tools = [{"name": "bash"}]
    assert fixed() > counts(WORDS * 3)
    before = fixed()
    for request in grown(15):
        engine.counter.observe([{"role": "user", "content": WORDS}, *request], true_size(request))
    assert engine.counter.scale > 1.2
    assert fixed() == pytest.approx(before * engine.counter.scale, abs=2)


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


@pytest.mark.parametrize("name", sorted(ullage.TokenCounter.RATIOS))
def test_a_named_ratio_counts_characters(name):
    ratio = ullage.TokenCounter.RATIOS[name]
    expected = -(-37_000 * 100 // round(ratio * 100))
    assert ullage.TokenCounter.with_ratio(name).count("x" * 37_000) == expected
    assert ullage.TokenCounter.with_ratio(ratio).count("x" * 37_000) == expected


@pytest.mark.parametrize("ratio", [0.125, 1 / 3, 2.345678, 999.5])
def test_a_ratio_counts_as_it_is_given(ratio):
    count = ullage.TokenCounter.with_ratio(ratio).count("x" * 30_000)
    assert count == pytest.approx(30_000 / ratio, rel=1e-5, abs=1)


@pytest.mark.parametrize(
    "ratio", [0, -1, 10**400, -(10**400), 0.01, 1e9, float("nan"), float("inf"), "no-such"]
)
def test_a_ratio_that_makes_no_sense_is_refused(ratio):
    with pytest.raises(ullage.PolicyError, match="ratio"):
        ullage.TokenCounter.with_ratio(ratio)


@pytest.mark.parametrize("ratio", [True, None, [4.0]])
def test_a_ratio_of_another_kind_is_refused(ratio):
    with pytest.raises(TypeError):
        ullage.TokenCounter.with_ratio(ratio)


def test_a_request_counts_its_system_prompt_and_its_tools():
    counter = ullage.TokenCounter()
    *_, messages = grown(3)
    alone = counter.count_messages(messages)
    tools = [{"name": "bash", "description": WORDS}]
    request = counter.count_messages(messages, system=WORDS, tools=tools)
    assert request > alone + 2 * counter.count(WORDS) - 1


# One object in many conversations, as a host has it that writes its requests as constants.
BEGIN = {"role": "user", "content": [{"text": "You are an agent. Begin."}]}
GO_ON = {"role": "user", "content": [{"text": "Go on."}]}


def answered(words: int) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"text": "word " * words}]}


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_counts_whatever_threads_of_its_parent_did():
    counter, stopped = ullage.TokenCounter(), threading.Event()
    *_, messages = grown(400)
    counter.count_messages(messages)

    def count() -> None:
        while not stopped.is_set():
            counter.count_messages(messages)

    threads = [threading.Thread(target=count) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(60):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                counter.count_messages(messages)
                counter.observe(messages, 9_000)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
