"""Long runs of real agents under the cascade: sessions, parallel calls, media, many agents."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,union-attr,override,typeddict-item"

import random
from typing import Any

import pytest
import strands.session
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from strands.session.file_session_manager import FileSessionManager

from demo.rules import check_history
from tests.python.players import TASK, Player, fetch
from ullage.strands import MappingConversationManager, PromptBudgetHook, ToolRouterHook

from .lengths import first, long


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


def plain(messages):
    """Returns the part of messages that a session stores."""
    return [{"role": m["role"], "content": m["content"]} for m in messages]


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


class KilledError(BaseException):
    """The process ends here; nothing of Strands catches it."""


def sessions_of(kind, folder):
    if kind == "file":
        return FileSessionManager("session", storage_dir=str(folder))
    # Older versions of Strands have neither.
    storage = pytest.importorskip("strands.storage").LocalFileStorage(str(folder))
    return strands.session.SnapshotSessionManager("session", storage=storage)


@pytest.mark.parametrize("kind", ["file", "snapshot"])
@pytest.mark.parametrize("seed", first(1, range(4)))
def test_a_session_that_is_killed_at_any_turn_comes_back_as_it_was(kind, seed, tmp_path):
    chance = random.Random(seed)

    def started(calls):
        model = Player(calls, words=chance.choice([60, 900]), limit=30_000, window=30_000)
        hooks = [PromptBudgetHook()]
        manager = MappingConversationManager(window_size=24)
        sessions = sessions_of(kind, tmp_path)
        return agent_of(manager, model, hooks=hooks, session_manager=sessions, agent_id="a")

    agent = started(200)
    for _ in range(4):
        dies_at = len(agent.model.requests) + chance.randint(1, 40)

        def refuse(number, dies_at=dies_at):
            if number >= dies_at:
                raise KilledError
            return False

        agent.model.refuses = refuse
        with pytest.raises(KilledError):
            agent(TASK)
        restored = started(200)
        assert plain(restored.messages) == plain(agent.messages)
        agent = restored
        if agent.messages[-1]["role"] == "user":
            # A user's message that nobody answered; the next one would be the second in a row.
            agent.model.strict = False
    agent.model.rest = 3
    agent.model.refuses = lambda _: False
    assert agent(TASK).stop_reason == "end_turn"
