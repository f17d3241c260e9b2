"""An engine at work in real agents: as a manager, a plugin, a strategy and a view."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import copy
import gc
import logging
import re
import warnings
import weakref
from typing import Any

import pytest
from strands import Agent, tool
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.hooks import AfterToolCallEvent, BeforeModelCallEvent
from strands.session.file_session_manager import FileSessionManager
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from demo.rules import check_history, count_request
from tests.python.loop_probe import LoopProbe
from tests.python.players import TASK, Player, fetch, size_of
from ullage.strands import (
    ContextPlugin,
    ContextView,
    EngineStrategy,
    MappingConversationManager,
    ToolRouterHook,
)
from ullage.strands.session import PassiveConversationManager

from .lengths import long

WINDOW = 9_000
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
PLUGINS = [ContextPlugin, ContextView, EngineStrategy]
# Those that change the history in place, and all.
IN_PLACE = [MappingConversationManager, ContextPlugin, EngineStrategy]
SEAMS = [*IN_PLACE, ContextView]


def cascade(engine=None):
    """The manager whose layers decide, with an engine of its own."""
    return MappingConversationManager()


def engine_of(window=WINDOW, store=None, summarizer=None, **policy):
    policy = ullage.Policy(window=window, reserve_output=1_000, **policy)
    store = ullage.MemoryStore() if store is None else store
    return ullage.ContextManager(policy, store=store, summarizer=summarizer)


def given_as(seam):
    """Returns the arguments that give an agent the seam."""
    if isinstance(seam, EngineStrategy):
        # Older versions of Strands do not have the seam, or take no strategies.
        types = pytest.importorskip("strands.experimental.context_manager")
        if not hasattr(types, "ContextManagerConfig"):
            pytest.skip("context_manager= takes presets alone")
        return {"context_manager": {"strategies": [seam], "stash": False}}
    if isinstance(seam, MappingConversationManager):
        return {"conversation_manager": seam}
    if isinstance(seam, ContextView):
        pytest.importorskip("strands.middleware")
    return {"plugins": [seam]}


def agent_of(model, seam, tools=(fetch,), **more):
    given = {"model": model, "tools": list(tools), "callback_handler": None}
    return Agent(**{**given, **given_as(seam), **more})


def long_history(turns=30):
    """Requests and answers, nothing in them but words."""
    return [
        {"role": role, "content": [{"text": f"{role} {turn} " + "word " * 200}]}
        for turn in range(turns)
        for role in ("user", "assistant")
    ]


def results_of(agent):
    return [b["toolResult"] for m in agent.messages for b in m["content"] if "toolResult" in b]


class Broken:
    """A store on a full disk."""

    def __init__(self, error=None):
        self.error = error or OSError(28, "No space left")

    def put(self, content, *, reference, tool=None, **_):
        raise self.error

    def get(self, reference):
        raise self.error


FAILURES = [
    pytest.param(OSError(28, "No space left"), id="oserror"),
    pytest.param(ullage.StoreError("gone"), id="store-error"),
]


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("seam", IN_PLACE)
def test_a_long_run_stays_inside_the_window(seam, width):
    model = Player(40, width=width, words=500, window=WINDOW, limit=WINDOW, usage=True)
    engine = engine_of()
    agent = agent_of(model, seam(engine=engine), system_prompt="Be careful. " * 50)
    own = agent.messages
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    assert len(model.requests) == 41
    assert max(size for size, _ in model.requests) > 5_000, "rarely and deeply"
    assert engine.stats.compactions > 1
    assert agent.messages is own
    assert TASK in str(agent.messages[0])
    assert "elided" not in str(agent.messages), "Strands' last resort had nothing to do"
    headings = set(re.findall(r"\[\d+ from ([^\]]*)\]", str(agent.messages)))
    # One result takes all the room of a narrow run beside the account.
    assert "fetch" in headings or width == 1
    assert headings == {heading.strip() for heading in headings}


def test_without_a_manager_the_same_run_overflows():
    agent = Agent(
        model=Player(40, words=500, window=WINDOW),
        tools=[fetch],
        conversation_manager=NullConversationManager(),
        callback_handler=None,
    )
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)


@pytest.mark.parametrize("turns", [40, long(500)])
def test_many_turns_stay_inside_the_window(turns):
    model = Player(0, window=WINDOW, usage=True)
    engine = engine_of()
    agent = agent_of(model, ContextPlugin(engine))
    for turn in range(turns):
        model.rest = 1
        agent(f"Task {turn}")
    assert len(model.requests) == 2 * turns
    assert model.refused == []
    check_history([*agent.messages, {"role": "user", "content": [{"text": "next"}]}])


@pytest.mark.parametrize("window", [5, 12, long(4), long(20)])
@pytest.mark.parametrize("words", ["ok", "a longer request " * 40])
@pytest.mark.parametrize("seam", [ContextPlugin, ContextView, MappingConversationManager])
def test_a_window_in_messages_is_held_however_short_they_are(seam, words, window):
    if seam is MappingConversationManager:
        given: dict[str, Any] = {"conversation_manager": seam(window_size=window)}
    else:
        if seam is ContextView:
            pytest.importorskip("strands.middleware")
        engine = engine_of(max_messages=window, keep_recent=2)
        given = {"plugins": [seam(engine)]}
    model = Player()
    agent = Agent(model=model, callback_handler=None, **given)
    lengths = []
    for turn in range(2 * window):
        agent(f"{words} {turn}")
        lengths.append(len(model.seen))
    assert max(lengths) <= window
    assert f"{words} 0" in str(model.seen[0])


def test_an_agent_that_ends_above_the_high_mark_is_compacted_after_the_invocation():
    model = Player(1, words=8_500, window=20_000)
    manager = MappingConversationManager(engine=engine_of(20_000, high=0.1, low=0.05))
    agent = agent_of(model, manager)
    agent(TASK)
    assert size_of(agent.messages) < 6_000


def test_a_result_larger_than_the_window_is_shrunk_as_it_arrives():
    store = ullage.MemoryStore()
    model = Player(2, words=60_000, window=WINDOW)
    agent = agent_of(model, ContextPlugin(engine_of(store=store)))
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    for result in results_of(agent):
        (reference,) = [r for r in store.list() if r in result["content"][0]["text"]]
        assert store.get(reference).decode().endswith(("of the output 100", "of the output 200"))


@pytest.mark.parametrize("seam", [ContextPlugin, EngineStrategy])
def test_a_result_larger_than_the_window_is_recovered_from_where_none_is_shrunk(seam):
    """harness-sdk 4341 and 981: large, not the oldest, and the only one."""
    model = Player(3, words=40, window=60_000, limit=10**6)
    agent = agent_of(model, seam(engine_of(10**6), shrink=False))

    def huge(event: AfterToolCallEvent) -> None:
        if len(model.requests) == 2:
            rows: Any = [{"id": i, "name": f"row {i}"} for i in range(20_000)]
            event.result = {**event.result, "content": [{"json": {"rows": rows}}]}

    agent.add_hook(huge, AfterToolCallEvent)
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.refused) <= 4
    assert model.refused == sorted(set(model.refused), reverse=True)
    assert len(results_of(agent)) == 3, "no message had to leave"


@pytest.mark.parametrize("refused", [{3}, {5, 6}, {2, 4, 6}, {8, 9}], ids=str)
@pytest.mark.parametrize("seam", [*SEAMS, cascade])
def test_a_refusal_although_it_fits_is_recovered_from(seam, refused):
    model = Player(10, words=2_000, limit=10**6)
    model.refuses = lambda number: number in refused
    # Results are not shrunk as they arrive, so that there is something to remove.
    agent = agent_of(model, seam(engine=engine_of(40_000, shrink_above=30_000)))
    assert agent(TASK).stop_reason == "end_turn"
    sizes = [size for size, _ in model.requests]
    for number in refused:
        assert sizes[number] <= 0.8 * sizes[number - 1], (
            "the next try is well below what was refused"
        )


@pytest.mark.parametrize("from_request", [1, 2, 6, 16])
@pytest.mark.parametrize(
    ("seam", "most"),
    [
        (MappingConversationManager(engine=engine_of(10**6)), 11),
        (MappingConversationManager(), 11),
        *((ContextPlugin(engine_of(10**6), max_retries=most), most + 1) for most in (0, 1, 5)),
        (EngineStrategy(engine_of(10**6)), 4),
        (ContextView(engine_of(10**6), max_retries=2), 3),
    ],
)
def test_a_model_that_always_refuses_ends_with_the_overflow(seam, most, from_request):
    model = Player(20, words=600, limit=10**6)
    model.refuses = lambda number: number >= from_request
    agent = agent_of(model, seam)
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    sizes = model.refused
    assert 0 < len(sizes) <= most
    # Strands' last resort comes behind the strategy; the cascade asks this model for a summary.
    asks = isinstance(seam, MappingConversationManager) and seam.engine is None
    if not asks and not isinstance(seam, EngineStrategy):
        assert sizes == sorted(set(sizes), reverse=True), "each try is smaller than the last"
    if isinstance(seam, ContextView):
        assert len(agent.messages) == 2 * from_request - 1, "the history is whole"
    check_history(agent.messages)


def test_a_system_prompt_that_leaves_no_room_ends_with_the_overflow():
    manager = MappingConversationManager(engine=engine_of())
    agent = agent_of(Player(window=WINDOW), manager, system_prompt="word " * 20_000)
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)


def test_reduce_context_without_an_overflow_need_not_make_progress():
    manager = MappingConversationManager(engine=engine_of())
    agent = agent_of(Player(), manager)
    agent(TASK)
    before = list(agent.messages)
    manager.reduce_context(agent)
    assert agent.messages == before
    with pytest.raises(ContextWindowOverflowException) as caught:
        manager.reduce_context(agent, e=(cause := ContextWindowOverflowException("too long")))
    assert caught.value.__cause__ is cause
    assert agent.messages == before


def test_an_answer_makes_room_for_new_attempts():
    model = Player(40, words=400, window=10**6)
    model.refuses = lambda number: number % 3 == 0
    agent = agent_of(model, ContextPlugin(engine_of(10**6), max_retries=1))
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.refused) > 10


@pytest.mark.parametrize("seam", [*IN_PLACE, cascade])
def test_an_invocation_that_gave_up_leaves_the_next_its_attempts(seam):
    model = Player(0, limit=10**6, strict=False)
    agent = agent_of(model, seam(engine=engine_of(10**6)))
    model.refuses = lambda _: True
    for _ in range(2):
        agent.messages[:] = long_history()
        before = len(model.refused)
        with pytest.raises(ContextWindowOverflowException):
            agent(TASK)
        assert len(model.refused) - before > 2
    agent.messages[:] = long_history()
    last = len(model.requests) + 2
    model.refuses = lambda number: number <= last
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.requests) > last


def test_an_overflow_is_answered_with_as_much_as_can_go():
    # The task takes most of the window, so that 70 % of what was refused is out of reach.
    task = TASK + " Mind this: " + "a rule of the house. " * 2_500
    model = Player(6, words=3_000)
    model.refuses = lambda number: number == 5
    manager = MappingConversationManager(engine=engine_of(60_000, high=1.0))
    agent = agent_of(model, manager)
    assert agent(task).stop_reason == "end_turn"
    assert len(model.refused) == 1


@pytest.mark.parametrize("limit", [None, 4_096, 8_192, 32_000])
def test_a_manager_without_an_engine_takes_the_models_window(limit):
    window = limit or 200_000
    model = Player(30, words=500, limit=limit, window=window)
    manager = MappingConversationManager()
    agent = agent_of(model, manager)
    agent(TASK)
    assert manager.engine is None
    assert manager.engine_for(agent).policy.window == window
    assert model.refused == []


@pytest.mark.parametrize(
    ("model", "limit", "counter", "window", "reserve"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", None, "claude", 200_000, 4_000),
        ("us.anthropic.claude-opus-4-7", None, "claude", 1_000_000, 4_000),
        ("gpt-4", None, "cl100k_base", 8_192, 2_048),
        ("gpt-5", 32_000, "o200k_base", 32_000, 4_000),
        ("nobody-knows-it", None, "unknown", 200_000, 4_000),
        ("nobody-knows-it", 16_000, "unknown", 16_000, 4_000),
        (None, None, "o200k_base", 200_000, 4_000),
        (7, 16_000, "o200k_base", 16_000, 4_000),
    ],
)
def test_a_manager_without_an_engine_counts_and_plans_for_the_model(
    model, limit, counter, window, reserve
):
    scripted = Player(limit=limit)
    scripted.get_config = lambda: {"model_id": model, "context_window_limit": limit}
    manager = MappingConversationManager()
    agent = agent_of(scripted, manager)
    agent(TASK)
    engine = manager.engine_for(agent)
    policy = engine.policy
    assert (engine.counter.name, policy.window, policy.reserve_output) == (
        counter,
        window,
        reserve,
    )


class Reporting(Player):
    """Reports 1.3 times what the demo counts, and 5,000 tokens beside it."""

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        async for event in super().stream(messages, tool_specs, system_prompt, **more):
            yield event
        size = int(count_request(messages, tool_specs or [], system_prompt or "") * 1.3) + 5_000
        usage = {"inputTokens": size - 100, "outputTokens": 10, "totalTokens": size + 10}
        usage["cacheReadInputTokens"] = 100
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def test_the_usage_that_a_provider_reports_teaches_the_counter():
    engine = engine_of(100_000)
    agent_of(Reporting(14, words=500), MappingConversationManager(engine=engine))(TASK)
    assert 1.2 < engine.counter.scale < 1.4


def test_each_answer_teaches_the_counter_of_the_plugin_once():
    engine = engine_of(100_000)
    model = Player(14, words=800, usage=True)
    plugin = ContextPlugin(engine)
    agent = agent_of(model, plugin)
    seen: list[int] = []
    observe = engine.observe

    def noting(messages, *args, **more):
        seen.append(len(messages))
        return observe(messages, *args, **more)

    engine.observe = noting
    agent(TASK)
    assert seen == list(range(1, 31, 2)), "every prompt once, without its answer"


def test_a_report_is_learned_from_before_the_history_it_speaks_of_is_compacted():
    class Wordy(Reporting):
        """Its answers alone take an invocation above the high mark."""

        async def stream(self, *args, **kwargs):
            async for event in super().stream(*args, **kwargs):
                delta = event.get("contentBlockDelta", {}).get("delta", {})
                if "text" in delta:
                    delta["text"] = delta["text"] * 1_000
                yield event

    engine = engine_of(100_000, high=0.06, low=0.03)
    agent = agent_of(Wordy(), MappingConversationManager(engine=engine))
    for _ in range(12):
        agent(TASK)
    assert engine.stats.compactions > 3
    fixed = count_request([], agent.tool_registry.get_all_tool_specs(), "")
    assert abs(engine.status(agent.messages).fixed - 5_000 - fixed) < 300


@pytest.mark.parametrize("does", ["apply_management", "reduce_context"])
def test_the_last_report_comes_before_a_compaction(does):
    calls = []

    class Noting(ullage.ContextManager):
        def observe(self, messages, reported_tokens, cached_tokens=None):
            calls.append("observe")
            return super().observe(messages, reported_tokens, cached_tokens)

        def compact(self, *args, **kwargs):
            calls.append("compact")
            return super().compact(*args, **kwargs)

    null = {"conversation_manager": NullConversationManager()}
    agent = Agent(model=Reporting(), callback_handler=None, **null)
    agent(TASK)
    manager = MappingConversationManager(engine=Noting())
    getattr(manager, does)(agent)
    assert calls == ["observe", "compact"]
    manager.apply_management(agent)
    assert calls == ["observe", "compact", "compact"], "each report is learned from once"


def test_each_report_is_learned_from_once_where_agents_share_a_manager():
    reports = []

    class Noting(ullage.ContextManager):
        def observe(self, messages, reported_tokens, cached_tokens=None):
            reports.append(reported_tokens)
            return super().observe(messages, reported_tokens, cached_tokens)

    manager = MappingConversationManager(engine=Noting())
    agents = [agent_of(Reporting(), manager) for _ in range(2)]
    for agent in agents:
        agent(TASK)
    for agent in agents * 3:
        manager.apply_management(agent)
    assert len(reports) == len(agents)
    forgotten = weakref.ref(agents[0])
    del agent, agents
    gc.collect()
    assert forgotten() is None, "the manager keeps no agent alive"


@pytest.mark.parametrize("seam", SEAMS)
def test_one_seam_serves_several_agents(seam):
    shared = seam()
    models = [Player(20, words=500, window=size, limit=size) for size in (9_000, 14_000)]
    agents = [agent_of(model, shared) for model in models]
    for agent in agents * 2:
        assert agent(TASK).stop_reason == "end_turn"
    assert [model.refused for model in models] == [[], []]
    engine_for = getattr(shared, "engine_of", None) or shared.engine_for
    assert [engine_for(agent).policy.window for agent in agents] == [9_000, 14_000]


class Slow:
    """A store and a summarizer that take their time, one blocking a thread and one awaited."""

    def __init__(self, probe):
        self.probe = probe
        self.content: dict[str, bytes] = {}
        self.summaries = 0

    def put(self, content, *, reference, tool=None, **_):
        self.probe.work()
        self.content[reference] = content
        return reference

    def get(self, reference):
        return self.content[reference]

    async def summarize(self, _request):
        self.summaries += 1
        await self.probe.work_async()
        return "So far nothing happened."


def test_neither_summaries_nor_files_hold_up_the_event_loop():
    probe = LoopProbe()
    slow = Slow(probe)
    engine = engine_of(store=slow, summarizer=slow.summarize, shrink_above=400, shrink_to=200)
    model = Player(60, words=900, window=WINDOW)
    agent = agent_of(model, ContextPlugin(engine, retrieval=False))
    probe.run(agent.invoke_async(TASK))
    assert slow.summaries >= 1
    assert len(slow.content) > 10
    assert set(probe.was_free) == {True}


@pytest.mark.parametrize("error", FAILURES)
@pytest.mark.parametrize("seam", SEAMS)
def test_a_store_that_fails_does_not_end_a_run_that_the_provider_would_accept(seam, error, caplog):
    model = Player(16, words=3_000, limit=10**6)
    agent = agent_of(model, seam(engine=engine_of(store=Broken(error))))
    with caplog.at_level(logging.WARNING, logger="ullage"):
        assert agent(TASK).stop_reason == "end_turn"
    assert [r for r in caplog.records if r.name.startswith("ullage")]
    assert len(agent.messages) == 2 * 16 + 2


@pytest.mark.parametrize("error", FAILURES)
def test_a_store_that_fails_in_an_overflow_raises_the_overflow(error):
    model = Player(16, words=500, window=5_000)
    engine = engine_of(40_000, store=Broken(error))
    agent = agent_of(model, MappingConversationManager(engine=engine))
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    assert len(model.refused) == 1


def test_the_router_shrinks_results_and_stores_the_originals():
    store, model = ullage.MemoryStore(), Player(3, words=24_000)
    engine = engine_of(store=store)
    agent = agent_of(
        model,
        MappingConversationManager(engine=engine_of(100_000)),
        hooks=[ToolRouterHook(engine=engine)],
    )
    agent(TASK)
    assert len(results_of(agent)) == 3
    for result in results_of(agent):
        text = result["content"][0]["text"]
        assert ullage.count_tokens(text) < 1_200
        assert result["status"] == "success"
        (reference,) = [r for r in store.list() if r in text]
        assert "word 3999 of the output" in store.get(reference).decode()
    assert engine.stats.shrinks == 3


@pytest.mark.parametrize("error", FAILURES)
def test_a_router_whose_store_fails_leaves_the_result_and_logs(error, caplog):
    model = Player(1, words=24_000)
    hook = ToolRouterHook(engine=engine_of(store=Broken(error)))
    agent = agent_of(model, MappingConversationManager(engine=engine_of(100_000)), hooks=[hook])
    with caplog.at_level(logging.ERROR, logger="ullage.strands"):
        assert agent(TASK).stop_reason == "end_turn"
    assert "was left as it is" in caplog.text
    (result,) = results_of(agent)
    assert "word 3999 of the output" in result["content"][0]["text"]


@pytest.mark.parametrize("seam", IN_PLACE)
def test_what_was_done_comes_back_from_a_session(seam, tmp_path):
    """harness-sdk 4270: what strategies of Strands do is undone."""
    engine = engine_of()

    def begin(calls):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        model = Player(calls, words=500, window=WINDOW, limit=WINDOW)
        return agent_of(model, seam(engine=engine), session_manager=session, agent_id="a")

    agent = begin(30)
    agent(TASK)
    assert engine.stats.compactions
    for _ in range(3):
        twin = begin(4)
        assert [m["content"] for m in twin.messages] == [m["content"] for m in agent.messages]
        assert twin("more").stop_reason == "end_turn"
        agent = twin


def test_a_message_that_a_plugin_pinned_stays():
    model = Player(40, words=500, window=WINDOW)
    agent = agent_of(model, MappingConversationManager(engine=engine_of()))

    def pin(event: BeforeModelCallEvent) -> None:
        if len(event.agent.messages) == 3:
            event.agent.messages[1]["metadata"] = {"custom": {"pinned": True}}
            event.agent.messages[2]["metadata"] = {"custom": {"pinned": True}}
            pinned.extend(event.agent.messages[1:3])

    pinned: list[Any] = []
    agent.hooks.add_callback(BeforeModelCallEvent, pin)
    agent(TASK)
    assert len(agent.messages) < 80
    assert all(any(m is one for m in agent.messages) for one in pinned)


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (ullage.Policy(), r"got Policy; give it as policy=$"),
        (ullage.MemoryStore(), r"got MemoryStore; give it as store=$"),
        ("gpt-4o", r"got str; give it as model=$"),
        (42, r"got int$"),
    ],
)
@pytest.mark.parametrize("seam", [*SEAMS, ToolRouterHook])
def test_what_is_no_engine_is_rejected_with_the_way_to_give_it(seam, wrong, remedy):
    with pytest.raises(ullage.PolicyError, match="^engine must be a ContextManager; " + remedy):
        seam(engine=wrong)


@pytest.mark.parametrize("seam", PLUGINS)
def test_policy_store_and_model_make_an_engine_and_the_rest_is_for_the_model_of_the_agent(seam):
    agent = Agent(model=Player(limit=50_000), callback_handler=None)
    policy, store = ullage.Policy(window=10_000, reserve_output=1_000), ullage.MemoryStore()
    assert seam(policy=policy).engine_of(agent).policy.window == 10_000
    assert seam(store=store).engine_of(agent).store is store
    assert seam(store=store).engine_of(agent).policy.window == 50_000
    known = ullage.model_limits("gpt-4o").window
    assert seam(model="gpt-4o").engine_of(agent).policy.window == known != 50_000
    for wrong in ({"policy": "amplifier"}, {"store": "artifacts"}, {"model": agent.model}):
        with pytest.raises(ullage.PolicyError, match=next(iter(wrong))):
            seam(**wrong)
    for more in ({"policy": policy}, {"store": store}, {"model": "gpt-4o"}):
        with pytest.raises(ullage.PolicyError, match="give an engine, or"):
            seam(engine_of(), **more)


@pytest.mark.parametrize("seam", SEAMS)
def test_a_prompt_that_cannot_fit_is_named_in_the_error(seam):
    model = Player(window=WINDOW, limit=WINDOW)
    agent = Agent(model=model, callback_handler=None, **given_as(seam()))
    pinned: Any = {"role": "user", "content": [{"text": "word " * 2 * WINDOW}]}
    pinned["metadata"] = {"custom": {"pinned": True}}
    agent.messages.append(pinned)
    agent.messages.append({"role": "assistant", "content": [{"text": "What now?"}]})
    words = r"cannot be made smaller than [\d,]+ tokens.*: message 0 \([\d,]+ tokens\)"
    with pytest.raises(ContextWindowOverflowException, match=words) as raised:
        agent("short")
    assert str(raised.value.__cause__).startswith("prompt is too long")
    agent.messages[:] = long_history()
    agent("short")


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("other", [ContextView, MappingConversationManager])
def test_two_seams_on_one_agent_are_warned_of(seam, other, caplog):
    if seam is other:
        pytest.skip("an agent has one of a kind")
    one, two = given_as(seam()), given_as(other())
    if "conversation_manager" in two and "context_manager" in one:
        pytest.skip("Strands itself warns, and ignores the manager")
    for given in (one, two):
        Agent(model=Player(), callback_handler=None, **given)
    assert "use only one" not in caplog.text
    plugins = [*one.get("plugins", ()), *two.get("plugins", ())]
    Agent(model=Player(), callback_handler=None, **{**one, **two, "plugins": plugins})
    assert {seam.__name__, other.__name__} <= set(re.findall(r"\w+", caplog.text))
    assert "use only one" in caplog.text


def test_the_agent_reads_back_what_was_shrunk():
    agent = agent_of(Player(1, words=60_000), ContextPlugin())
    agent(TASK)
    text = results_of(agent)[0]["content"][0]["text"]
    plugin_store = agent._plugin_registry._plugins["ullage:context"].engine_of(agent).store
    (reference,) = [r for r in plugin_store.list() if r in text]
    answer = agent.tool.retrieve(reference=reference, pattern="word 77 ")
    assert "word 77 of the output" in answer["content"][0]["text"]


@pytest.mark.parametrize("seam", [ContextPlugin, EngineStrategy])
@pytest.mark.parametrize(
    "given", [{}, {"policy": ullage.Policy(window=WINDOW)}], ids=["", "policy"]
)
def test_a_restored_agent_reads_back_what_was_shrunk_before(seam, given, tmp_path, caplog):
    def begin(calls):
        return Agent(
            model=Player(calls, words=60_000, window=WINDOW, limit=WINDOW),
            tools=[fetch],
            agent_id="a",
            session_manager=FileSessionManager("s", storage_dir=str(tmp_path)),
            callback_handler=None,
            **given_as(seam(**given)),
        )

    begin(1)(TASK)
    twin = begin(0)
    (result,) = results_of(twin)
    (reference,) = ullage._core.references_in(result["content"][0]["text"])
    answer = twin.tool.retrieve(reference=reference, pattern="word 77 ")
    assert "word 77 of the output" in answer["content"][0]["text"]
    assert "originals are in memory" not in caplog.text
    twin._session_manager.delete_session("s")
    assert not list(tmp_path.iterdir()), "they are deleted with the session"


@pytest.mark.parametrize("seam", PLUGINS)
@pytest.mark.parametrize("kept", [True, False])
def test_a_session_whose_originals_would_be_lost_is_warned_of(seam, kept, tmp_path, caplog):
    session = RepositorySessionManager("s", FileSessionManager("s", storage_dir=str(tmp_path)))
    store = ullage.FileStore(tmp_path / "artifacts") if kept else None
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Agent(model=Player(), session_manager=session, **given_as(seam(store=store)))
    assert ("originals are in memory" in caplog.text) is not kept
    lost = [w.category for w in found if "originals" in str(w.message)]
    assert lost == [ullage.UllageWarning] * (not kept)


def test_a_tool_of_the_agent_is_not_replaced_by_the_retrieval_tool():
    @tool
    def retrieve(reference: str) -> str:
        """Mine."""
        return f"mine {reference}"

    agent = agent_of(Player(), ContextPlugin(engine_of()), tools=[retrieve])
    assert "mine x" in str(agent.tool.retrieve(reference="x"))


@pytest.mark.parametrize(
    ("manager", "kind"),
    [
        (None, PassiveConversationManager),
        (NullConversationManager(), PassiveConversationManager),
        (SlidingWindowConversationManager(10), SlidingWindowConversationManager),
        (SlidingWindowConversationManager(per_turn=True), SlidingWindowConversationManager),
    ],
)
def test_a_manager_that_was_asked_for_stays(manager, kind):
    given = {} if manager is None else {"conversation_manager": manager}
    agent = agent_of(Player(30, strict=False), ContextPlugin(engine_of(10**6)), **given)
    assert type(agent.conversation_manager) is kind
    agent(TASK)
    if kind is PassiveConversationManager:
        assert len(agent.messages) == 62, "no window of 40 messages"


def test_pictures_and_documents_are_counted_and_kept_apart():
    model = Player(12, words=500, window=WINDOW)
    agent = agent_of(model, ContextPlugin(engine_of()))
    document: Any = {
        "document": {"format": "txt", "name": "notes", "source": {"bytes": b"words " * 50}}
    }
    picture: Any = {"image": {"format": "png", "source": {"bytes": PNG}}}

    def show(event: AfterToolCallEvent) -> None:
        content = [*event.result["content"], copy.deepcopy(picture), copy.deepcopy(document)]
        event.result = {**event.result, "content": content}

    agent.add_hook(show, AfterToolCallEvent)
    agent([{"text": TASK}, picture, document])
    assert model.refused == []
    assert agent.messages[0]["content"][1:3] == [picture, document]


def test_it_is_what_strands_calls_a_strategy():
    types = pytest.importorskip("strands.experimental.context_manager")
    assert isinstance(EngineStrategy(), types.ContextStrategy)
