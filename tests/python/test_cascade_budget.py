"""The budget of the cascade: the estimate, its fallbacks, the thresholds, and what is logged."""

# mypy: disable-error-code="arg-type,list-item,assignment,attr-defined,union-attr,method-assign,override"

import asyncio
import copy
import importlib.util
import logging
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from strands import Agent
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent
from strands.types.exceptions import ContextWindowOverflowException

import ullage.strands
from tests.python.players import TASK, Player, fetch
from ullage.strands import (
    CascadeSettings,
    MappingConversationManager,
    PromptBudgetHook,
    _ensure_prompt_within_budget,
    _estimate_prompt_tokens,
    _strip_reasoning_content,
    clear_shared_conversation_manager,
    get_shared_conversation_manager,
    is_prompt_cached,
    register_conversation_manager,
    settings,
    supports_prompt_cache,
    system_prompt_for,
)
from ullage.strands.settings import zones


@pytest.fixture(autouse=True)
def _unshared():
    yield
    clear_shared_conversation_manager()


def text(role, characters):
    return {"role": role, "content": [{"text": "x" * characters}]}


def talk(pairs, characters=1_000):
    """A conversation of so many requests and answers."""
    roles = ("user", "assistant") * pairs
    return [text(role, characters) for role in roles]


class Looks(SimpleNamespace):
    """Something that looks like an agent."""

    def __init__(self, messages, **more):
        super().__init__(messages=messages, model=Player(), **more)


class Halving:
    """A manager of somebody else: each reduction leaves half."""

    def __init__(self, error=None):
        self.error, self.calls = error, 0

    def reduce_context(self, agent, e=None, **_):
        self.calls += 1
        if self.error is not None:
            raise self.error
        agent.messages[:] = agent.messages[len(agent.messages) // 2 :]


def test_the_estimate_is_the_formula_of_the_document():
    messages = talk(10, 3_700)
    assert _estimate_prompt_tokens(Looks(messages)) == 8_000 + 3_000 + 20 * 50 + 20_000


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        ([{"role": "user", "content": "x" * 37_000}], 11_000 + 50 + 10_000),
        ([{"role": "user", "content": None}], 11_051),
        ([{"role": "user", "content": [{"text": None}]}], 11_051),
        ([{"role": "user"}, None, 5], 11_151),
    ],
    ids=["plain-text", "none", "text-none", "no-messages"],
)
def test_whatever_stands_in_a_message_has_an_estimate(messages, tokens):
    assert _estimate_prompt_tokens(Looks(messages)) == tokens


@pytest.mark.parametrize(
    ("model", "ratio"),
    [
        ("us.anthropic.claude-sonnet-4-5", 3.7),
        ("gpt-5.1", 4.0),
        ("kimi-k2", 3.8),
        ("gemini-3", 4.2),
    ],
)
def test_the_ratio_is_that_of_the_model(model, ratio):
    agent = Looks(talk(1, 50_000))
    agent.model.get_config = lambda: {"model_id": model}
    assert _estimate_prompt_tokens(agent) == 11_100 + int(100_000 / ratio)


@pytest.mark.parametrize(
    ("agent", "level", "said"),
    [
        (Looks(None), "WARNING", "TOKEN ESTIMATION FAILED: agent.messages is None"),
        (Looks("x"), "WARNING", "TOKEN ESTIMATION FAILED: agent.messages is not a list"),
        (Looks([]), "INFO", "TOKEN ESTIMATION: agent.messages is empty"),
    ],
)
def test_an_estimate_that_cannot_be_made_is_logged_in_the_words_of_the_document(
    agent, level, said, caplog
):
    with caplog.at_level(logging.INFO):
        _ensure_prompt_within_budget(agent)
    assert (level, said) in [(r.levelname, r.message) for r in caplog.records]


