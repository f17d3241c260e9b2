"""A check before a model call skips the estimate, and finds the same as one that never does."""

# mypy: disable-error-code="arg-type,attr-defined,list-item,union-attr,index"

import random

import pytest
from strands import Agent, tool

from tests.python.players import Player, fetch
from ullage.strands.agents import tool_specs
from ullage.strands.estimate import fill_of, is_surely_low
from ullage.strands.settings import CascadeSettings


def text(size):
    return {"role": "user", "content": [{"text": "x" * size}]}


def agent_of(**more):
    return Agent(model=Player(), tools=[fetch], callback_handler=None, **more)


def is_near(agent, settings):
    """Returns the result of a check that skips nothing."""
    fill = fill_of(agent, settings)
    return fill.is_due or fill.tokens >= 0.8 * fill.limit


@pytest.mark.parametrize("limit", [20_000, 200_000], ids=["small", "large"])
@pytest.mark.parametrize("seed", range(8))
def test_a_look_spares_the_estimate_only_where_that_finds_nothing(seed, limit):
    chance = random.Random(seed)
    settings = CascadeSettings(context_limit=limit, prompt_telemetry_threshold=0.9)
    agent = agent_of()
    spared = 0
    for _ in range(120):
        agent.messages.append(text(chance.randrange(limit // 20)))
        if chance.random() < 0.2:
            agent.messages[-1]["content"].append({"text": "x" * chance.randrange(limit // 4)})
        if chance.random() < 0.1:
            agent.messages[0] = text(chance.randrange(limit // 2))
        if chance.random() < 0.1:
            agent.system_prompt = "x" * chance.randrange(limit)
        if chance.random() < 0.1:
            del agent.messages[1 : chance.randrange(1, len(agent.messages) + 1)]
        if is_surely_low(agent, settings):
            spared += 1
            assert not is_near(agent, settings)
        elif chance.random() < 0.8:
            is_near(agent, settings)
    assert spared > 10


def test_nothing_is_known_before_the_first_estimate_and_after_another_model_or_limit():
    agent, settings = agent_of(), CascadeSettings()
    agent.messages.append(text(100))
    assert not is_surely_low(agent, settings)
    fill_of(agent, settings)
    assert is_surely_low(agent, settings)
    agent._prompt_token_limit = 100_000
    assert not is_surely_low(agent, settings)
    fill_of(agent, settings)
    assert is_surely_low(agent, settings)
    agent.model = Player()
    assert not is_surely_low(agent, settings)


def test_the_definitions_of_tools_are_those_of_the_agent_now():
    @tool
    def extra(path: str) -> str:
        """Something else."""
        return path

    agent = agent_of()
    assert [spec["name"] for spec in tool_specs(agent)] == ["fetch"]
    agent.tool_registry.process_tools([extra])
    assert [spec["name"] for spec in tool_specs(agent)] == ["fetch", "extra"]
    extra.tool_spec = {**extra.tool_spec, "description": "Something new."}
    assert tool_specs(agent)[1]["description"] == "Something new."
