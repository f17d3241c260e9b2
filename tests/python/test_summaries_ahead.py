"""Summaries that are made while the agent goes on, before a compaction needs them."""

# mypy: disable-error-code="no-untyped-def,type-arg,arg-type"

import asyncio
import json
import os
import signal
import threading
import time

import pytest

import ullage

from .judges import count, faults
from .summarizers import POLICY, SMALL, engine_of, later, lazy, plainly, release, sleepy, wordy


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
    report = asyncio.run(acompact()) if beside else compact()
    assert len(calls) == 1
    assert report.summary is not None
    assert report.summary.by == "engine"
    assert any("did not finish in time" in line for line in report.warnings)
    engine = engine_of(counted, summary_timeout=0.2, summaries="required")
    messages = wordy(37)
    with pytest.raises(ullage.SummaryError, match="did not finish in time"):
        asyncio.run(acompact()) if beside else compact()
    release()


def test_a_turn_plans_for_a_summary_only_where_there_may_be_one(monkeypatch):
    def plans(engine, messages):
        """The number of times that a compaction without changes looks for messages to summarize."""
        made = []
        begin = engine._components.compactor.begin

        def counted(*arguments):
            made.append(arguments)
            return begin(*arguments)

        monkeypatch.setattr(engine._components.compactor, "begin", counted)
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
        with (
            engine._components.stopwatch._lock,
            engine._components.compactor._summary_source._background._lock,
        ):
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