def test_an_estimate_that_raises_is_logged_with_its_traceback(caplog):
    agent = Looks([{"role": "user", "content": [{"toolUse": {"input": Unprintable()}}]}])
    _ensure_prompt_within_budget(agent)
    record = next(r for r in caplog.records if "TOKEN ESTIMATION ERROR" in r.message)
    assert record.message == "TOKEN ESTIMATION ERROR: Exception during estimation"
    assert (record.levelname, record.exc_info is not None) == ("ERROR", True)
    assert "BUDGET CHECK ABORT: No estimation and no telemetry" in caplog.messages


class Unprintable:
    def __str__(self):
        raise ValueError("no words")


def test_what_was_reported_stands_in_for_an_estimate(caplog):
    metrics = SimpleNamespace(accumulated_usage={"inputTokens": 150_000})
    agent = Looks(None, event_loop_metrics=metrics, conversation_manager=(manager := Halving()))
    manager.error = RuntimeError("nothing to halve")
    with caplog.at_level(logging.INFO):
        _ensure_prompt_within_budget(agent)
    assert "BUDGET CHECK FALLBACK: Using telemetry tokens" in caplog.messages
    assert "THRESHOLD EXCEEDED: context=150000, threshold=130000" in caplog.messages
    assert manager.calls == 1
    caplog.clear()
    agent.event_loop_metrics.accumulated_usage["inputTokens"] = 170_000
    _ensure_prompt_within_budget(agent)
    assert manager.calls == 1, "it is what the last prompt added that counts"


@pytest.mark.parametrize("messages", [None, "x", 5, [], [None]], ids=str)
@pytest.mark.parametrize("reported", [0, 190_000])
@pytest.mark.parametrize("kind", [MappingConversationManager, SlidingWindowConversationManager])
def test_nothing_in_place_of_messages_makes_the_budget_raise(kind, messages, reported, caplog):
    agent = Agent(model=Player(), conversation_manager=kind(), callback_handler=None)
    agent.messages = messages
    agent.event_loop_metrics = SimpleNamespace(accumulated_usage={"inputTokens": reported})
    agent._allow_reasoning_content = False
    _ensure_prompt_within_budget(agent)
    _strip_reasoning_content(agent)
    assert agent.messages == messages
    assert ("BUDGET CHECK ABORT" in caplog.text) is (
        not isinstance(messages, list) and not reported
    )


def test_what_was_reported_escalates_like_an_estimate(caplog):
    metrics = SimpleNamespace(accumulated_usage={"inputTokens": 190_000})
    broken = {"role": "user", "content": [{"toolUse": {"input": Unprintable()}}]}
    agent = Looks([*talk(32), broken], event_loop_metrics=metrics)
    agent.conversation_manager = manager = Halving()
    _ensure_prompt_within_budget(agent)
    assert manager.calls == 3
    assert "BUDGET CHECK ABORT" not in caplog.text
    agent.event_loop_metrics.accumulated_usage["inputTokens"] += 100_000
    _ensure_prompt_within_budget(agent)
    assert manager.calls == 3, "the next prompt was smaller"


def test_the_threshold_is_65_percent_of_the_limit():
    def needs(tokens, **more):
        manager = Halving()
        agent = Looks(talk(1, int((tokens - 11_100) * 3.7 / 2) + 3), **more)
        agent.conversation_manager = manager
        _ensure_prompt_within_budget(agent)
        return manager.calls > 0

    assert (needs(129_900), needs(130_100)) == (False, True)
    assert (needs(149_900, _prompt_cache_hit=True), needs(150_100, _prompt_cache_hit=True)) == (
        False,
        True,
    )
    assert needs(65_100, _prompt_token_limit=100_000)


