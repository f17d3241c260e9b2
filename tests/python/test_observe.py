"""Reported usage corrects a counter, and whoever counts beside it does no harm."""

import os
import signal
import threading
from typing import Any

import pytest

import ullage

from .growing import WORDS, grown
from .lengths import long


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


@pytest.mark.parametrize(("other", "shares"), [("claude-opus-4-7", True), ("gemini-3-pro", False)])
def test_counters_of_one_family_learn_together(other, shares):
    counter = ullage.TokenCounter.for_model("claude-sonnet-4-5")
    second = ullage.TokenCounter.for_model(other, learn_with=counter)
    for messages in grown(15):
        counter.observe(messages, true_size(messages))
    assert counter.scale != 1.0
    assert second.scale == (counter.scale if shares else 1.0)


def test_the_first_request_of_a_conversation_does_not_trust_a_scale_below_one():
    counter = ullage.TokenCounter()
    for messages in grown(15):
        counter.observe(messages, ullage.TokenCounter().count_messages(messages) // 2)
    assert counter.scale < 0.7
    history = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} " + "word " * 900}
        for n in range(11)
    ]
    engine = ullage.ContextManager(
        ullage.Policy(window=10_000, reserve_output=500), counter=counter
    )
    first = engine.open().messages(history)
    assert ullage.TokenCounter().count_messages(first) <= 9_500 < len(history) * 900
    known = engine.open()
    known.messages(history[:1])
    known.observe(450)
    assert known.messages(history) == history, "this conversation taught it too"


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
    with pytest.raises(ullage.BudgetError, match="kept free, because the provider counts them"):
        engine.compact(long, pins=[0])


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("children", [4, long(60)])
def test_a_child_counts_whatever_threads_of_its_parent_did(children):
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
        for _ in range(children):
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
