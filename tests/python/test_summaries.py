"""Summaries by the host: plain, async, in the background, and whatever goes wrong with them."""

# mypy: disable-error-code="no-untyped-def,type-arg,arg-type"

import asyncio
import contextlib
import contextvars
import gc
import json
import logging
import os
import signal
import threading
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

from .conversations import FORMATS, long_conversation, render
from .judges import Snapshot, count, faults

SMALL: dict[str, Any] = {
    "window": 6_000,
    "reserve_output": 1_000,
    "summary_tokens": 300,
    "summary_lines": 80,
    "summary_ratio": 1.0,
    "summary_input": 3_000,
}
POLICY = ullage.Policy(**SMALL)


def engine_of(summarizer, **settings) -> ullage.ContextManager:
    policy = ullage.Policy(**SMALL | settings)
    return ullage.ContextManager(policy, store=ullage.MemoryStore(), summarizer=summarizer)


def wordy(turns: int, name: str = "x") -> list[dict]:
    """A talk of words only, of which a compaction has to remove messages."""
    roles = ("user", "assistant")
    return [
        {"role": roles[i % 2], "content": [{"text": f"{name} turn_{i} says " + "words " * 90}]}
        for i in range(turns)
    ]


@pytest.fixture
def messages() -> list[dict]:
    return wordy(61)


def plainly(request: ullage.SummaryRequest) -> str:
    return "They agreed on port_8443."


async def later(request: ullage.SummaryRequest) -> str:
    await asyncio.sleep(0)
    return "They agreed on port_8443."


def indirectly(request: ullage.SummaryRequest):
    return later(request)


class Model:
    async def __call__(self, request: ullage.SummaryRequest) -> str:
        return await later(request)


WAYS = [plainly, later, indirectly, Model(), partial(later)]


@pytest.mark.parametrize("way", WAYS)
def test_any_kind_of_summarizer_is_asked(way, messages):
    report = engine_of(way).compact(messages)
    assert "They agreed on port_8443." in json.dumps(messages)
    assert report.summary is not None
    assert report.summary.by == "summarizer"
    assert report.tokens_after == count(messages) <= 5_000
    assert faults(messages) == []
    assert report.warnings == []


@pytest.mark.parametrize("way", WAYS)
def test_any_kind_is_asked_beside_a_loop(way, messages):
    async def main():
        engine = engine_of(way)
        plain = wordy(61)
        return await engine.acompact(messages), engine.compact(plain), plain

    beside, within, plain = asyncio.run(main())
    assert beside.summary == within.summary
    assert messages == plain
    assert "port_8443" in json.dumps(messages)


def test_the_request_says_what_is_needed(messages):
    seen: list[ullage.SummaryRequest] = []

    def summarizer(request):
        seen.append(request)
        return "Fine."

    before = Snapshot(messages)
    report = engine_of(summarizer).compact(messages)
    (request,) = seen
    assert len(request.messages) == report.removed_messages
    assert all(any(m is old for old in before.objects) for m in request.messages)
    newest = request.messages[-1]["content"][0]["text"]
    assert newest.strip() in request.text
    assert request.previous == ""
    assert 0 < request.max_words < request.max_tokens <= 300
    assert ullage.count_tokens(request.text) <= 3_000
    assert str(request) == f"{request.system}\n\n{request.prompt}"
    assert request.text.strip() in request.prompt


def test_nothing_is_asked_where_nothing_goes():
    def summarizer(request):
        raise AssertionError("nobody asked")

    engine = engine_of(summarizer)
    assert engine.compact(wordy(5)).summary is None
    report = engine.compact(render(long_conversation(30, 50), "bedrock"), budget=60_000, hard=True)
    assert report.warnings == []


def raises(error):
    def summarizer(request):
        raise error

    return summarizer


async def sleepy(request):
    await asyncio.sleep(30)


def lazy(request):
    time.sleep(1)
    return "late"


FAILURES = [
    (raises(RuntimeError("no quota")), "RuntimeError: no quota"),
    (raises(StopIteration("done")), "StopIteration: done"),
    (raises(TimeoutError("read")), "TimeoutError: read"),
    (sleepy, "no answer within 0.1 seconds"),
    (lazy, "no answer within 0.1 seconds"),
    (lambda request: "", "it returned no text"),
    (lambda request: " \n\t", "it returned no text"),
    (lambda request: None, "it returned NoneType, not text"),
    (lambda request: b"bytes", "it returned bytes, not text"),
]


