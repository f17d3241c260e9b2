"""The strategy inside Strands' own context manager."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import json
from typing import Any

import pytest
from strands import Agent
from strands.hooks import AfterToolCallEvent
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

from tests.python.players import TASK, Player, fetch
from tests.python.test_strands_plugin import WINDOW, engine_of, results_of
from ullage.strands import EngineStrategy

# Older versions of Strands do not have the seam, or take no strategies.
types = pytest.importorskip("strands.experimental.context_manager")
if not hasattr(types, "ContextManagerConfig"):
    pytest.skip("context_manager= takes presets alone", allow_module_level=True)


def agent_of(model, strategy, **more):
    return Agent(
        model=model,
        tools=[fetch],
        context_manager={"strategies": [strategy], "stash": False},
        callback_handler=None,
        **more,
    )


def test_it_is_what_strands_calls_a_strategy():
    assert isinstance(EngineStrategy(), types.ContextStrategy)


@pytest.mark.parametrize("width", [1, 3])
def test_a_long_run_stays_inside_the_window(width):
    model = Player(40, width=width, words=500, window=WINDOW, limit=WINDOW, usage=True)
    engine = engine_of()
    agent = agent_of(model, EngineStrategy(engine))
    own = agent.messages
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    assert engine.stats.compactions > 1
    assert agent.messages is own
    assert "elided" not in json.dumps(agent.messages), "Strands' last resort had nothing to do"


def test_a_refusal_although_it_fits_is_recovered_from():
    model = Player(20, words=600, limit=10**6)
    model.refuses = lambda number: number in {8, 12, 13}
    agent = agent_of(model, EngineStrategy(engine_of(10**6)))
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.refused) == 3


def test_a_model_that_always_refuses_ends_with_the_overflow():
    model = Player(20, words=600, limit=10**6)
    model.refuses = lambda number: number > 9
    agent = agent_of(model, EngineStrategy(engine_of(10**6)))
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    assert len(model.refused) <= 4


def test_a_large_json_result_that_is_not_the_oldest_is_made_smaller():
    model = Player(3, words=40, window=60_000, limit=10**6)
    agent = agent_of(model, EngineStrategy(engine_of(10**6), shrink=False))

    def huge(event: AfterToolCallEvent) -> None:
        if len(model.requests) == 2:
            content: Any = [{"json": {"rows": [{"id": i} for i in range(20_000)]}}]
            event.result = {**event.result, "content": content}

    agent.add_hook(huge, AfterToolCallEvent)
    assert agent(TASK).stop_reason == "end_turn"
    assert len(results_of(agent)) == 3


def test_what_the_strategy_did_comes_back_from_a_session(tmp_path):
    """harness-sdk 4270: what strategies of Strands do is undone."""
    engine = engine_of()

    def begin(calls):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        model = Player(calls, words=500, window=WINDOW, limit=WINDOW)
        return agent_of(model, EngineStrategy(engine), session_manager=session, agent_id="a")

    agent = begin(30)
    agent(TASK)
    assert engine.stats.compactions
    for _ in range(3):
        twin = begin(4)
        assert [m["content"] for m in twin.messages] == [m["content"] for m in agent.messages]
        twin("more")
        agent = twin


def test_one_strategy_serves_several_agents():
    strategy = EngineStrategy()
    models = [Player(20, words=500, window=size, limit=size) for size in (9_000, 14_000)]
    agents = [agent_of(model, strategy) for model in models]
    for agent in agents * 2:
        assert agent(TASK).stop_reason == "end_turn"
    assert [model.refused for model in models] == [[], []]
    assert [strategy.engine_of(agent).policy.window for agent in agents] == [9_000, 14_000]
