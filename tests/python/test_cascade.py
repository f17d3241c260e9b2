"""The cascade under real agents: each layer where those before did not suffice, and no old fault.

The faults are those of Cyber-AutoAgent's own code, and of Strands' managers beneath it.
"""

# mypy: disable-error-code="arg-type,assignment,attr-defined,union-attr,list-item,override"

import copy
import gc
import logging
import weakref

import pytest
from strands import Agent
from strands.agent.conversation_manager import SummarizingConversationManager

import ullage
from demo.rules import check_history
from tests.python.loop_probe import LoopProbe
from tests.python.players import TASK, Player, fetch, size_of
from ullage.strands import (
    LargeToolResultMapper,
    MappingConversationManager,
    PromptBudgetHook,
    _ensure_prompt_within_budget,
    _estimate_prompt_tokens,
)


def text(role, said):
    return {"role": role, "content": [{"text": said}]}


def call(*numbers):
    uses = [{"toolUseId": f"c{n}", "name": "fetch", "input": {"words": n}} for n in numbers]
    return {"role": "assistant", "content": [{"toolUse": use} for use in uses]}


def results(*numbers, said="result "):
    made = [
        {"toolUseId": f"c{n}", "status": "success", "content": [{"text": f"{n} {said}"}]}
        for n in numbers
    ]
    return {"role": "user", "content": [{"toolResult": each} for each in made]}


def loop(steps, said="result "):
    """A task and so many calls with their results."""
    messages = [text("user", TASK)]
    for n in range(steps):
        messages += [call(n), results(n, said=said)]
    return messages


def done(steps, said="result "):
    """The same, and an answer."""
    return [*loop(steps, said), text("assistant", "So far, so good.")]


def agent_of(manager, messages=(), model=None, **more):
    return Agent(
        model=model or Player(),
        tools=[fetch],
        conversation_manager=manager,
        callback_handler=None,
        messages=[*messages],
        **more,
    )


def contents(messages):
    return [message["content"] for message in messages]


def test_the_constructor_and_the_attributes_are_those_of_the_document():
    mapper = LargeToolResultMapper()
    manager = MappingConversationManager(
        window_size=30,
        summary_ratio=0.3,
        preserve_recent_messages=5,
        preserve_first_messages=1,
        tool_result_mapper=mapper,
    )
    assert isinstance(manager, SummarizingConversationManager)
    assert (manager.mapper, manager.preserve_first, manager.preserve_last) == (mapper, 1, 5)
    assert (manager.removed_message_count, manager._window_size) == (0, 30)
    assert MappingConversationManager()._window_size == 100
    assert MappingConversationManager(window_size=-3)._window_size == 1
    assert MappingConversationManager(summary_ratio=7).summary_ratio == 0.8


def test_an_engine_or_the_settings_of_the_layers():
    with pytest.raises(ullage.PolicyError):
        MappingConversationManager(engine=ullage.ContextManager(), window_size=30)
    with pytest.raises(ValueError, match="summarization_agent"):
        MappingConversationManager(summarization_agent=object(), summarization_system_prompt="x")


def test_subclasses_and_instance_attributes_work():
    class Mine(MappingConversationManager):
        def reduce_context(self, agent, e=None, **kwargs):
            self.seen = agent
            super().reduce_context(agent, e, **kwargs)

    manager = Mine(window_size=30)
    manager.note = "kept"
    manager.preserve_last = 3
    agent = agent_of(manager, loop(200, "x" * 4_000))
    _ensure_prompt_within_budget(agent)
    assert manager.seen is agent
    assert manager.note == "kept"
    assert len(agent.messages) <= 30


def test_what_a_subclass_or_an_object_overrides_is_called_by_the_hooks():
    said = []

    class Mine(MappingConversationManager):
        def reduce_context(self, agent, e=None, **kwargs):
            said.append("reduce" if e is None else "refused")
            super().reduce_context(agent, e, **kwargs)

    manager = Mine()
    manager.apply_management = lambda agent, **_: said.append("manage")
    model = Player(limit=60_000)
    model.refuses = lambda number: number == 2
    messages = done(45, "word " * 600)
    agent_of(manager, messages, model, hooks=[PromptBudgetHook()])("Go on.")
    # Before the first request, after its refusal before the second, and by Strands at the end.
    assert said == ["manage", "reduce", "refused", "manage", "manage"]


# Layer 1


def test_results_are_compressed_from_70_percent_of_the_window_on_and_between_the_zones():
    def managed(steps):
        agent = agent_of(MappingConversationManager(window_size=30), loop(steps, "x" * 20_000))
        agent.conversation_manager.apply_management(agent)
        return ["compressed tool result" in str(message) for message in agent.messages]

    assert not any(managed(9))
    marked = managed(12)
    assert len(marked) == 25
    assert marked[2:16:2] == [True] * 7
    assert not any(marked[-8:]), "the last zone is left alone"


