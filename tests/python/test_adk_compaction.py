"""The summarizer of ADK's own compaction, under real runners and a model as strict as Gemini."""

# mypy: disable-error-code="arg-type,attr-defined,misc,no-any-return,override,type-arg,union-attr"

import asyncio
import copy

import pytest
from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps.app import EventsCompactionConfig, ResumabilityConfig
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

import ullage
from tests.python.adk_host import (
    TASK,
    answer,
    history,
    log_entries,
    opened,
    responses,
    runner_of,
    say,
    scripted,
    stored_events,
)
from tests.python.summarizers import FORGED, lazy, release
from ullage.adk import ContextCompactor, EventsSummarizer, SummarySettings
from ullage.adk.prior_summary import HEADER, REQUEST, WAITING

from .lengths import first

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")


def probe(step: int) -> dict:
    """Looks at step."""
    return {"step": step, "seen": f"value-{step}", "log": "line of a log\n" * 60}


def compaction(summarizer, *, threshold=2_500, retained=4, **window) -> EventsCompactionConfig:
    return EventsCompactionConfig(
        summarizer=summarizer, token_threshold=threshold, event_retention_size=retained, **window
    )


def agent_of(model, *tools) -> LlmAgent:
    return LlmAgent(name="sre", model=model, tools=list(tools) or [probe])


def probes(count):
    return scripted(*[("probe", {"step": i}) for i in range(count)])


def compacted(root, summarizer=None, **windows):
    """The events of a session with one long invocation."""
    config = compaction(summarizer or EventsSummarizer(), **windows)
    runner = runner_of(root, events_compaction_config=config)

    async def run():
        session = await opened(runner)
        await say(runner, session, TASK)
        return await stored_events(runner, session)

    return asyncio.run(run())


def probed(count, summarizer):
    """The model of one long invocation, and the events of its session."""
    model = probes(count)
    return model, compacted(agent_of(model), summarizer)


def compactions(events):
    return [event for event in events if event.actions.compaction]


def texts(content):
    return [part.text for part in content.parts if part.text]


def all_text(request):
    return "\n".join(text for content in request.contents for text in texts(content))


def size(request):
    return sum(len(content.model_dump_json(exclude_none=True)) for content in request.contents)


@pytest.mark.parametrize("fallback", ["tool-lines", "sections", "one-liners"])
def test_one_long_invocation_stays_small_and_keeps_its_request_word_for_word(fallback):
    settings = SummarySettings(fallback=fallback, tokens=600)
    model, events = probed(40, EventsSummarizer(settings=settings))
    assert len(model.seen) == 41, "no request was refused"
    assert len(compactions(events)) > 2
    assert max(map(size, model.seen)) < 20_000, "of 40 results of a thousand characters each"
    for request in model.seen:
        assert TASK in all_text(request)
        assert request.contents[0].role == "user"
    last = model.seen[-1]
    assert texts(last.contents[0])[0].startswith(HEADER)
    assert texts(last.contents[0])[1:] == [REQUEST, TASK]
    if fallback == "tool-lines":
        assert "value-" not in texts(last.contents[0])[0] or "probe" in texts(last.contents[0])[0]


def test_summaries_go_on_from_one_another_and_do_not_grow():
    _, events = probed(80, EventsSummarizer(settings=SummarySettings(tokens=500)))
    made = [event.actions.compaction for event in compactions(events)]
    assert len(made) > 5
    sizes = [len(texts(one.compacted_content)[0]) for one in made]
    assert max(sizes) < 2_500
    assert max(sizes[-5:]) <= max(sizes[2:7]) * 1.2
    assert len({one.start_timestamp for one in made}) == 1, "each stands for those before"
    assert "older lines have no room here" in texts(made[-1].compacted_content)[0]


