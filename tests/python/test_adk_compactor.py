"""The compactor of sessions: its trigger, its budget, and that nothing is lost between two calls."""

# mypy: disable-error-code="arg-type,attr-defined,misc,no-any-return,override,type-arg,union-attr"

import asyncio
import copy
import json
import random
import threading

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.sessions import InMemorySessionService
from google.genai import types

import ullage
from tests.python.adk_host import (
    PAYLOADS,
    TASK,
    answer,
    call,
    check,
    history,
    opened,
    runner_of,
    say,
    scripted,
    stored_events,
)
from tests.python.test_adk_compaction import all_text, closed, compactions, sessions_of, texts
from ullage.adk import (
    CompactionConfig,
    ContextCompactor,
    SessionSummary,
    Summarizer,
    SummarySettings,
    get_context_compactor,
)
from ullage.adk.prior_summary import HEADER

from .lengths import first

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")


def words(text, *, author="sre", at=2_000.0):
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, invocation_id="i1", timestamp=at, content=content)


def tokens(contents):
    return ullage.TokenCounter.for_model("gemini-2.5-flash").count_messages(contents, "gemini")


@pytest.mark.parametrize("ids", ["present", "stripped"])
@pytest.mark.parametrize("pairs", [0, 1, 4, 5, 10, 40, 200])
def test_a_working_context_is_valid_and_inside_its_budget(pairs, ids):
    events = history(pairs, ids=ids)
    before = copy.deepcopy(events)
    compactor = ContextCompactor(store=ullage.MemoryStore())
    context = compactor.get_working_context("s", events)
    check(context.contents)
    assert tokens(context.contents) == context.total_token_estimate <= 32_000
    assert events == before, "stored events are as they were"
    assert TASK in "".join(text for one in context.contents for text in texts(one))
    if pairs >= 40:
        assert context.compaction_applied
        assert len(context.recent_events) >= 5
        assert context.summary.last_compaction_turn + len(context.recent_events) == len(events)


def dict_of(event, form=json.dumps):
    """An event as the runner of an SRE agent has it."""
    (part,) = event.content.parts
    if part.function_call:
        return {"type": "tool_call", "tool_name": part.function_call.name, "content": ""}
    if part.function_response:
        answered = part.function_response
        said = form(answered.response)
        return {"type": "tool_output", "tool_name": answered.name, "content": said, "order": 1}
    return {"type": "user_message", "content": part.text, "timestamp": "2026-01-25T10:00:00Z"}


@pytest.mark.parametrize("form", [json.dumps, dict, str], ids=["json", "dict", "python"])
@pytest.mark.parametrize("pairs", [0, 5, 40])
def test_events_may_be_dicts(pairs, form):
    events = history(pairs)
    dicts = [dict_of(event, form) for event in events]
    before = copy.deepcopy(dicts)
    compactor = ContextCompactor()
    assert compactor.should_compact(dicts) is ContextCompactor().should_compact(events)
    context = compactor.get_working_context("s", dicts)
    assert dicts == before
    check(context.contents)
    assert tokens(context.contents) == context.total_token_estimate <= 32_000
    assert TASK in "".join(text for one in context.contents for text in texts(one))
    turn = context.summary.last_compaction_turn
    assert len(context.recent_events) == len(dicts) - turn
    assert all(a is b for a, b in zip(context.recent_events, dicts[turn:], strict=True))
    with_events = ContextCompactor().get_working_context("s", events)
    assert context.compaction_applied is with_events.compaction_applied is (pairs >= 40)
    assert context.summary.tools_used == with_events.summary.tools_used
    assert context.summary.key_findings == with_events.summary.key_findings
    again = compactor.get_working_context("s", [*dicts, {"type": "user_message", "content": "On."}])
    assert not again.compaction_applied, "what was summarized is known"
    assert again.summary == context.summary