def test_what_was_compressed_is_not_compressed_again_and_stays_the_same_object(caplog):
    agent = agent_of(MappingConversationManager(window_size=30), loop(12, "x" * 20_000))
    with caplog.at_level(logging.INFO):
        agent.conversation_manager.apply_management(agent)
        once = list(agent.messages)
        for _ in range(3):
            agent.conversation_manager.apply_management(agent)
    assert all(new is old for new, old in zip(agent.messages, once, strict=True))
    lines = [m for m in caplog.messages if m.startswith("LAYER 2 COMPRESSION")]
    assert lines == ["LAYER 2 COMPRESSION: Compressing 8 tool result(s)"]


def test_the_mapper_of_ones_own_is_asked_and_may_not_take_a_message_away():
    asked = []

    def mapper(message, index, messages):
        asked.append(index)
        assert messages[index] is message
        return None if index == 4 else message

    manager = MappingConversationManager(window_size=30, tool_result_mapper=mapper)
    agent = agent_of(manager, messages := loop(12))
    manager.apply_management(agent)
    assert agent.messages == messages
    assert asked == list(range(1, 17))
    manager.apply_management(agent)
    assert len(asked) == 32, "it may ask where a message stands by now"


def test_a_mapper_that_fails_does_not_end_the_agent(caplog):
    def mapper(message, index, messages):
        raise ValueError("no")

    manager = MappingConversationManager(window_size=30, tool_result_mapper=mapper)
    agent = agent_of(manager, messages := loop(12))
    manager.apply_management(agent)
    assert agent.messages == messages
    assert "the mapper failed" in caplog.text


def test_compressing_may_be_enough():
    agent = agent_of(MappingConversationManager(), loop(24, "x" * 37_000))
    agent._prompt_token_limit = 200_000
    _ensure_prompt_within_budget(agent)
    assert len(agent.messages) == 49
    assert [e["stage"] for e in agent._context_reduction_events] == ["compression"]


# Layer 2


@pytest.mark.parametrize("first", [1, 2, 3, 6])
@pytest.mark.parametrize("extra", [1, 2, 3, 40])
def test_the_window_removes_the_oldest_between_the_zones_down_to_90_percent(first, extra):
    manager = MappingConversationManager(
        window_size=40, preserve_first_messages=first, preserve_recent_messages=7
    )
    messages = loop(60)[: 40 + extra]
    before = copy.deepcopy(messages)
    agent = agent_of(manager, messages)
    manager.apply_management(agent)
    assert 30 < len(agent.messages) <= 36
    check_history(agent.messages if agent.messages[-1]["role"] == "user" else agent.messages[:-1])
    for kept, was in zip(agent.messages[:first], before[:first], strict=True):
        assert kept["content"][: len(was["content"])] == was["content"], "a note may follow"
    assert contents(agent.messages[-7:]) == contents(before[-7:])


def test_a_window_that_is_not_exceeded_is_left_alone():
    agent = agent_of(MappingConversationManager(window_size=41), messages := loop(20))
    agent.conversation_manager.apply_management(agent)
    assert all(new is old for new, old in zip(agent.messages, messages, strict=True))


# Layers 3 and 4


def test_the_agents_own_model_summarizes_the_oldest_messages():
    model = Player(limit=60_000)
    manager = MappingConversationManager(window_size=200)
    agent = agent_of(manager, done(40, "word " * 600), model)
    agent("Go on.")
    note = str(agent.messages[:2])
    assert "Summary of them" in note
    assert "answer 1" in note, "the first thing that the model was asked"
    assert len(model.requests) == 2
    assert agent._context_reduction_events[-1]["stage"] == "summarizing"


@pytest.mark.parametrize("limit", [20_000, 60_000, 200_000])
def test_the_budget_is_kept_by_a_count_that_is_not_the_engines(limit):
    model = Player(limit=limit, window=limit)
    agent = agent_of(MappingConversationManager(), done(300, "The quick brown fox. " * 150), model)
    assert size_of(agent.messages) > limit
    agent("Go on.")
    assert model.refused == []
    assert _estimate_prompt_tokens(agent) < 0.65 * limit + 11_000


def test_the_last_zone_is_left_as_it_is_while_the_rest_suffices():
    messages = loop(60, "word " * 600)
    messages[-1]["content"][0]["toolResult"]["status"] = "error"
    messages[-3]["content"][0]["toolResult"]["content"] = [{"text": "x" * 12_000}]
    manager = MappingConversationManager(window_size=200, preserve_recent_messages=10)
    agent = agent_of(manager, messages, Player(limit=60_000))
    _ensure_prompt_within_budget(agent)
    assert len(agent.messages) < 60
    kept = zip(agent.messages[-10:], messages[-10:], strict=True)
    assert all(new is old for new, old in kept)


