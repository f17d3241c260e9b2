"""Rules that hold for any conversation and any settings of the cascade."""

# mypy: disable-error-code="arg-type"

import copy
import random

import pytest
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from demo.rules import check_history
from tests.python.players import TASK, Player, size_of
from tests.python.test_cascade import agent_of, call, results, text
from ullage.strands import MappingConversationManager, _ensure_prompt_within_budget


def conversation(chance):
    """Requests, calls, calls side by side; short outputs and long ones."""
    messages, number = [text("user", TASK)], 0
    for _ in range(chance.randint(1, 50)):
        width = chance.choice([0, 1, 1, 1, 2, 3])
        if width == 0:
            messages.append(text("assistant", "word " * chance.randint(1, 400)))
            messages.append(text("user", "next " * chance.randint(1, 300)))
            continue
        ids = range(number, number + width)
        number += width
        said = "data " * chance.choice([1, 50, 500, 3_000, 20_000])
        messages += [call(*ids), results(*ids, said=said)]
    return messages


def manager_of(chance):
    return MappingConversationManager(
        window_size=chance.choice([1, 2, 4, 8, 20, 40, 100]),
        preserve_first_messages=chance.choice([0, 1, 2, 3, 5]),
        preserve_recent_messages=chance.choice([None, 0, 1, 5]),
        store=chance.choice([None, ullage.MemoryStore()]),
    )


def reduced(manager, agent):
    before = len(agent.messages)
    try:
        manager.reduce_context(agent)
    except ContextWindowOverflowException:
        assert before <= manager.preserve_first + manager.preserve_last + 1


def refused(manager, agent):
    try:
        manager.reduce_context(agent, ContextWindowOverflowException("too long"))
    except ContextWindowOverflowException:
        assert len(agent.messages) > 0


ACTS = {
    "apply_management": lambda manager, agent: manager.apply_management(agent),
    "reduce_context": reduced,
    "ensure": lambda _, agent: _ensure_prompt_within_budget(agent),
    "overflow": refused,
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("seed", range(12))
def test_the_history_stays_valid_and_the_task_and_the_last_message_stay(act, seed):
    chance = random.Random(f"{act} {seed}")
    messages, manager = conversation(chance), manager_of(chance)
    limit = chance.choice([3_000, 12_000, 20_000, 40_000, 200_000])
    agent = agent_of(manager, messages, Player(limit=limit))
    own, before, last = agent.messages, copy.deepcopy(messages), messages[-1]
    size = size_of(agent.messages)
    ACTS[act](manager, agent)
    assert agent.messages is own
    check_history(agent.messages)
    assert agent.messages[0]["content"][0] == {"text": TASK}
    ends = zip(agent.messages[-1]["content"], last["content"], strict=False)
    assert [set(new) for new, _ in ends] == [set(block) for block in last["content"]]
    # The note about removed messages may be longer than a few short ones.
    assert size_of(agent.messages) <= size + 100
    assert messages == before, "messages are replaced and not written to"


@pytest.mark.parametrize("words", ["a", "msg", "long " * 400])
@pytest.mark.parametrize("seed", range(6))
def test_no_more_messages_stay_than_the_window_has(words, seed):
    chance = random.Random(seed)
    messages = [text(role, words) for _ in range(60) for role in ("user", "assistant")]
    messages[4:4] = [
        each for n in range(chance.randint(0, 20)) for each in (call(n), results(n, said=words))
    ]
    manager = MappingConversationManager(window_size=chance.choice([4, 5, 8, 20, 40]))
    agent = agent_of(manager, messages[: -chance.randint(0, 1) or None])
    manager.apply_management(agent)
    check_history(agent.messages)
    assert len(agent.messages) <= manager._window_size
    assert agent.messages[0]["content"][0] == {"text": words}


@pytest.mark.parametrize("seed", range(12))
def test_managing_twice_changes_nothing(seed):
    chance = random.Random(seed)
    manager = manager_of(chance)
    agent = agent_of(manager, conversation(chance))
    manager.apply_management(agent)
    once = list(agent.messages)
    manager.apply_management(agent)
    assert len(once) == len(agent.messages)
    assert all(new is old for new, old in zip(agent.messages, once, strict=True))