@pytest.mark.parametrize(("summarizer", "reason"), FAILURES)
@pytest.mark.parametrize("beside", [False, True])
def test_a_failure_gives_an_account_and_a_line(summarizer, reason, beside, messages, caplog):
    engine = engine_of(summarizer, summary_timeout=0.1)
    with caplog.at_level(logging.WARNING, logger="ullage"):
        report = asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)
    assert report.summary is not None
    assert report.summary.by == "engine"
    (line,) = report.warnings
    assert line.startswith("the summary was made without a model: ")
    assert reason in line
    assert any(reason in record.getMessage() for record in caplog.records)
    assert "told without a model" in json.dumps(messages)
    assert report.tokens_after == count(messages) <= 5_000


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_is_no_exception_passes_through(error, messages):
    before = Snapshot(messages)
    with pytest.raises(error):
        engine_of(raises(error())).compact(messages)
    assert messages == before.objects


def test_a_cancelled_compaction_leaves_the_messages(messages):
    async def main():
        task = asyncio.create_task(engine_of(sleepy).acompact(messages))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = Snapshot(messages)
    asyncio.run(main())
    assert messages == before.objects


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it cannot be said")


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MuteError(), "MuteError"),
        (type("MuteStop", (MuteError, StopIteration), {})(), "MuteStop"),
        (ValueError("a\nb\r\n\x1b[1m\u2028c \ud800d"), "ValueError: a b [1m c d"),
        (ValueError("x\n" * 50_000), "ValueError: x x x"),
    ],
)
def test_whatever_an_error_says_becomes_a_bounded_line(error, reason, beside, messages):
    engine = engine_of(raises(error))
    report = asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)
    (line,) = report.warnings
    assert reason in line
    assert len(line) < 500
    assert line.isprintable()


def test_one_that_swallows_its_cancellation_is_left_behind(messages, caplog):
    async def deaf(request):
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.1)
        raise RuntimeError("nobody listens")

    async def main():
        start = time.monotonic()
        report = await engine_of(deaf, summary_timeout=0.1).acompact(messages)
        return report, time.monotonic() - start

    with caplog.at_level(logging.ERROR, logger="asyncio"):
        report, seconds = asyncio.run(main())
        gc.collect()
    assert seconds < 1
    assert "no answer within 0.1 seconds" in report.warnings[0]
    assert caplog.records == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes_to_who_waits_beside_a_loop(error, messages):
    async def leaving(request):
        raise error

    async def main():
        for way in (leaving, raises(error())):
            with pytest.raises(error):
                await engine_of(way).acompact(messages)
        return "went on"

    before = Snapshot(messages)
    assert asyncio.run(main()) == "went on"
    assert messages == before.objects


def test_a_huge_answer_is_not_remembered(messages):
    calls = []

    def answering(answer, request):
        calls.append(request)
        return answer

    for answer, asked in (("Sentence by sentence. " * 50_000, 2), ("Sentence. " * 100, 1)):
        calls.clear()
        engine = engine_of(partial(answering, answer))
        assert engine.view(messages) == engine.view(list(messages))
        assert len(calls) == asked


def test_required_means_required(messages):
    with pytest.raises(ullage.PolicyError, match="needs a summarizer"):
        engine_of(None, summaries="required")
    before = Snapshot(messages)
    engine = engine_of(raises(RuntimeError("no quota")), summaries="required")
    with pytest.raises(ullage.SummaryError, match="RuntimeError: no quota"):
        engine.compact(messages)
    with pytest.raises(ullage.SummaryError):
        asyncio.run(engine.acompact(messages))
    assert messages == before.objects
    assert engine_of(plainly, summaries="required").compact(messages).summary is not None


def test_always_needs_no_summarizer(messages):
    report = engine_of(None, summaries="always").compact(messages)
    assert report.summary is not None
    assert report.summary.by == "engine"
    assert "there is no summarizer" in report.warnings[0]
    assert ullage.ContextManager(POLICY).compact(wordy(61)).summary is None