@pytest.mark.parametrize("processes", [1, 12])
@pytest.mark.parametrize(
    ("overlap", "shown", "left"),
    [(0, True, 1), (2, True, 1), (0, False, 5), pytest.param(1, True, 1, marks=pytest.mark.long)],
)
def test_windows_of_invocations_are_summarized(overlap, shown, left, processes):
    async def run():
        steps = [step for i in range(12) for step in (("probe", {"step": i}), f"answer {i}")]
        model = scripted(*steps)
        service = InMemorySessionService()
        session = None
        for process in range(processes):
            summarizer = EventsSummarizer(settings=SummarySettings(tokens=300))
            config = EventsCompactionConfig(
                summarizer=summarizer, compaction_interval=2, overlap_size=overlap
            )
            runner = runner_of(
                agent_of(model),
                sessions=service,
                events_compaction_config=config,
                plugins=[summarizer.plugin()] if shown else [],
            )
            session = session or await opened(runner)
            for i in range(12 // processes):
                await say(runner, session, f"request {process * (12 // processes) + i}")
        return model, await stored_events(runner, session)

    model, events = asyncio.run(run())
    assert len(compactions(events)) >= 5
    summaries = [
        content
        for content in model.seen[-1].contents
        if texts(content)[:1] and HEADER in texts(content)[0]
    ]
    # ADK keeps one summary beside the other, because nobody shows the summarizer the first.
    assert len(summaries) == left
    assert "request 11" in all_text(model.seen[-1])
    if shown:
        told = texts(summaries[0])[0]
        assert told.count("step=") <= 10, "what overlaps is told once"
        assert "User: request 0" in told, "it goes on from the first"
        assert max(len(all_text(request)) for request in model.seen) < 6_000


def test_a_session_that_cannot_be_shown_ends_no_run(caplog):
    from ullage.adk.summarizer import SummaryChain

    def broken(invocation_id, events):
        raise RuntimeError("broken on purpose")

    async def run():
        runner = runner_of(agent_of(scripted("done")), plugins=[SummaryChain(broken)])
        return await say(runner, await opened(runner), TASK)

    assert asyncio.run(run())
    assert "broken on purpose" in caplog.text


def test_stored_events_stay_as_they_were():
    async def run():
        model = probes(40)
        runner = runner_of(agent_of(model), events_compaction_config=compaction(EventsSummarizer()))
        session = await opened(runner)
        events = await say(runner, session, TASK)
        yielded = copy.deepcopy([event.content for event in events])
        await say(runner, session, "And now?")
        stored = [e for e in await stored_events(runner, session) if not e.actions.compaction]
        by_id = {event.id: event.content for event in stored}
        assert [by_id[event.id] for event in events] == yielded

    asyncio.run(run())


def sessions_of(kind, folder):
    """Returns a maker of services whose sessions outlive them."""
    memory = InMemorySessionService()
    if kind == "database":
        pytest.importorskip("sqlalchemy", reason="the extra `db` of google-adk is not installed")
        from google.adk.sessions.database_session_service import DatabaseSessionService

        return lambda: DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{folder}/sessions.db")
    if kind == "sqlite":
        return lambda: SqliteSessionService(db_path=str(folder / "sessions.db"))
    return lambda: memory


async def closed(service):
    if hasattr(service, "close"):
        await service.close()


@pytest.mark.parametrize("kind", first(2, ["memory", "sqlite", "database"]))
def test_a_session_goes_on_in_another_process_after_each_compaction(kind, tmp_path):
    made = sessions_of(kind, tmp_path)

    async def run():
        seen = []
        session = None
        for turn in range(4):
            service = made()
            model = scripted(*[("probe", {"step": turn * 10 + i}) for i in range(10)])
            config = compaction(EventsSummarizer())
            runner = runner_of(agent_of(model), sessions=service, events_compaction_config=config)
            session = session or await opened(runner)
            await say(runner, session, f"request {turn}")
            events = await stored_events(runner, session)
            seen.append((len(compactions(events)), model.seen[-1]))
            await closed(service)
        return seen

    seen = asyncio.run(run())
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0] > 0
    for turn, (_, request) in enumerate(seen):
        assert f"request {turn}" in all_text(request)
        assert size(request) < 20_000