def test_the_numbers_come_from_the_environment_at_construction(monkeypatch, caplog):
    monkeypatch.setenv("CYBER_CONTEXT_LIMIT", "50000")
    monkeypatch.setenv("CYBER_PROMPT_TELEMETRY_THRESHOLD", "7")
    monkeypatch.setenv("CYBER_PROMPT_CACHE_RELAX", "many")
    monkeypatch.setenv("CYBER_PROMPT_CACHE_HINT", "true")
    monkeypatch.setenv("CYBER_CONVERSATION_WINDOW", "40")
    monkeypatch.setenv("CYBER_CONVERSATION_PRESERVE_LAST", "5")
    monkeypatch.setenv("CYBER_CONVERSATION_PRESERVE_FIRST", "2")
    monkeypatch.setenv("MINE_CONTEXT_LIMIT", "1")
    manager = MappingConversationManager()
    monkeypatch.delenv("CYBER_CONTEXT_LIMIT")
    assert manager.settings == CascadeSettings(
        context_limit=50_000,
        prompt_telemetry_threshold=0.95,
        prompt_cache_hint=True,
        conversation_window=40,
        conversation_preserve_first=2,
        conversation_preserve_last=5,
    )
    assert "CYBER_PROMPT_CACHE_RELAX" in caplog.text
    assert (manager._window_size, manager.preserve_first, manager.preserve_last) == (40, 2, 5)
    assert MappingConversationManager(env_prefix="MINE_").settings.context_limit == 1
    assert manager.settings.relaxed_threshold(cached=False) == 0.98, "the ceiling"


# The document's section "Code-Level Constants", and its variables under the names of its module.
CONSTANTS = {
    "SYSTEM_PROMPT_OVERHEAD_TOKENS": 8_000,
    "TOOL_DEFINITIONS_OVERHEAD_TOKENS": 3_000,
    "MESSAGE_METADATA_OVERHEAD_TOKENS": 50,
    "PROACTIVE_COMPRESSION_THRESHOLD": 0.7,
    "WINDOW_OVERFLOW_THRESHOLD": 1.0,
    "ESCALATION_THRESHOLD_RATIO": 0.9,
    "MAX_THRESHOLD_RATIO": 0.98,
    "NO_REDUCTION_WARNING_RATIO": 0.8,
    "ESCALATION_MAX_PASSES": 2,
    "ESCALATION_MAX_TIME_SECONDS": 30.0,
    "SMALL_CONVERSATION_THRESHOLD": 3,
    "DEFAULT_CHAR_TO_TOKEN_RATIO": 3.7,
    "TOOL_COMPRESS_THRESHOLD": 10_000,
    "CONTEXT_LIMIT": 200_000,
    "PROMPT_TOKEN_FALLBACK_LIMIT": 200_000,
    "PROMPT_TELEMETRY_THRESHOLD": 0.65,
    "PROMPT_CACHE_RELAX": 0.1,
    "TOOL_COMPRESS_TRUNCATE": 8_000,
}
VARIABLES = {
    "CYBER_CONTEXT_LIMIT": "50000",
    "CYBER_PROMPT_TELEMETRY_THRESHOLD": "0.5",
    "CYBER_PROMPT_CACHE_RELAX": "0.2",
    "CYBER_TOOL_COMPRESS_TRUNCATE": "4000",
}
SET = {
    "CONTEXT_LIMIT": 50_000,
    "PROMPT_TOKEN_FALLBACK_LIMIT": 50_000,
    "PROMPT_TELEMETRY_THRESHOLD": 0.5,
    "PROMPT_CACHE_RELAX": 0.2,
    "TOOL_COMPRESS_TRUNCATE": 4_000,
}


