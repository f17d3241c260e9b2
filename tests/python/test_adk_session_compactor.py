"""The compactor as a plugin: long investigations with the payloads of an SRE, and what goes wrong in them."""

# mypy: disable-error-code="arg-type,attr-defined,misc,no-any-return,override,type-arg,union-attr"

import asyncio
import logging

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService
from google.genai import types

import ullage
from tests.python.adk_host import PAYLOADS, TASK, opened, runner_of, say, scripted, stored_events
from tests.python.test_adk_compaction import all_text, closed, compactions, sessions_of
from tests.python.test_adk_compactor import tokens, tools
from ullage.adk import (
    CompactionConfig,
    ContextCompactor,
    EventsSummarizer,
    SessionCompactor,
    sre_agent,
)

from .lengths import first, long


def investigation(count):
    names = list(PAYLOADS)
    return [(names[i % len(names)], {"step": i}) for i in range(count)]


def big(size: int) -> dict:
    """Gives a lot."""
    return {"result": "word and " * (size // 9)}


def investigated(model, *plugins, runs=1, own=None, task=TASK, **services):
    """The events of a session in which an agent with these plugins is asked so many times."""
    agent = LlmAgent(name="sre", model=model, tools=own or tools())
    runner = runner_of(agent, plugins=list(plugins), **services)

    async def asked():
        session = await opened(runner)
        for run in range(runs):
            await say(runner, session, f"request {run}" if run else task)
        return await stored_events(runner, session)

    return asyncio.run(asked())


@pytest.mark.parametrize(("calls", "runs"), [(60, 1), long(200, 1), long(200, 10)])
def test_a_long_investigation_stays_inside_its_budget(calls, runs):
    each = calls // runs
    steps = [step for _ in range(runs) for step in (*investigation(each), "found it")]
    model = scripted(*steps)
    events = investigated(model, SessionCompactor(), runs=runs)
    assert len(model.seen) == calls + runs, "no request was refused"
    assert max(tokens(request.contents) for request in model.seen) <= 32_000
    assert len(compactions(events)) > calls // 40
    for request in model.seen:
        assert TASK[:40] in all_text(request)
    assert len([event for event in events if event.get_function_calls()]) == calls


def test_a_result_that_is_larger_than_the_budget_is_brought_inside_and_stored():
    model = scripted(("big", {"size": 900_000}), ("big", {"size": 900_001}), "done")
    store = ullage.MemoryStore()
    events = investigated(model, SessionCompactor(store=store), own=[big])
    assert len(model.seen) == 3
    assert max(tokens(request.contents) for request in model.seen) <= 32_000
    assert store.list()
    sizes = [len(str(one.response)) for event in events for one in event.get_function_responses()]
    assert min(sizes) > 800_000, "the session has them whole"


class Broken(InMemorySessionService):
    """Keeps everything but compactions."""

    async def append_event(self, session, event):
        if event.actions.compaction:
            raise ConnectionError("the database is gone")
        return await super().append_event(session=session, event=event)


def test_a_service_that_fails_ends_no_run(caplog):
    config = CompactionConfig(token_budget=8_000, compaction_trigger_tokens=6_000)
    model = scripted(*investigation(15))
    investigated(model, SessionCompactor(config), sessions=Broken())
    assert len(model.seen) == 16
    assert "the session was not compacted" in caplog.text
    assert max(tokens(request.contents) for request in model.seen) <= 8_000


@pytest.mark.parametrize("budget", first(2, [500, 2_000, 600, 1_000]))
def test_a_small_budget_is_kept_without_a_word(budget, caplog):
    config = CompactionConfig(token_budget=budget, compaction_trigger_tokens=budget * 3 // 4)
    model = scripted(*[step for _ in range(3) for step in (*investigation(8), "found it")])
    investigated(model, SessionCompactor(config, store=ullage.MemoryStore()), runs=3)
    assert len(model.seen) == 27
    assert max(tokens(request.contents) for request in model.seen) <= budget
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_a_long_request_is_shortened_to_the_budget(caplog):
    config = CompactionConfig(token_budget=500, compaction_trigger_tokens=400)
    model = scripted(*investigation(5))
    investigated(model, SessionCompactor(config), task="Look at everything. " * 200)
    assert len(model.seen) == 6
    assert "above its budget" not in caplog.text
    assert max(tokens(request.contents) for request in model.seen) <= 500


@pytest.mark.parametrize("kind", first(1, ["sqlite", "database"]))
def test_a_run_that_was_killed_anywhere_can_be_gone_on_with(kind, tmp_path):
    """The process dies after so many events; another one goes on with what is stored."""
    make = sessions_of(kind, tmp_path)

    async def run():
        service = make()
        session = None
        for turn, killed_after in enumerate([3, 20, 1, 30, None]):
            model = scripted(*investigation(17))
            agent = LlmAgent(name="sre", model=model, tools=tools())
            runner = runner_of(agent, sessions=service, plugins=[SessionCompactor()])
            session = session or await opened(runner)
            content = f"request {turn}"
            stream = runner.run_async(
                user_id="u", session_id=session, new_message=types.UserContent(content)
            )
            seen = 0
            async for _ in stream:
                seen += 1
                if seen == killed_after:
                    break
            await stream.aclose()
            assert all(content in all_text(request) for request in model.seen)
            await closed(service)
            service = make()
        runner = runner_of(agent, sessions=service)
        events = await stored_events(runner, session)
        await closed(service)
        return model, events

    model, events = asyncio.run(run())
    assert len(model.seen) == 18
    assert compactions(events)


def test_a_configuration_makes_a_compactor():
    config = CompactionConfig(token_budget=5_000, compaction_trigger_tokens=4_000)
    assert SessionCompactor(config).compactor.config is config


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            lambda: SessionCompactor({"token_budget": 1}),
            "compactor: .*CompactionConfig; got a dict",
        ),
        (lambda: ContextCompactor({"token_budget": 1}), "config: .*CompactionConfig; got a dict"),
        (lambda: ContextCompactor(None, 5), "summarizer: .*model.*; got a int"),
        (lambda: EventsSummarizer(object()), "summarizer: .*model.*; got a object"),
        (lambda: EventsSummarizer("no-such-model"), "summarizer: ADK has no model 'no-such-model'"),
        (lambda: sre_agent(summarizer=5), "summarizer: .*model.*; got a int"),
    ],
)
def test_what_an_argument_must_be_is_said_when_it_is_given(made, said):
    with pytest.raises(ullage.PolicyError, match=said):
        made()


def test_the_default_is_the_summarizer_without_a_model():
    assert isinstance(ContextCompactor()._summarizer, EventsSummarizer)
    assert SessionCompactor().name == "ullage_session_compactor"
