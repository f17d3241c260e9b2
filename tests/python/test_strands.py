"""The adapter under real Strands agents, with a scripted model that is as strict as a provider."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import gc
import json
import logging
import weakref
from typing import Any

import pytest
from strands import Agent, tool
from strands.hooks import BeforeModelCallEvent
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from demo.rules import check_history, check_task, count_request
from ullage.strands import MappingConversationManager, ToolRouterHook

TASK = "The first task: fetch what there is and sum it up."
RUNAWAY = 150


class Scripted(Model):
    """Calls `fetch` so many times and then answers; refuses what a provider would."""

    def __init__(self, calls=0, words=500, window=9_000, limit=None, refuses=None):
        self.rest, self.words, self.window, self.limit = calls, words, window, limit
        self.refuses = refuses or (lambda _number: False)
        self.requests: list[tuple[int, bool]] = []

    def update_config(self, **_):
        pass

    def get_config(self):
        return {"model_id": "scripted"} | (
            {"context_window_limit": self.limit} if self.limit else {}
        )

    async def structured_output(self, *_, **__):
        raise NotImplementedError
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        assert len(self.requests) < RUNAWAY, "retries without progress"
        check_history(messages)
        check_task(messages, TASK)
        size = count_request(messages, tool_specs or [], system_prompt or "")
        fits = size <= self.window and not self.refuses(len(self.requests) + 1)
        self.requests.append((size, fits))
        if not fits:
            raise ContextWindowOverflowException(f"prompt is too long: {size} tokens")
        calls, self.rest = self.rest > 0, self.rest - 1
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": f"answer {len(self.requests)}"}}}
        yield {"contentBlockStop": {}}
        if calls:
            use = {"toolUseId": f"call-{id(self)}-{len(self.requests)}", "name": "fetch"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {
                "contentBlockDelta": {
                    "delta": {"toolUse": {"input": json.dumps({"words": self.words})}}
                }
            }
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}

    @property
    def refused(self):
        return [size for size, fits in self.requests if not fits]


@tool
def fetch(words: int) -> str:
    """Fetch so many words."""
    return "\n".join(f"word {i} of the output" for i in range(words // 5))


def agent_of(model, manager, **more):
    return Agent(
        model=model, tools=[fetch], conversation_manager=manager, callback_handler=None, **more
    )


def engine_of(window=9_000, store=None, **policy):
    policy = ullage.Policy(window=window, reserve_output=1_000, **policy)
    return ullage.ContextManager(policy, store=store if store is not None else ullage.MemoryStore())


class Broken:
    def __init__(self, error):
        self.error = error

    def put(self, content, *, reference, tool=None, **_):
        raise self.error

    def get(self, reference):
        raise self.error


FAILURES = [
    pytest.param(OSError(28, "No space left"), id="oserror"),
    pytest.param(ullage.StoreError("gone"), id="store-error"),
]


def test_the_history_is_compacted_before_a_call_overflows():
    model = Scripted(calls=40)
    manager = MappingConversationManager(engine=engine_of())
    agent = agent_of(model, manager, system_prompt="Be careful. " * 50)
    own = agent.messages
    result = agent(TASK)
    assert result.stop_reason == "end_turn"
    assert len(model.requests) == 41
    assert model.refused == []
    assert max(size for size, _ in model.requests) > 5_000, "rarely and deeply"
    assert agent.messages is own
    assert manager.engine.stats.compactions >= 2


def test_without_a_manager_the_same_run_overflows():
    from strands.agent.conversation_manager import NullConversationManager

    with pytest.raises(ContextWindowOverflowException):
        agent_of(Scripted(calls=40), NullConversationManager())(TASK)


def test_an_agent_that_ends_above_the_high_mark_is_compacted_after_the_invocation():
    model = Scripted(calls=1, words=8_500, window=20_000)
    manager = MappingConversationManager(engine=engine_of(window=20_000, high=0.1, low=0.05))
    agent = agent_of(model, manager)
    agent(TASK)
    assert count_request(agent.messages, [], "") < 6_000


@pytest.mark.parametrize("refused", [{3}, {5, 6}, {2, 4, 6}, {8, 9}], ids=str)
def test_a_refusal_although_it_fits_is_recovered_from(refused):
    model = Scripted(calls=8, refuses=lambda number: number in refused)
    agent = agent_of(model, MappingConversationManager(engine=engine_of(window=40_000)))
    if refused == {3}:
        model.words = 2_000
    assert agent(TASK).stop_reason == "end_turn"
    sizes = [size for size, _ in model.requests]
    for number in refused:
        assert sizes[number] <= 0.8 * sizes[number - 1], (
            "the next try is well below what was refused"
        )


@pytest.mark.parametrize("from_request", [1, 2, 6])
def test_a_model_that_always_refuses_ends_with_the_overflow(from_request):
    model = Scripted(calls=10, refuses=lambda number: number >= from_request)
    agent = agent_of(model, MappingConversationManager(engine=engine_of(window=40_000)))
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    sizes = model.refused
    assert sizes == sorted(set(sizes), reverse=True), "each try is smaller than the last"
    assert len(sizes) < 12


def test_a_system_prompt_that_leaves_no_room_ends_with_the_overflow():
    agent = agent_of(
        Scripted(), MappingConversationManager(engine=engine_of()), system_prompt="word " * 20_000
    )
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)


def test_reduce_context_without_an_overflow_need_not_make_progress():
    manager = MappingConversationManager(engine=engine_of())
    agent = agent_of(Scripted(), manager)
    agent(TASK)
    before = list(agent.messages)
    manager.reduce_context(agent)
    assert agent.messages == before
    with pytest.raises(ContextWindowOverflowException) as caught:
        manager.reduce_context(agent, e=(cause := ContextWindowOverflowException("too long")))
    assert caught.value.__cause__ is cause
    assert agent.messages == before


@pytest.mark.parametrize("limit", [None, 4_096, 8_192, 32_000])
def test_a_manager_without_an_engine_takes_the_models_window(limit):
    window = limit or 200_000
    model = Scripted(calls=30, limit=limit, window=window)
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
    scripted = Scripted(limit=limit)
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


class Reporting(Scripted):
    """Reports 1.3 times what it counts, and 5,000 tokens beside it."""

    async def stream(self, *args, **kwargs):
        async for event in super().stream(*args, **kwargs):
            yield event
        size = int(self.requests[-1][0] * 1.3) + 5_000
        usage = {"inputTokens": size - 100, "outputTokens": 10, "totalTokens": size + 10}
        usage["cacheReadInputTokens"] = 100
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def test_the_usage_that_a_provider_reports_teaches_the_counter():
    engine = engine_of(window=100_000)
    agent_of(Reporting(calls=14, window=100_000), MappingConversationManager(engine=engine))(TASK)
    assert 1.2 < engine.counter.scale < 1.4


def test_a_report_is_learned_from_before_the_history_it_speaks_of_is_compacted():
    class Wordy(Reporting):
        """Its answers alone take an invocation above the high mark."""

        async def stream(self, *args, **kwargs):
            async for event in super().stream(*args, **kwargs):
                delta = event.get("contentBlockDelta", {}).get("delta", {})
                if "text" in delta:
                    delta["text"] = delta["text"] * 1_000
                yield event

    engine = engine_of(window=100_000, high=0.06, low=0.03)
    agent = agent_of(Wordy(window=100_000), MappingConversationManager(engine=engine))
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

    from strands.agent.conversation_manager import NullConversationManager

    agent = agent_of(Reporting(), NullConversationManager())
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


def test_a_manager_may_be_shared_by_agents():
    manager = MappingConversationManager(engine=engine_of())
    models = [Scripted(calls=20, words=400 + 200 * i) for i in range(2)]
    agents = [agent_of(model, manager) for model in models]
    for agent in agents * 2:
        assert agent(TASK).stop_reason == "end_turn"
    assert [model.refused for model in models] == [[], []]


@pytest.mark.parametrize("error", FAILURES)
def test_a_store_that_fails_does_not_end_a_run_that_the_provider_would_accept(error, caplog):
    model = Scripted(calls=16, window=100_000)
    agent = agent_of(model, MappingConversationManager(engine=engine_of(store=Broken(error))))
    with caplog.at_level(logging.WARNING, logger="ullage"):
        assert agent(TASK).stop_reason == "end_turn"
    assert [r for r in caplog.records if r.name.startswith("ullage")]
    assert len(agent.messages) == 2 * 16 + 2


@pytest.mark.parametrize("error", FAILURES)
def test_a_store_that_fails_in_an_overflow_raises_the_overflow(error):
    model = Scripted(calls=16, window=5_000)
    agent = agent_of(
        model, MappingConversationManager(engine=engine_of(window=40_000, store=Broken(error)))
    )
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    assert len(model.refused) == 1


def test_the_router_shrinks_results_and_stores_the_originals():
    store, model = ullage.MemoryStore(), Scripted(calls=3, words=20_000, window=100_000)
    engine = engine_of(store=store)
    agent = agent_of(
        model,
        MappingConversationManager(engine=engine_of(window=100_000)),
        hooks=[ToolRouterHook(engine=engine)],
    )
    agent(TASK)
    results = [b["toolResult"] for m in agent.messages for b in m["content"] if "toolResult" in b]
    assert len(results) == 3
    for result in results:
        text = result["content"][0]["text"]
        assert ullage.count_tokens(text) < 1_200
        assert result["status"] == "success"
        (reference,) = [r for r in store.list() if r in text]
        assert store.get(reference).decode() == "\n".join(
            f"word {i} of the output" for i in range(4_000)
        )
    assert engine.stats.shrinks == 3


@pytest.mark.parametrize("error", FAILURES)
def test_a_router_whose_store_fails_leaves_the_result_and_logs(error, caplog):
    model = Scripted(calls=1, words=20_000, window=100_000)
    hook = ToolRouterHook(engine=engine_of(store=Broken(error)))
    agent = agent_of(
        model, MappingConversationManager(engine=engine_of(window=100_000)), hooks=[hook]
    )
    with caplog.at_level(logging.ERROR, logger="ullage.strands"):
        assert agent(TASK).stop_reason == "end_turn"
    assert "was left as it is" in caplog.text
    (result,) = [b["toolResult"] for m in agent.messages for b in m["content"] if "toolResult" in b]
    assert result["content"][0]["text"].endswith("word 3999 of the output")


def test_a_session_is_restored_with_its_task_and_a_valid_history(tmp_path):
    def session():
        return {
            "session_manager": FileSessionManager(session_id="s", storage_dir=str(tmp_path)),
            "agent_id": "a",
        }

    agent = agent_of(
        Scripted(calls=40), MappingConversationManager(engine=engine_of()), **session()
    )
    agent(TASK)
    before = agent.messages
    restored = agent_of(
        Scripted(calls=3), MappingConversationManager(engine=engine_of()), **session()
    )
    check_history([*restored.messages, {"role": "user", "content": [{"text": "next"}]}])
    check_task(restored.messages, TASK)
    assert restored.messages[-1]["content"] == before[-1]["content"]
    assert restored("Go on.").stop_reason == "end_turn"


def test_a_message_that_a_plugin_pinned_stays():
    model = Scripted(calls=40)
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


def test_an_overflow_is_answered_with_as_much_as_can_go():
    # The task takes most of the window, so that 70 % of what was refused is out of reach.
    task = TASK + " Mind this: " + "a rule of the house. " * 2_500
    model = Scripted(calls=6, words=3_000, window=200_000, refuses=lambda number: number == 5)
    manager = MappingConversationManager(engine=engine_of(window=60_000, high=1.0))
    agent = agent_of(model, manager)
    assert agent(task).stop_reason == "end_turn"
    assert len(model.refused) == 1
