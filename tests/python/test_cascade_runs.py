"""Long runs of real agents under the cascade: sessions, parallel calls, media, many agents."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,union-attr,override,typeddict-item"

from typing import Any

import pytest
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent

from demo.rules import check_history
from tests.python.players import TASK, Player, fetch
from ullage.strands import MappingConversationManager, PromptBudgetHook, ToolRouterHook

from .lengths import long


@tool(name="fetch")
def look(words: int = 0, number: int = 0) -> dict[str, Any]:
    """Gives a picture and a document beside its text."""
    return {
        "status": "success",
        "content": [
            {"text": f"seen {number}\n" * 200},
            {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n" + b"x" * 400}}},
            {"document": {"format": "txt", "name": f"d{number}", "source": {"bytes": b"a note"}}},
        ],
    }


def agent_of(manager, model, *tools, **more):
    return Agent(
        model=model,
        tools=[*(tools or [fetch])],
        conversation_manager=manager,
        callback_handler=None,
        **more,
    )


@pytest.mark.parametrize("invocations", [2, long(20)])
def test_a_long_run_stays_in_its_window_and_keeps_its_task(invocations):
    model = Player(words=60, limit=60_000, window=60_000, usage=True)
    agent = agent_of(MappingConversationManager(), model, hooks=[PromptBudgetHook()])
    sizes = []
    agent.add_hook(lambda event: sizes.append(len(event.agent.messages)), BeforeToolCallEvent)
    for _ in range(invocations):
        # Strands calls itself for each step of an invocation, and so cannot take many in one.
        model.rest = 50
        assert agent(TASK).stop_reason == "end_turn"
    assert len(sizes) == 50 * invocations
    assert model.refused == []
    assert max(sizes) <= 102
    assert agent.messages[0]["content"][0] == {"text": TASK}


@pytest.mark.parametrize("turns", [120, long(1_000)])
def test_many_turns_of_a_user_stay_in_the_window(turns):
    model = Player(limit=60_000, window=60_000)
    agent = agent_of(MappingConversationManager(), model)
    for turn in range(turns):
        agent(f"{TASK} Turn {turn}.")
        assert len(agent.messages) <= 101
    assert model.refused == []
    assert agent.messages[0]["content"][0] == {"text": f"{TASK} Turn 0."}
    assert agent.messages[-2]["content"] == [{"text": f"{TASK} Turn {turns - 1}."}]


@pytest.mark.parametrize("tools", [fetch, look], ids=["text", "media"])
def test_parallel_calls_stay_together(tools, tmp_path):
    model = Player(60, width=4, words=2_000, limit=40_000, window=40_000)
    hooks = [PromptBudgetHook(), ToolRouterHook(artifacts_dir=tmp_path, artifact_threshold=4_000)]
    agent = agent_of(MappingConversationManager(window_size=40), model, tools, hooks=hooks)
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    check_history(agent.messages[:-1])