def test_a_summarizer_that_is_not_callable_is_refused():
    with pytest.raises(ullage.PolicyError, match="summarizer: a int cannot be called"):
        ullage.ContextManager(summarizer=3)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("summaries", "never"),
        ("summary_prompt", "other"),
        ("summary_tokens", 0),
        ("summary_ratio", 0.0),
        ("summary_timeout", 0.0),
        ("summary_timeout", 1e9),
        ("summary_ahead", 1.5),
    ],
)
def test_a_setting_out_of_range_is_named(setting, value):
    with pytest.raises(ullage.PolicyError, match=setting):
        ullage.Policy(**{setting: value})


def test_an_agent_that_summarizes_with_itself_is_not_asked_twice():
    calls = []

    def summarizer(request):
        calls.append(request)
        inner = wordy(61, "inner")
        report = engine.compact(inner)
        assert "the summarizer itself asked for one" in report.warnings[0]
        return "Fine."

    async def asummarizer(request):
        return summarizer(request)

    for way in (summarizer, asummarizer):
        engine = engine_of(way)
        engine.compact(wordy(61))
        asyncio.run(engine.acompact(wordy(61, "b")))
    assert len(calls) == 4


def test_the_summarizer_sees_the_context_of_its_caller(messages):
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")
    engine_of(lambda request: f"for {tenant.get()}").compact(messages)
    assert "for acme" in json.dumps(messages)


def test_nothing_is_locked_while_it_runs():
    gate = threading.Event()

    def summarizer(request):
        assert gate.wait(10)
        return "Fine."

    engine = engine_of(summarizer)
    first = threading.Thread(target=engine.compact, args=(wordy(61),))
    first.start()
    other = wordy(5)
    assert engine.compact(other).saved == 0
    assert engine.status(other).tokens > 0
    gate.set()
    first.join(10)
    assert not first.is_alive()