def test_odd_dicts_are_events_too():
    odd = [
        {},
        {"type": "tool_output", "content": "no call"},
        {"type": "tool_output", "tool_name": "look", "content": "{broken"},
        {"type": "tool_call", "tool_name": "look", "content": '{"number": 1}'},
        {"type": "tool_call", "tool_name": "look", "content": None},
        {"type": "user_message", "content": ""},
        {"type": "approval_pending", "content": {"tool": "erase"}},
        {"type": "user_message", "content": "And then?", "timestamp": ""},
        {"type": "model_thought", "content": "I look."},
    ]
    context = ContextCompactor().get_working_context("s", odd)
    assert ullage.validate(context.contents, "gemini") == []
    assert context.recent_events == odd
    lines = Summarizer().summarize_events(odd).summary_text
    assert "• Called tool: look(number=1)" in lines
    assert "• User: And then?" in lines
    assert "• agent: I look." in lines


def test_a_compactor_is_shared_by_its_configuration():
    small = CompactionConfig(token_budget=5_000, compaction_trigger_tokens=4_000)
    assert get_context_compactor() is get_context_compactor(CompactionConfig())
    assert get_context_compactor(small) is not get_context_compactor()
    assert get_context_compactor(small).config == small


def test_below_the_trigger_or_of_few_events_everything_stays():
    small = history(12)[:1] + [words(f"step {i}", at=2_000.0 + i) for i in range(40)]
    compactor = ContextCompactor()
    context = compactor.get_working_context("s", small)
    assert context.recent_events == small
    assert not context.compaction_applied
    assert context.summary == SessionSummary()
    few = [words("x" * 30_000, at=2_000.0 + i) for i in range(9)]
    assert not compactor.should_compact(few)
    assert compactor.should_compact(
        [words("lorem ipsum " * 3_000, at=2_000.0 + i) for i in range(10)]
    )