def test_a_model_writes_the_summary_and_reads_the_last_one():
    asked = []

    async def summarize(request):
        asked.append(request)
        await asyncio.sleep(0)
        return f"Summary number {len(asked)}: the checkout was looked at."

    model, _ = probed(40, EventsSummarizer(summarize, settings=SummarySettings(lines=100)))
    assert len(asked) > 2
    assert all(isinstance(request, ullage.SummaryRequest) for request in asked)
    assert asked[0].previous == ""
    assert TASK in asked[0].text
    assert asked[1].previous.startswith("Summary number 1")
    assert f"Summary number {len(asked)}" in all_text(model.seen[-1])


@pytest.mark.parametrize("forged", FORGED)
def test_no_line_of_a_model_passes_for_one_of_ours(forged):
    model, _ = probed(40, EventsSummarizer(lambda _: forged, settings=SummarySettings(lines=0)))
    text = all_text(model.seen[-1])
    assert "bait_1" in text
    ours = ("[ullage: 3", "[123 the user]", "Lines from these messages")
    assert not [line for line in text.splitlines() if line.startswith(ours)]


async def broken(request):
    raise RuntimeError("no model today")


async def silent(request):
    return "  "


async def slow(request):
    await asyncio.sleep(60)


@pytest.mark.parametrize("summarize", [broken, silent, slow, lazy])
def test_where_no_model_answers_it_is_told_without_one(summarize):
    model, _ = probed(12, EventsSummarizer(summarize, settings=SummarySettings(timeout=0.05)))
    release()
    assert "• Called tool: probe(step=0)" in all_text(model.seen[-1])


def test_a_confirmation_that_is_waited_for_survives_and_can_be_given():
    def erase(path: str) -> dict:
        """Erases."""
        return {"erased": path}

    async def run():
        guarded = FunctionTool(erase, require_confirmation=True)
        before = [("probe", {"step": i}) for i in range(8)]
        model = scripted(*before, ("erase", {"path": "notes/x"}), "erased it", "anything else?")
        runner = runner_of(
            agent_of(model, probe, guarded),
            events_compaction_config=compaction(EventsSummarizer(), threshold=1_000, retained=1),
            resumability_config=ResumabilityConfig(is_resumable=False),
        )
        session = await opened(runner)
        await say(runner, session, TASK)
        events = await stored_events(runner, session)
        assert compactions(events)
        asked = next(
            call
            for event in events
            for call in event.get_function_calls()
            if call.name == "adk_request_confirmation"
        )
        part = answer(asked.name, asked.id, {"confirmed": True})
        return responses(await say(runner, session, part))

    assert {"erased": "notes/x"} in asyncio.run(run())


def test_what_a_long_running_call_answers_later_finds_its_call():
    def order(what: str) -> dict:
        """Orders."""
        return {"status": "pending", "ticket": "T-42"}

    async def run():
        calls = [("probe", {"step": i}) for i in range(30)]
        model = scripted(("order", {"what": "disk"}), "ordered", *calls, "waiting", "it came")
        runner = runner_of(
            agent_of(model, probe, LongRunningFunctionTool(order)),
            events_compaction_config=compaction(EventsSummarizer()),
        )
        session = await opened(runner)
        await say(runner, session, "Order a disk.")
        await say(runner, session, TASK)
        events = await stored_events(runner, session)
        (call,) = [c for e in events for c in e.get_function_calls() if c.name == "order"]
        summary = texts(compactions(events)[-1].actions.compaction.compacted_content)[0]
        assert WAITING in summary
        assert "T-42" in summary
        await say(runner, session, answer("order", call.id, {"status": "delivered"}))
        parts = [part for content in model.seen[-1].contents for part in content.parts]
        assert any(part.function_call and part.function_call.name == "order" for part in parts)
        assert any(
            part.function_response and part.function_response.response == {"status": "delivered"}
            for part in parts
        )

    asyncio.run(run())