def test_threads_share_a_summarizer_each_with_its_own_list():
    engine = engine_of(lambda request: f"It was {request.messages[-1]['content'][0]['text'][:3]}")
    lists = [wordy(61, f"a{i:02}") for i in range(8)]
    threads = [threading.Thread(target=engine.compact, args=(m,)) for m in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, m in enumerate(lists):
        assert f"It was a{i:02}" in json.dumps(m)
        assert faults(m) == []


def test_messages_that_come_meanwhile_are_kept(messages):
    news = {"role": "assistant", "content": [{"text": "news"}]}

    def summarizer(request):
        messages.append(news)
        return "Fine."

    engine_of(summarizer).compact(messages)
    assert messages[-1] is news


def test_a_huge_answer_is_cut_and_said_so(messages):
    report = engine_of(lambda request: "Sentence by sentence. " * 50_000).compact(messages)
    assert "was cut" in report.warnings[0]
    assert report.tokens_after == count(messages) <= 5_000


def test_a_dry_run_asks_nobody_and_can_be_resumed(messages):
    engine = engine_of(raises(AssertionError("nobody asked")))
    plan = engine.plan(messages)
    assert plan.is_pending
    assert "a summary of up to" in plan.explain()
    assert plan.to_dict()["pending"]["summary_tokens"] <= 300
    done = engine.resume(plan, messages, "They agreed.")
    assert not done.is_pending
    assert count(done.apply(messages)) == done.tokens_after
    assert done.to_dict()["summary"]["by"] == "summarizer"
    assert engine.resume(plan, messages).to_dict()["summary"]["by"] == "engine"
    assert engine.resume(done, messages, "Other.").apply(messages) == done.apply(messages)
    assert count(plan.apply(messages)) == plan.tokens_after
    with pytest.raises(ullage.MessagesChangedError):
        engine.resume(plan, messages[:-1], "They agreed.")


def test_a_view_of_the_same_messages_asks_once(messages):
    calls = []

    def summarizer(request):
        calls.append(request)
        return f"Answer {len(calls)}."

    engine = engine_of(summarizer)
    assert engine.view(messages) == engine.view(list(messages))
    assert len(calls) == 1


def test_five_compactions_neither_decay_nor_grow():
    def model(request):
        """Keeps what it was given before, as a good model does, and adds a line."""
        kept = [line for line in request.previous.splitlines() if line.startswith("- ")]
        turns = [w for w in request.text.split() if w.startswith("turn_")]
        return "\n".join([*kept, f"- seen {turns[-1]} of {request.max_words} words"])

    engine = engine_of(model)
    messages = wordy(61, "round0")
    sizes = []
    for round_ in range(5):
        report = engine.compact(messages)
        assert report.summary is not None
        sizes.append(report.summary.tokens)
        text = json.dumps(messages)
        assert text.count("- seen turn_") == round_ + 1, text
        messages.extend(wordy(61, f"round{round_ + 1}")[1:])
    assert max(sizes) <= 300 + 80 + 20


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gets_a_valid_history(format):
    messages = render(long_conversation(30, 50), format)
    report = engine_of(plainly).compact(messages, budget=2_000, hard=True)
    assert faults(messages) == []
    assert report.tokens_after == count(messages) <= 2_000


ANSWERS = st.one_of(
    st.none(),
    st.text(max_size=300),
    st.text(alphabet=st.characters(), max_size=2_000),
    st.sampled_from(["\ud800 half", "<|endoftext|>" * 99, "[ullage: 3 earlier messages]", "\0"]),
)


@given(answer=ANSWERS, turns=st.integers(2, 40), budget=st.integers(300, 4_000))
def test_no_answer_breaks_the_budget(answer, turns, budget):
    messages = wordy(turns * 2 + 1)
    engine = engine_of(lambda request: answer)
    try:
        report = engine.compact(messages, budget=budget)
    except ullage.BudgetError:
        return
    assert report.tokens_after == count(messages) <= budget
    assert faults(messages) == []
    again = engine.compact(messages, budget=budget)
    assert again.saved == 0


# In the background.


def grown(messages: list[dict], turns: int) -> None:
    """The agent goes on."""
    messages.extend(wordy(turns + 1, "more")[1:])


@pytest.mark.parametrize("way", [plainly, later])
def test_a_background_summary_is_used_at_the_next_compaction(way):
    calls = []

    def counted(request):
        calls.append(request)
        return way(request)

    engine = engine_of(counted)
    messages = wordy(37)
    assert engine.compact(messages).saved == 0, "nothing is due yet"
    summary = engine.summarize_in_background(messages)
    assert summary is not None
    assert summary.wait(5)
    grown(messages, 6)
    report = engine.compact(messages)
    assert len(calls) == 1
    assert report.warnings == []
    assert report.tokens_after == count(messages) < report.tokens_before
    assert "port_8443" in json.dumps(messages)
    assert faults(messages) == []


def test_a_background_summary_in_a_loop_is_a_task():
    loops = []

    async def summarizer(request):
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        return "They agreed on port_8443."

    async def main():
        engine = engine_of(summarizer)
        messages = wordy(37)
        summary = engine.summarize_in_background(messages)
        assert summary is not None
        assert not summary.wait(0.01), "waiting here would be for ever"
        grown(messages, 6)
        report = await engine.acompact(messages)
        assert loops == [asyncio.get_running_loop()]
        return report, messages

    report, messages = asyncio.run(main())
    assert report.warnings == []
    assert "port_8443" in json.dumps(messages)


def test_one_that_is_not_done_is_waited_for():
    def slow(request):
        time.sleep(0.3)
        return "They agreed on port_8443."

    engine = engine_of(slow)
    messages = wordy(37)
    engine.summarize_in_background(messages)
    grown(messages, 6)
    assert engine.compact(messages).warnings == []
    assert "port_8443" in json.dumps(messages)


def edit(messages):
    messages[3] = {"role": "assistant", "content": [{"text": "something else"}]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (edit, "the messages have changed"),
        (lambda messages: grown(messages, 60), "it no longer fits"),
    ],
)
def test_one_that_does_not_fit_any_longer_is_dropped_and_said_so(change, reason):
    calls = []

    def summarizer(request):
        calls.append(request)
        return f"Answer {len(calls)}."

    engine = engine_of(summarizer)
    messages = wordy(37)
    summary = engine.summarize_in_background(messages)
    assert summary is not None
    assert summary.wait(5)
    grown(messages, 6)
    change(messages)
    report = engine.compact(messages)
    assert f"the summary made in the background was dropped: {reason}" in report.warnings
    assert "Answer 2." in json.dumps(messages)
    assert report.tokens_after == count(messages) <= 5_000


def test_one_that_failed_or_was_cancelled_is_dropped_and_asked_anew():
    answers = iter([RuntimeError("no quota"), "Answer 2.", "Answer 3.", "Answer 4."])

    def summarizer(request):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    engine = engine_of(summarizer)
    messages = wordy(37)
    engine.summarize_in_background(messages)
    grown(messages, 6)
    report = engine.compact(messages)
    assert any("dropped: RuntimeError: no quota" in line for line in report.warnings)
    assert "Answer 2." in json.dumps(messages)