@pytest.mark.parametrize("size", [40_000, 400_000])
def test_the_budget_is_kept_where_the_newest_events_alone_are_too_long(size):
    events = history(2) + [
        one
        for i in range(5)
        for one in (
            Event(
                author="sre",
                timestamp=3_000.0 + 2 * i,
                content=types.ModelContent([call("big", f"b{i}")]),
            ),
            Event(
                author="sre",
                timestamp=3_001.0 + 2 * i,
                content=types.UserContent(
                    [answer("big", f"b{i}", {"result": "word and " * (size // 9)})]
                ),
            ),
        )
    ]
    store = ullage.MemoryStore()
    context = ContextCompactor(store=store).get_working_context("s", events)
    check(context.contents)
    assert context.total_token_estimate <= 32_000
    assert store.list(), "what had no room is stored"


def test_what_cannot_be_brought_inside_the_budget_is_an_error():
    long = words("word and " * 20_000, author="user")
    assert ContextCompactor().get_working_context("s", [long]).total_token_estimate <= 32_000
    asked = types.ModelContent([call("look", "c", query=[*range(3_000)])])
    answered = types.UserContent([answer("look", "c", {"result": "seen"})])
    events = [
        words("Look.", author="user", at=1.0),
        *(Event(author="sre", timestamp=2.0, content=content) for content in (asked, answered)),
    ]
    with pytest.raises(ullage.BudgetError):
        ContextCompactor(small(500)).get_working_context("s", events)
    with pytest.raises(ullage.PolicyError, match=r"token_budget: must be at least 500.*got 499"):
        small(499)


def small(budget):
    return CompactionConfig(token_budget=budget, compaction_trigger_tokens=budget * 3 // 4)


@pytest.mark.parametrize("given", [None, SummarySettings(tokens=8_000)], ids=["default", "long"])
@pytest.mark.parametrize("budget", first(2, [500, 4_000, 600, 1_000, 2_000]))
def test_a_summary_is_sized_to_a_small_budget(budget, given):
    compactor = ContextCompactor(small(budget), settings=given, store=ullage.MemoryStore())
    for pairs in (1, 5, 20, 60):
        # One session after the other: what was summarized is gone on with.
        events = history(pairs, text=" Look at everything." * 100)
        events.append(words("And then? " * 40, author="user", at=5_000.0))
        for session in ("s", f"only {pairs}"):
            context = compactor.get_working_context(session, events)
            assert context.total_token_estimate <= budget
            assert ullage.validate(context.contents, "gemini") == []
    assert context.summary.summary_text


@pytest.mark.parametrize("by", ["argument", "session"])
def test_a_summary_of_others_gives_way_to_a_small_budget(by):
    events = history(5)
    long = "".join(f"We know fact {number}.\n" for number in range(2_000))
    compactor = ContextCompactor(small(600))
    if by == "argument":
        context = compactor.get_working_context("s", events, SessionSummary(long, [], [], 5))
    else:
        made = EventCompaction(
            start_timestamp=0.0, end_timestamp=1_003.0, compacted_content=types.ModelContent(long)
        )
        actions = EventActions(compaction=made)
        events.append(Event(author="user", timestamp=6_000.0, actions=actions))
        context = compactor.get_working_context("s", events)
    assert context.total_token_estimate <= 600
    assert "We know fact" in all_text(context)


def test_nothing_is_lost_between_two_compactions_nor_summarized_twice():
    compactor = ContextCompactor(settings=SummarySettings(tokens=8_000))
    events = history(200)
    for end in range(5, len(events) + 1, 14):
        context = compactor.get_working_context("s", events[:end])
        assert context.summary.last_compaction_turn + len(context.recent_events) == end
        assert ullage.validate(context.contents, "gemini") == []
    lines = context.summary.summary_text.splitlines()
    called = [line for line in lines if line.startswith("• Called tool")]
    for i in range(150, 190):
        assert sum(f"'{i} min'" in line for line in called) == 1
    stats = compactor.get_compaction_stats("s")
    assert stats["compactions"] > 2
    assert stats["events_compacted"] == context.summary.last_compaction_turn
    assert 0 < stats["summary_tokens"] <= 8_000
    compactor.clear_session("s")
    assert compactor.get_compaction_stats("s")["compactions"] == 0


def test_a_summary_that_is_given_is_gone_on_from():
    events = history(60)
    given = SessionSummary("We know: the database is fine.", last_compaction_turn=41)
    context = ContextCompactor().get_working_context("s", events, given)
    assert "the database is fine" in context.summary.summary_text
    assert "'15 min'" not in context.summary.summary_text
    assert "'50 min'" in context.summary.summary_text
    assert context.summary.last_compaction_turn + len(context.recent_events) == len(events)
    assert context.summary.tools_used == sorted(PAYLOADS)


def test_summaries_do_not_grow():
    compactor = ContextCompactor(settings=SummarySettings(tokens=1_000))
    events: list[Event] = []
    sizes = []
    for turn in range(8):
        events += history(20, start=10_000.0 * turn)
        context = compactor.get_working_context("s", events)
        sizes.append(tokens([types.UserContent(context.summary.summary_text)]))
    assert max(sizes) <= 1_100
    assert len(context.contents) < 60


def test_sessions_and_threads_do_not_mix():
    compactor = ContextCompactor()
    failed: list[str] = []

    def work(place):
        for _ in range(2):
            events = history(15, text=f" ({place})")
            context = compactor.get_working_context(f"session {place}", events)
            said = "".join(text for one in context.contents for text in texts(one))
            if f"({place})" not in said or any(f"({n})" in said for n in range(4) if n != place):
                failed.append(said[:200])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for place in range(1_100):
        compactor.get_working_context(f"many {place}", history(0))
    assert len(compactor._sessions) <= 1_000


@pytest.mark.parametrize("seed", first(12, range(40)))
def test_random_histories_stay_valid_wherever_they_are_compacted(seed):
    chance = random.Random(seed)
    events: list[Event] = [words(TASK, author="user", at=1.0)]
    while len(events) < chance.randint(8, 60):
        kind = chance.choice(["calls", "calls", "words", "request", "dead", "late"])
        at = events[-1].timestamp + chance.choice([0.0, 0.5])
        ids = [f"c{len(events)}-{n}" for n in range(chance.randint(1, 3))]
        invocation = f"i{len(events) // 10}"
        if kind in {"words", "request"}:
            text = "word " * chance.randint(1, 3_000)
            events.append(words(text, author="user" if kind == "request" else "sre", at=at))
            continue
        parts = [call("probe", one, text="y" * chance.randint(0, 2_000)) for one in ids]
        content = types.Content(role="model", parts=parts)
        events.append(Event(author="sre", invocation_id=invocation, timestamp=at, content=content))
        if kind == "dead":
            continue
        if kind == "late":
            events.append(words("meanwhile", at=at))
        results = [answer("probe", one, {"r": "z" * chance.randint(0, 9_000)}) for one in ids]
        content = types.Content(role="user", parts=results)
        events.append(Event(author="sre", invocation_id=invocation, timestamp=at, content=content))
    config = CompactionConfig(
        token_budget=12_000,
        compaction_trigger_tokens=chance.choice([500, 4_000, 12_000]),
        recent_events_count=chance.randint(0, 8),
        min_events_for_compaction=chance.randint(0, 10),
    )
    compactor = ContextCompactor(config, store=ullage.MemoryStore())
    for end in range(1, len(events) + 1):
        context = compactor.get_working_context("s", events[:end])
        assert ullage.validate(context.contents, "gemini") == []
        assert context.total_token_estimate <= 12_000
        assert context.contents[0].role == "user"


async def turns(service, compactor, count):
    """A runner that compacts the session before each turn."""
    session = None
    for turn in range(count):
        names = list(PAYLOADS)
        steps = [(names[(turn * 8 + i) % len(names)], {"step": turn * 8 + i}) for i in range(8)]
        model = scripted(*steps)
        runner = runner_of(LlmAgent(name="sre", model=model, tools=tools()), sessions=service)
        session = session or await opened(runner)
        found = await service.get_session(app_name="test", user_id="u", session_id=session)
        await compactor.compact(found, service)
        await say(runner, session, f"request {turn}")
    return model, await stored_events(runner, session)


def tools():
    def tool_of(name, payload):
        def tool(step: int) -> dict:
            return payload(step)

        tool.__name__ = name
        tool.__doc__ = name
        return tool

    return [tool_of(name, payload) for name, payload in PAYLOADS.items()]


@pytest.mark.parametrize("kind", first(2, ["memory", "sqlite", "database"]))
def test_a_runner_compacts_its_sessions_and_goes_on(kind, tmp_path):
    make = sessions_of(kind, tmp_path)

    async def run():
        service = make()
        model, events = await turns(service, ContextCompactor(small(12_000)), 5)
        await closed(service)
        # Another process, with nothing in its memory.
        service = make()
        compactor = ContextCompactor()
        resumed = scripted(*[("find_tickets", {"step": i}) for i in range(3)])
        runner = runner_of(LlmAgent(name="sre", model=resumed, tools=tools()), sessions=service)
        listed = await service.list_sessions(app_name="test", user_id="u")
        (session,) = listed.sessions
        found = await service.get_session(app_name="test", user_id="u", session_id=session.id)
        await compactor.compact(found, service)
        await say(runner, session.id, "And then?")
        await closed(service)
        return model, events, resumed

    model, events, resumed = asyncio.run(run())
    made = compactions(events)
    assert len(made) > 2
    assert len({one.actions.compaction.start_timestamp for one in made}) == 1
    assert all(tokens([one.actions.compaction.compacted_content]) < 3_000 for one in made)
    last = model.seen[-1]
    assert texts(last.contents[0])[0].startswith(HEADER)
    assert "request 4" in all_text(last)
    assert "request 0" in all_text(last), "the first request is a line of the summary"
    assert "And then?" in all_text(resumed.seen[-1])
    for request in (*model.seen, *resumed.seen):
        assert tokens(request.contents) < 60_000


def test_a_session_that_needs_no_compaction_is_left_alone():
    async def run():
        service = InMemorySessionService()
        session = await service.create_session(app_name="test", user_id="u")
        for event in history(2):
            await service.append_event(session=session, event=event)
        return await ContextCompactor().compact(session, service), len(session.events)

    assert asyncio.run(run()) == (None, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"token_budget": 499},
        {"compaction_trigger_tokens": 0},
        {"compaction_trigger_tokens": 40_000},
        {"recent_events_count": -1},
        {"min_events_for_compaction": -1},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ullage.PolicyError):
        CompactionConfig(**wrong)
    assert ContextCompactor(CompactionConfig(chars_per_token=4)).counter.count("abcd" * 100) == 100