def test_credentials_are_in_no_summary():
    from google.adk.events.event import Event

    secret = types.FunctionResponse(
        id="c1", name="adk_request_credential", response={"token": "s3cr3t"}
    )
    call = types.FunctionCall(id="c1", name="adk_request_credential", args={"key": "s3cr3t"})
    events = [
        Event(author="user", content=types.UserContent(TASK)),
        Event(author="sre", content=types.ModelContent([types.Part(function_call=call)])),
        Event(author="user", content=types.UserContent([types.Part(function_response=secret)])),
        Event(author="sre", content=types.ModelContent("x" * 5_000)),
    ]
    asked = []

    def summarize(request):
        asked.append(request)
        return "words"

    for fallback in ("tool-lines", "sections", "one-liners"):
        for summarizer in (None, summarize):
            made = EventsSummarizer(summarizer, settings=SummarySettings(fallback=fallback))
            event = made.summarize(events)
            assert "s3cr3t" not in event.model_dump_json()
    assert all("s3cr3t" not in str(request) for request in asked)


@pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")
def test_parallel_and_sequential_agents_go_on_after_compactions():
    models = [probes(15) for _ in range(3)]
    agents = [
        LlmAgent(name=f"panel_{i}", model=model, tools=[probe]) for i, model in enumerate(models)
    ]
    both = ParallelAgent(name="panels", sub_agents=agents[:2])
    root = SequentialAgent(name="root", sub_agents=[both, agents[2]])
    assert compactions(compacted(root))
    assert [len(model.seen) for model in models] == [16, 16, 16]


def test_parallel_calls_leave_together():
    batch = [("probe", {"step": i}) for i in range(4)]
    model = scripted(*[list(batch) for _ in range(12)])
    assert compactions(compacted(agent_of(model), retained=3))
    assert len(model.seen) == 13


def test_a_huge_request_is_shortened_and_a_small_history_is_left_alone():
    from google.adk.events.event import Event

    pasted = "Why does this fail?\n" + "".join(f"{entry}\n" for entry in log_entries(3_000))
    events = [
        Event(author="user", content=types.UserContent(pasted)),
        Event(author="sre", content=types.ModelContent("Looking.")),
    ]
    made = EventsSummarizer().summarize(events).actions.compaction.compacted_content
    assert texts(made)[2].startswith("Why does this fail?")
    assert len(texts(made)[2]) < 40_000 < len(pasted)
    short = [
        Event(author="user", content=types.UserContent("Hello")),
        Event(author="sre", content=types.ModelContent("Hello!")),
    ]
    assert EventsSummarizer().summarize(short) is None
    assert EventsSummarizer().summarize([]) is None


def test_events_that_come_again_are_summarized_again():
    events = history(20)
    summarizer = EventsSummarizer()
    first, second = summarizer.summarize(events), summarizer.summarize(events)
    assert first.actions.compaction == second.actions.compaction
    more = events + [
        event.model_copy(update={"timestamp": event.timestamp + 1_000, "id": f"more {place}"})
        for place, event in enumerate(history(20)[1:])
    ]
    third = summarizer.summarize(more[-45:]).actions.compaction
    assert third.start_timestamp == first.actions.compaction.start_timestamp


def test_what_was_taken_back_is_in_no_summary():
    async def run():
        model = scripted(
            *[step for i in range(4) for step in (("probe", {"step": i}), f"answer {i}")]
        )
        runner = runner_of(agent_of(model))
        session = await opened(runner)
        for i in range(3):
            await say(runner, session, f"request {i}")
        events = await stored_events(runner, session)
        taken_back = next(e.invocation_id for e in events if "request 1" in e.model_dump_json())
        await runner.rewind_async(
            user_id="u", session_id=session, rewind_before_invocation_id=taken_back
        )
        await say(runner, session, "another request")
        events = await stored_events(runner, session)
        return events, ContextCompactor().get_working_context(session, events)

    events, context = asyncio.run(run())
    assert len(events) > len(context.recent_events)
    said = "".join(text for content in context.contents for text in texts(content))
    assert "request 0" in said
    assert "another request" in said
    assert "request 1" not in said
    assert "request 2" not in said