@pytest.mark.parametrize("way", [lazy, sleepy])
@pytest.mark.parametrize("beside", [False, True])
def test_one_that_hangs_is_not_asked_a_second_time(way, beside):
    calls = []

    def counted(request):
        calls.append(request)
        return way(request)

    async def acompact():
        engine.summarize_in_background(messages)
        return await engine.acompact(messages, hard=True)

    def compact():
        engine.summarize_in_background(messages)
        return engine.compact(messages, hard=True)

    engine = engine_of(counted, summary_timeout=0.2)
    messages = wordy(37)
    start = time.monotonic()
    report = asyncio.run(acompact()) if beside else compact()
    assert time.monotonic() - start < 0.9
    assert len(calls) == 1
    assert report.summary is not None
    assert report.summary.by == "engine"
    assert any("waited for in vain" in line for line in report.warnings)
    engine = engine_of(counted, summary_timeout=0.2, summaries="required")
    messages = wordy(37)
    with pytest.raises(ullage.SummaryError, match="in vain"):
        asyncio.run(acompact()) if beside else compact()


def test_a_turn_plans_for_a_summary_only_where_there_may_be_one(monkeypatch):
    def plans(engine, messages):
        """How often a compaction that leaves the messages looks for what to summarize."""
        made = []
        plan = engine._parts.compactor.plan

        def counted(*arguments):
            made.append(arguments)
            return plan(*arguments)

        monkeypatch.setattr(engine._parts.compactor, "plan", counted)
        for turn in range(30):
            if turn >= 20:
                grown(messages, 2)
            assert not engine.compact(messages).stages
        return len(made)

    settings = SMALL | {"window": 9_000, "summary_ahead": 0.001}
    for summarizer, keep_recent, most in ((None, 2, 0), (plainly, 500, 8), (plainly, 2, 1)):
        policy = ullage.Policy(**settings, keep_recent=keep_recent)
        engine = ullage.ContextManager(policy, summarizer=summarizer, append_only=True)
        assert min(most, 1) <= plans(engine, wordy(37)) <= most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_compacts_whatever_locks_its_parent_held():
    class Slow(list):
        """Is in the middle of a change when the process forks."""

        def __setitem__(self, *change):
            changing.set()
            assert forked.wait(20)
            super().__setitem__(*change)

    def hold():
        with engine._parts.stopwatch._lock, engine._parts.compactor._chooser._ahead._lock:
            holding.set()
            assert forked.wait(20)

    changing, holding, forked = threading.Event(), threading.Event(), threading.Event()
    engine = engine_of(plainly)
    slow = Slow(wordy(61))
    threads = [threading.Thread(target=engine.compact, args=(slow,)), threading.Thread(target=hold)]
    try:
        threads[0].start()
        assert changing.wait(20)
        threads[1].start()
        assert holding.wait(20)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(10)
                messages = wordy(37)
                engine.summarize_in_background(messages)
                grown(messages, 6)
                done = engine.compact(messages).summary
                code = 0 if done is not None and engine.stats.compactions > 0 else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        forked.set()
        for thread in threads:
            thread.join(20)
    assert count(list(slow)) <= 5_000


def test_nothing_is_begun_where_nothing_goes():
    engine = engine_of(plainly)
    assert engine.summarize_in_background(wordy(3)) is None
    assert ullage.ContextManager(POLICY).summarize_in_background(wordy(61)) is None
    with pytest.raises(ullage.MessageError):
        engine.summarize_in_background(tuple(wordy(61)))


@pytest.mark.parametrize("beside", [False, True])
def test_the_next_summary_is_begun_by_itself(beside):
    calls = []

    def summarizer(request):
        calls.append(request)
        return "They agreed on port_8443."

    engine = engine_of(summarizer, summary_ahead=0.6)
    messages = wordy(25)

    def compact():
        return asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)

    compact()
    assert calls == []
    grown(messages, 10)
    compact()
    grown(messages, 2)
    compact()
    while not calls:
        time.sleep(0.01)
    assert len(calls) == 1
    grown(messages, 12)
    report = compact()
    assert report.warnings == []
    assert report.summary is not None
    assert len(calls) == 1