@pytest.mark.parametrize(
    ("variables", "expected"), [({}, CONSTANTS), (VARIABLES, CONSTANTS | SET)], ids=["bare", "set"]
)
def test_the_constants_of_the_document_have_the_values_of_the_environment(variables, expected):
    # Executes the module again, as an import does, and leaves the one that others use.
    path = settings.__file__
    spec = importlib.util.spec_from_file_location("ullage.strands.settings", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    assert {name: getattr(module, name) for name in CONSTANTS} == expected
    # Variables of one prefix are no defaults of another.
    assert module.CascadeSettings() == module.CascadeSettings.from_env("MINE_", {})
    assert module.CascadeSettings().context_limit == 200_000


def test_the_constants_of_the_document_are_imported_from_the_package():
    for name in CONSTANTS:
        assert getattr(ullage.strands, name) == getattr(settings, name)
        assert name in ullage.strands.__all__


@pytest.mark.parametrize(
    ("window", "first", "last", "expected"),
    [
        (100, 1, None, (1, 15)),
        (30, 1, None, (1, 8)),
        (10, 1, None, (1, 4)),
        (100, 1, 80, (1, 49)),
        (100, 80, 80, (50, 0)),
        (1, 1, None, (1, 0)),
        (0, -5, -5, (0, 0)),
        (10, 1, 5, (1, 4)),
    ],
)
def test_the_zones_are_15_percent_at_least_eight_and_at_most_half(window, first, last, expected):
    assert zones(window, first, last) == expected


def test_escalation_goes_on_for_two_passes_while_the_prompt_is_above_90_percent(caplog):
    manager = Halving()
    agent = Looks(talk(100, 37_000), conversation_manager=manager)
    _ensure_prompt_within_budget(agent)
    assert manager.calls == 3
    assert sum("escalation" in message for message in caplog.messages) == 2
    manager.calls = 0
    agent.messages[:] = talk(20, 17_000)
    _ensure_prompt_within_budget(agent)
    assert manager.calls == 1


def test_escalation_stops_when_the_time_is_over(monkeypatch, caplog):
    clock = iter([0.0, 31.0, 62.0])
    monkeypatch.setattr("ullage.strands.budget.time.monotonic", lambda: next(clock))
    manager = Halving()
    _ensure_prompt_within_budget(Looks(talk(100, 37_000), conversation_manager=manager))
    assert manager.calls == 1
    assert "out of time" in caplog.text


def test_a_reduction_that_fails_does_not_end_the_agent(caplog):
    manager = Halving(error=RuntimeError("no"))
    _ensure_prompt_within_budget(Looks(talk(100, 37_000), conversation_manager=manager))
    assert manager.calls == 1
    assert "the history was left as it is" in caplog.text


class Plain(Halving):
    """A manager that takes nothing but the agent."""

    def reduce_context(self, agent):
        super().reduce_context(agent)


class PlainSubclass(MappingConversationManager):
    """The same as a subclass, whose hooks are ours."""

    calls = 0

    def reduce_context(self, agent):
        self.calls += 1


def test_a_manager_that_takes_nothing_but_the_agent_is_called_for_every_pass(caplog):
    ensured = Looks(talk(100, 37_000), conversation_manager=Plain())
    _ensure_prompt_within_budget(ensured)
    hooked = Looks(talk(100, 37_000), conversation_manager=Plain())
    event = BeforeModelCallEvent(agent=hooked, invocation_state={})
    asyncio.run(PromptBudgetHook()._on_before_model_call(event))
    assert (ensured.conversation_manager.calls, hooked.conversation_manager.calls) == (3, 3)
    agent = Agent(model=Player(), conversation_manager=PlainSubclass(), callback_handler=None)
    agent.messages[:] = talk(100, 37_000)
    agent.model.refuses = lambda number: number == 2  # the first is for a summary
    agent(TASK)
    assert agent.conversation_manager.calls == 4, "three passes, and one for the refusal"
    assert "TypeError" not in caplog.text


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_a_reduction_with_nothing_left_to_remove_raises(count):
    manager = MappingConversationManager(preserve_recent_messages=5)
    agent = Agent(model=Player(), conversation_manager=manager, messages=talk(3)[:count])
    with pytest.raises(ContextWindowOverflowException, match=f"remove: {count} messages remain"):
        manager.reduce_context(agent)
    assert agent.messages == talk(3)[:count]


def test_a_full_prompt_that_was_never_reduced_is_worth_a_warning(caplog):
    agent = Looks(talk(1, 296_000), conversation_manager=Halving())
    agent._prompt_cache_hit = True
    _ensure_prompt_within_budget(agent)
    assert "nothing was reduced" in caplog.text


def test_agents_without_a_manager_share_one():
    assert get_shared_conversation_manager() is None
    register_conversation_manager(shared := Halving())
    assert get_shared_conversation_manager() is shared
    for own in ({}, {"conversation_manager": NullConversationManager()}):
        _ensure_prompt_within_budget(Looks(talk(20, 17_000), **own))
    assert shared.calls == 2
    _ensure_prompt_within_budget(Looks(talk(20, 17_000), conversation_manager=Halving()))
    assert shared.calls == 2
    clear_shared_conversation_manager()
    assert get_shared_conversation_manager() is None


def test_the_shared_manager_may_be_changed_from_many_threads():
    managers = [Halving() for _ in range(8)]

    def change(manager):
        for _ in range(200):
            register_conversation_manager(manager)
            assert get_shared_conversation_manager() in managers

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, managers))


