"""`on_compaction` is told of every compaction, and nothing that it does ends a run."""

import asyncio
import contextvars
import logging
import threading
from typing import Any

import pytest

import ullage
from ullage._engine import listener

from .conversations import long_conversation, render

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)


def conversation() -> list[Any]:
    return render(long_conversation(30, 50), "bedrock")


def engine(listens: Any, **arguments: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, on_compaction=listens, **arguments)


async def others() -> None:
    """Returns once all other tasks of the loop have ended."""
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


def test_each_compaction_is_told_once_with_its_report():
    told: list[ullage.Report] = []
    manager = engine(told.append, store=ullage.MemoryStore())
    messages = conversation()
    report = manager.compact(messages)
    assert told == [report]
    assert manager.compact(messages).stages == {}, "there is nothing to do"
    assert told == [report]


def test_a_view_is_told_and_says_what_a_compaction_would():
    told: list[ullage.Report] = []
    manager = engine(told.append, store=ullage.MemoryStore())
    messages = conversation()
    manager.view(messages)
    manager.compact(messages)
    viewed, compacted = ({**report.to_dict(), "elapsed": 0.0} for report in told)
    assert viewed == compacted


def test_a_plan_and_an_error_tell_nothing():
    told: list[ullage.Report] = []
    manager = engine(told.append)
    messages = conversation()
    manager.plan(messages)
    with pytest.raises(ullage.BudgetError):
        manager.compact(messages, budget=1)
    assert told == []


def test_a_failed_summary_is_told_as_a_warning():
    def summarizer(request: ullage.SummaryRequest) -> str:
        raise RuntimeError("the model is away")

    told: list[ullage.Report] = []
    engine(told.append, summarizer=summarizer).compact(conversation())
    assert any("the model is away" in line for line in told[0].warnings)


def test_acompact_awaits_an_async_function():
    told: list[ullage.Report] = []

    async def listens(report: ullage.Report) -> None:
        await asyncio.sleep(0)
        told.append(report)

    async def run() -> None:
        report = await engine(listens).acompact(conversation())
        assert told == [report]

    asyncio.run(run())


def test_acompact_calls_a_plain_function():
    told: list[ullage.Report] = []
    report = asyncio.run(engine(told.append).acompact(conversation()))
    assert told == [report]


def test_compact_runs_an_async_function_where_no_loop_runs():
    told: list[int] = []

    async def listens(report: ullage.Report) -> None:
        await asyncio.sleep(0)
        told.append(threading.get_ident())

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        engine(listens).compact(conversation())
        assert asyncio.get_event_loop() is loop, "the thread's own loop stays"
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert told != [threading.get_ident()]


def test_compact_begins_an_async_function_in_the_loop_that_runs():
    told: list[ullage.Report] = []

    async def listens(report: ullage.Report) -> None:
        await asyncio.sleep(0)
        told.append(report)

    async def run() -> None:
        report = engine(listens).compact(conversation())
        assert told == []
        await others()
        assert told == [report]

    asyncio.run(run())


def raises(report: ullage.Report) -> None:
    raise ValueError("the disk of the log is full")


async def raises_later(report: ullage.Report) -> None:
    raises(report)


@pytest.mark.parametrize("listens", [raises, raises_later])
@pytest.mark.parametrize("beside", ["no loop", "a loop", "acompact"])
def test_an_error_in_it_is_logged_and_the_compaction_stands(listens, beside, caplog):
    manager = engine(listens)
    messages = conversation()

    async def run() -> ullage.Report:
        if beside == "acompact":
            return await manager.acompact(messages)
        report = manager.compact(messages)
        await others()
        return report

    report = manager.compact(messages) if beside == "no loop" else asyncio.run(run())
    assert report.tokens_after < report.tokens_before
    (record,) = (r for r in caplog.records if r.name == "ullage._engine.listener")
    assert record.levelno == logging.ERROR
    assert "ValueError: the disk of the log is full" in record.getMessage()


def test_an_async_function_that_hangs_is_left_behind(monkeypatch, caplog):
    monkeypatch.setattr(listener, "_PATIENCE", 0.05)

    async def hangs(report: ullage.Report) -> None:
        await asyncio.sleep(60)

    assert engine(hangs).compact(conversation()).stages
    assert asyncio.run(engine(hangs).acompact(conversation())).stages
    assert [r.name for r in caplog.records].count("ullage._engine.listener") == 2


def test_what_ends_a_program_passes_through():
    def stops(report: ullage.Report) -> None:
        raise KeyboardInterrupt

    messages = conversation()
    with pytest.raises(KeyboardInterrupt):
        engine(stops).compact(messages)
    assert len(messages) < len(conversation()), "it was done by then"


def test_it_runs_in_the_context_of_who_compacts():
    session = contextvars.ContextVar("session", default="none")
    told: list[str] = []

    async def listens(report: ullage.Report) -> None:
        told.append(session.get())

    def run(name: str) -> None:
        session.set(name)
        engine(listens).compact(conversation())

    for name in ("first", "second"):
        contextvars.copy_context().run(run, name)
    assert told == ["first", "second"]


def test_threads_that_share_an_engine_each_tell():
    told: list[ullage.Report] = []
    manager = engine(told.append, store=ullage.MemoryStore())
    threads = [threading.Thread(target=manager.compact, args=(conversation(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 8
    assert manager.stats.compactions == 8


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ullage.PolicyError, match="on_compaction: it is a str; give a function"):
        engine("print")


def test_the_log_tells_of_no_compaction_that_waits(caplog):
    messages = [{"role": "user", "content": "word " * 1_000}]
    window = ullage.TokenCounter().count_messages(messages) + 10
    policy = ullage.Policy(window=window, reserve_output=0)
    with caplog.at_level(logging.INFO, "ullage"):
        ullage.ContextManager(policy, store=ullage.MemoryStore()).compact(messages)
    assert "it waits until it must" in caplog.text
    assert "compacted" not in caplog.text
