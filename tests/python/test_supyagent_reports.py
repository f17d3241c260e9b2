"""Supyagent's manager tells what its engine cut, as a session of any other host does."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

import ullage
from ullage.report.recorded import SentRequest
from ullage.supyagent import ContextManager, ContextSettings, count_messages_tokens

from .histories import history

LIMIT = 6_000
# Tokens that Supyagent counts for a request beside its messages.
FRAME = 3


def requests_of(manager):
    """The requests of a session that grows past its window."""
    manager.context_limit = LIMIT
    messages = history(60)
    ends = [n for n, message in enumerate(messages, 1) if message["role"] == "user"]
    return [manager.build_messages_for_llm("Be brief.", messages[:end]) for end in ends]


def test_on_compaction_hears_of_each_cut():
    told: list[ullage.Report] = []
    requests = requests_of(ContextManager("gpt-4o", on_compaction=told.append))
    cuts = sum(after[: len(before)] != before for before, after in pairwise(requests))
    assert len(told) == cuts > 0
    assert all(report.tokens_after < report.tokens_before for report in told)


def test_an_async_on_compaction_is_heard_too():
    told: list[ullage.Report] = []

    async def later(report):
        told.append(report)

    async def run():
        requests_of(ContextManager("gpt-4o", on_compaction=later))
        await asyncio.sleep(0)

    asyncio.run(run())
    assert told


def test_a_recorder_has_each_request_and_each_cut_and_the_window():
    told: list[ullage.Report] = []
    recorder = ullage.Recorder()
    made = ContextSettings().manager(model="gpt-4o", recorder=recorder, on_compaction=told.append)
    requests = requests_of(made)
    sent = [entry.tokens for entry in recorder.entries if isinstance(entry, SentRequest)]
    assert [n + FRAME for n in sent] == [count_messages_tokens(r, "gpt-4o") for r in requests]
    assert [entry for entry in recorder.entries if isinstance(entry, ullage.Report)] == told
    assert (recorder.window, recorder.model) == (LIMIT, "gpt-4o")
    assert "<svg" in recorder.html()


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ullage.PolicyError, match="on_compaction"):
        ContextManager("gpt-4o", on_compaction="reports")  # type: ignore[arg-type]
