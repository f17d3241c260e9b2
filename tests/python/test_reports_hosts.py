"""Sessions of Amplifier and Supyagent tell what their engines did, as those of any other host."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager
from ullage.amplifier.configuration import arguments
from ullage.report.recorded import SentRequest
from ullage.supyagent import ContextSettings, count_messages_tokens

from .amplifier_sessions import is_request, session, tokens
from .histories import history

LIMIT = 8_000
# Tokens that Supyagent counts for a request beside its messages.
FRAME = 3


async def amplifier_requests(context):
    requests = []
    for message in session("openai", 60):
        await context.add_message(message)
        if is_request(message):
            requests.append(await context.get_messages_for_request())
    return requests


async def supyagent_requests(manager):
    manager.context_limit = LIMIT
    messages = history(60)
    ends = [n for n, message in enumerate(messages, 1) if message["role"] == "user"]
    requests = [manager.build_messages_for_llm("Be brief.", messages[:end]) for end in ends]
    # An async listener is called by the loop.
    await asyncio.sleep(0)
    return requests


@pytest.fixture(params=["amplifier", "amplifier, in a file", "supyagent"])
def host(request, tmp_path):
    """Makes the requests of a session that grows past its window, and counts one of them."""

    def make(**settings):
        if request.param == "amplifier":
            return SimpleContextManager(LIMIT, compaction_strategy="smart", **settings)
        if request.param == "supyagent":
            return ContextSettings().manager(model="gpt-4o", **settings)
        return PersistentContextManager(tmp_path / "session.jsonl", None, LIMIT, **settings)

    if request.param == "supyagent":
        count = lambda sent: count_messages_tokens(sent, "gpt-4o") - FRAME  # noqa: E731
        return make, supyagent_requests, count
    return make, amplifier_requests, tokens


@pytest.mark.parametrize("is_async", [False, True])
def test_on_compaction_hears_of_each_compaction_in_the_loop_of_the_session(host, is_async):
    make, requests_of, _ = host
    told: list[ullage.Report] = []
    loops = set()

    async def later(report):
        loops.add(asyncio.get_running_loop())
        told.append(report)

    async def session_in_a_loop():
        made = make(on_compaction=later if is_async else told.append)
        return asyncio.get_running_loop(), await requests_of(made)

    loop, requests = asyncio.run(session_in_a_loop())
    assert told
    assert loops == ({loop} if is_async else set())
    assert all(report.tokens_after < report.tokens_before for report in told)
    if requests_of is supyagent_requests:
        cuts = sum(after[: len(before)] != before for before, after in pairwise(requests))
        assert len(told) == cuts


def test_a_recorder_has_each_request_and_each_compaction(host):
    make, requests_of, count = host
    told: list[ullage.Report] = []
    recorder = ullage.Recorder()
    requests = asyncio.run(requests_of(make(on_compaction=told.append, recorder=recorder)))
    sent = [entry.tokens for entry in recorder.entries if isinstance(entry, SentRequest)]
    assert sent == list(map(count, requests))
    assert [entry for entry in recorder.entries if isinstance(entry, ullage.Report)] == told
    assert "<svg" in recorder.html()
    if requests_of is supyagent_requests:
        assert (recorder.window, recorder.model) == (LIMIT, "gpt-4o")


def test_what_cannot_be_called_is_refused(host):
    with pytest.raises(ullage.PolicyError, match="on_compaction"):
        host[0](on_compaction="reports")


def test_a_mount_plan_names_the_function():
    given = arguments(SimpleContextManager, {"on_compaction": "json:dumps"})
    assert callable(given["on_compaction"])