REASONING = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}


def test_reasoning_is_stripped_by_replacing_messages_and_none_becomes_empty():
    spoken = {"role": "assistant", "content": [REASONING, {"text": "Yes."}]}
    silent = {"role": "assistant", "content": [REASONING], "tracking_id": "t"}
    agent = Looks([text("user", 1), spoken, text("user", 1), silent])
    for allowed in ({}, {"_allow_reasoning_content": True}):
        vars(agent).update(allowed)
        _strip_reasoning_content(agent)
        assert agent.messages[1::2] == [spoken, silent]
    agent._allow_reasoning_content = False
    own, before = agent.messages, copy.deepcopy(agent.messages)
    kept = agent.messages[0]
    _strip_reasoning_content(agent)
    assert agent.messages is own
    assert agent.messages[0] is kept
    assert agent.messages[1]["content"] == [{"text": "Yes."}]
    assert agent.messages[3]["content"], "no message is left empty"
    assert agent.messages[3]["tracking_id"] == "t"
    assert [spoken, silent] == [before[1], before[3]], "the messages are not written to"
    once = list(agent.messages)
    _strip_reasoning_content(agent)
    assert all(new is old for new, old in zip(agent.messages, once, strict=True))


def test_the_hook_strips_manages_and_ensures_in_this_order(caplog):
    said = []

    class Manager(SlidingWindowConversationManager):
        def apply_management(self, agent, **_):
            said.append("manage")

    def ensure(agent):
        said.append(("ensure", threading.current_thread() is not threading.main_thread()))

    with caplog.at_level(logging.INFO):
        agent = Agent(
            model=Player(),
            conversation_manager=Manager(),
            hooks=[PromptBudgetHook(ensure)],
            callback_handler=None,
        )
    assert any(m.startswith("HOOK REGISTRATION: PromptBudgetHook") for m in caplog.messages)
    agent.messages[:] = [text("user", 1), {"role": "assistant", "content": [REASONING]}]
    agent._allow_reasoning_content = False
    agent(TASK)
    assert said[:2] == ["manage", ("ensure", True)]
    assert "reasoningContent" not in str(agent.messages)


def test_the_hook_works_for_events_one_by_one_and_clears_what_was_said_for_one_call():
    agent = Agent(model=Player(), conversation_manager=MappingConversationManager())
    agent._pending_reduction_reason = "because"
    hook = PromptBudgetHook(_ensure_prompt_within_budget)
    asyncio.run(hook._on_before_model_call(BeforeModelCallEvent(agent=agent, invocation_state={})))
    hook._on_after_model_call(AfterModelCallEvent(agent=agent, invocation_state={}))
    assert getattr(agent, "_pending_reduction_reason", None) is None


