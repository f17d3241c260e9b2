"""An Amplifier session tells what its engines did, as a session of any other host does."""

from __future__ import annotations

import asyncio

import pytest

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager
from ullage.amplifier.configuration import arguments
from ullage.report.recorded import SentRequest

from .amplifier_sessions import is_request, session, tokens

BUDGET = 8_000


async def run(context):
    requests = []
    for message in session("openai", 60):
        await context.add_message(message)
        if is_request(message):
            requests.append(await context.get_messages_for_request())
    return requests


@pytest.fixture(params=["memory", "file"])
def made(request, tmp_path):
    def make(**settings):
        if request.param == "memory":
            return SimpleContextManager(BUDGET, compaction_strategy="smart", **settings)
        return PersistentContextManager(tmp_path / "session.jsonl", None, BUDGET, **settings)

    return make


@pytest.mark.parametrize("is_async", [False, True])
def test_on_compaction_hears_of_each_compaction_in_the_loop_of_the_session(made, is_async):
    told: list[ullage.Report] = []
    loops = set()

    def plain(report):
        told.append(report)

    async def later(report):
        loops.add(asyncio.get_running_loop())
        plain(report)

    async def session_in_a_loop():
        context = made(on_compaction=later if is_async else plain)
        await run(context)
        assert loops == ({asyncio.get_running_loop()} if is_async else set())

    asyncio.run(session_in_a_loop())
    assert told
    assert all(report.tokens_after < report.tokens_before for report in told)


def test_a_recorder_has_each_request_and_each_compaction(made):
    told: list[ullage.Report] = []
    recorder = ullage.Recorder()
    requests = asyncio.run(run(made(on_compaction=told.append, recorder=recorder)))
    sent = [entry.tokens for entry in recorder.entries if isinstance(entry, SentRequest)]
    assert sent == [tokens(request) for request in requests]
    assert [entry for entry in recorder.entries if isinstance(entry, ullage.Report)] == told
    assert "<svg" in recorder.html()


def test_what_cannot_be_called_is_refused(made):
    with pytest.raises(ullage.PolicyError, match="on_compaction"):
        made(on_compaction="reports")


def test_a_mount_plan_names_the_function():
    given = arguments(SimpleContextManager, {"on_compaction": "json:dumps"})
    assert callable(given["on_compaction"])