@pytest.mark.parametrize("limit", [12_000, 16_000, 17_000])
def test_a_small_limit_does_not_drain_a_small_conversation(limit):
    model = Player(limit=limit)
    messages = [text(role, f"{role} {n}") for n in range(10) for role in ("user", "assistant")]
    agent = agent_of(MappingConversationManager(), messages, model, hooks=[PromptBudgetHook()])
    for turn in range(4):
        agent(f"Turn {turn}.")
    assert len(agent.messages) == 28


def test_a_large_system_prompt_does_not_drain_the_conversation_either():
    model = Player(limit=40_000)
    agent = agent_of(
        MappingConversationManager(), done(20, "x " * 200), model, system_prompt="rule " * 20_000
    )
    for turn in range(4):
        agent(f"Turn {turn}.")
        assert len(agent.messages) > 30


def test_a_summarizer_that_fails_leaves_the_engines_own_words(caplog):
    class Silent(Player):
        async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
            if "keep the memory of an agent" in (system_prompt or ""):
                raise RuntimeError("no")
            async for event in super().stream(messages, tool_specs, system_prompt, **kwargs):
                yield event

    agent = agent_of(MappingConversationManager(), done(45, "word " * 600), Silent(limit=60_000))
    agent("Go on.")
    assert "no summary from the summarizer" in caplog.text
    assert "earlier messages" in str(agent.messages[:2])
    check_history(agent.messages[:-1])


def test_the_agent_for_summaries_gets_its_own_messages_back():
    helper = agent_of(
        MappingConversationManager(), [text("user", "Mine."), text("assistant", "Yes.")]
    )
    own = list(helper.messages)
    manager = MappingConversationManager(summarization_agent=helper)
    agent = agent_of(manager, done(45, "word " * 600), Player(limit=60_000))
    agent("Go on.")
    assert helper.messages == own
    assert len(helper.model.requests) == 1
    assert len(agent.model.requests) == 1


@pytest.mark.parametrize("hooks", [[], [PromptBudgetHook()]], ids=["alone", "with-the-hook"])
def test_an_agent_that_summarizes_itself_is_asked_once_and_does_not_nest(hooks):
    model = Player(limit=60_000)
    manager = MappingConversationManager()
    agent = agent_of(manager, done(45, "word " * 600), model, hooks=hooks)
    manager.summarization_agent = agent
    agent("Go on.")
    assert len(model.requests) == 2, "one summary, one answer"
    check_history(agent.messages[:-1])


def test_an_agent_for_summaries_may_share_the_manager():
    manager = MappingConversationManager()
    helper = agent_of(manager, model=Player(limit=60_000))
    manager.summarization_agent = helper
    agent = agent_of(manager, done(45, "word " * 600), Player(limit=60_000))
    agent("Go on.")
    assert helper.messages == []
    assert len(helper.model.requests) == 1


def test_a_summary_does_not_hold_up_the_event_done():
    probe = LoopProbe()
    model = Player(limit=60_000, probe=probe)
    agent = agent_of(MappingConversationManager(), done(45, "word " * 600), model)
    probe.run(agent.invoke_async("Go on."))
    assert probe.was_free == [True, True], "one summary, one answer"


# Refusals


@pytest.mark.parametrize("kind", ["text", "json"])
def test_a_large_newer_result_shrinks_and_the_older_ones_stay(kind):
    value = "data " * 60_000
    item = {"text": value} if kind == "text" else {"json": {"rows": [value]}}
    messages = loop(10)
    messages[-1]["content"][0]["toolResult"]["content"] = [item]
    model = Player(limit=30_000, window=30_000)
    agent = agent_of(MappingConversationManager(), [*messages, text("assistant", "Hm.")], model)
    agent("Go on.")
    assert model.refused == []
    assert len(agent.messages) > 15, "what is small stays"


# Sessions, and agents that are gone


def test_a_state_of_cyber_autoagents_own_manager_is_restored_with_its_summary():
    summary = text("user", "What was before.")
    state = {
        "__name__": "MappingConversationManager",
        "removed_message_count": 4,
        "summary_message": summary,
        "sliding_state": {"removed_message_count": 4},
    }
    manager = MappingConversationManager()
    assert manager.restore_from_session(state) == [summary]
    assert manager.removed_message_count == 4


def test_a_manager_keeps_no_agent_alive():
    manager = MappingConversationManager()
    agent = agent_of(manager, done(45, "word " * 600), Player(limit=60_000))
    agent("Go on.")
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None