@pytest.mark.parametrize("hooks", [[], [PromptBudgetHook()]], ids=["alone", "with-the-hook"])
def test_what_is_reduced_is_logged_and_remembered(hooks, caplog):
    agent = Agent(
        model=Player(limit=60_000),
        conversation_manager=MappingConversationManager(),
        hooks=hooks,
        callback_handler=None,
    )
    agent.messages[:] = talk(30, 4_000)
    with caplog.at_level(logging.INFO):
        agent(TASK)
    assert any(
        re.fullmatch(r"THRESHOLD EXCEEDED: context=\d+, threshold=39000", m)
        for m in caplog.messages
    )
    (event,) = agent._context_reduction_events
    assert event["stage"] == "summarizing"
    assert event["reason"] == "budget"
    assert event["before_messages"] - event["after_messages"] == event["removed_messages"] > 0
    assert event["after_tokens"] < event["before_tokens"]
    before, after = event["before_messages"], event["after_messages"]
    assert f"Context reduced via summarizing manager: messages {before}->{after}" in caplog.messages


def test_the_history_of_reductions_has_the_last_five():
    manager = MappingConversationManager()
    agent = Agent(model=Player(limit=60_000), conversation_manager=manager)
    agent.messages[:] = talk(200, 4_000)
    for _ in range(9):
        agent.messages.extend(talk(30, 4_000))
        agent._pending_reduction_reason = "asked"
        manager.reduce_context(agent)
    assert len(agent._context_reduction_events) == 5
    assert {event["reason"] for event in agent._context_reduction_events} == {"asked"}


def answered(read, prompt):
    usage = {"inputTokens": prompt - read, "outputTokens": 1, "totalTokens": prompt + 1}
    return {
        "role": "assistant",
        "content": [{"text": "x"}],
        "metadata": {"usage": usage | {"cacheReadInputTokens": read}},
    }


@pytest.mark.parametrize(("read", "cached"), [(0, False), (400, False), (600, True)])
def test_the_usage_says_whether_the_prompt_is_cached(read, cached):
    assert is_prompt_cached(Looks([text("user", 1), answered(read, 1_000)])) is cached
    assert is_prompt_cached(Looks([answered(read, 1_000)], _prompt_cache_hit=False)) is False


def named(name, model):
    return type(name, (), {"get_config": lambda _: {"model_id": model}})()


@pytest.mark.parametrize(
    ("model", "supports"),
    [
        (named("BedrockModel", "us.anthropic.claude-sonnet-4-5"), True),
        (named("BedrockModel", "amazon.nova-pro-v1:0"), True),
        (named("BedrockModel", "meta.llama3-70b"), False),
        (named("LiteLLMModel", "anthropic/claude-sonnet-4-5"), True),
        (named("LiteLLMModel", "openai/gpt-5"), False),
        (named("AnthropicModel", "claude-sonnet-4-5"), True),
        (named("OllamaModel", "llama3"), False),
        (object(), False),
    ],
)
def test_a_system_prompt_has_a_cache_point_only_where_the_provider_takes_one(model, supports):
    assert supports_prompt_cache(model) is supports
    prompt = system_prompt_for("Be careful.", model)
    assert prompt == (
        [{"text": "Be careful."}, {"cachePoint": {"type": "default"}}]
        if supports
        else "Be careful."
    )
    assert system_prompt_for(prompt, model) == prompt, "twice is once"
    assert system_prompt_for("", model) == ""


def test_the_counter_of_the_formula_is_the_presets():
    messages = talk(3)
    counter = ullage.TokenCounter.preset("cyber-autoagent")
    assert _estimate_prompt_tokens(Looks(messages)) == counter.count_messages(messages)


def test_every_tool_that_an_agent_has_may_be_counted():
    agent = Agent(model=Player(limit=20_000), tools=[fetch], system_prompt="Be brief.")
    agent.messages[:] = talk(3)
    _ensure_prompt_within_budget(agent)
    assert len(agent.messages) == 6, "constants above a quarter of the limit do not drain it"
