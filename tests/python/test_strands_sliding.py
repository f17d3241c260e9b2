"""The sliding window beside Strands' own: what is the same, and what differs on purpose."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import copy
import json
import logging
import random
from types import SimpleNamespace
from typing import Any

import pytest
from strands import Agent
from strands.agent import conversation_manager as strands_managers
from strands.hooks import AfterToolCallEvent
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from tests.python.players import TASK, Player, fetch
from ullage.strands import SlidingWindowConversationManager as Ours

Theirs = strands_managers.SlidingWindowConversationManager
OVERFLOW = ContextWindowOverflowException("too long")


def says(role, text, **more):
    return {"role": role, "content": [{"text": text}], **more}


def step(number, size=20, **result):
    """A call and its result."""
    identity = f"call-{number}"
    content = result.get("content", [{"text": f"{number} " + "x" * size}])
    return [
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": identity, "name": "f", "input": {}}}],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": identity, "status": "success", "content": content}}
            ],
        },
    ]


def chat(turns):
    return [says(role, f"{role} {turn}") for turn in range(turns) for role in ("user", "assistant")]


def conversation(seed):
    """Requests, loops and answers in any order that a provider takes."""
    chance = random.Random(seed)
    messages: list[Any] = []
    for turn in range(chance.randrange(1, 12)):
        messages.append(says("user", f"request {turn}"))
        for number in range(chance.choice([0, 0, 1, 3])):
            messages += step(f"{turn}-{number}", chance.choice([20, 20, 2_000]))
        messages.append(says("assistant", f"answer {turn}"))
    if chance.random() < 0.2:
        messages.append(says("user", "one more"))
    return messages


def reduced(manager, messages, e=None):
    """Returns the messages that a manager leaves of a copy, or the error that it raises."""
    agent = SimpleNamespace(messages=copy.deepcopy(messages))
    try:
        manager.reduce_context(agent, e) if e else manager.apply_management(agent)
    except ContextWindowOverflowException as error:
        return error
    return agent.messages


def requires_nothing(messages):
    waiting = messages[:-1] if messages and "toolUse" in messages[-1]["content"][-1] else messages
    return ullage.validate(waiting, "bedrock") == []


@pytest.mark.parametrize("window", [2, 5, 9, 40])
def test_a_window_leaves_what_that_of_strands_leaves_where_that_is_valid(window):
    valid = 0
    for seed in range(150):
        messages = conversation(seed)
        theirs, ours = Theirs(window), Ours(window)
        left, expected = reduced(ours, messages), reduced(theirs, messages)
        assert requires_nothing(left)
        if requires_nothing(expected):
            valid += 1
            assert left == expected
            assert ours.removed_message_count == theirs.removed_message_count
    assert valid > 100


def test_a_window_inside_a_tool_loop_keeps_the_request_that_the_loop_works_on():
    messages = [says("user", TASK), *(m for n in range(20) for m in step(n))]
    assert reduced(Theirs(10), messages)[0]["role"] == "assistant", "which providers refuse"
    ours = reduced(Ours(10), messages)
    assert ours[0] == messages[0]
    assert len(ours) <= 10
    assert requires_nothing(ours)


def test_window_zero_clears_what_is_answered_and_keeps_what_waits():
    assert reduced(Ours(0), chat(5)) == reduced(Theirs(0), chat(5)) == []
    waiting = [*chat(5), says("user", "now"), *step(1)]
    assert reduced(Theirs(0), waiting) == [], "which providers refuse"
    assert reduced(Ours(0), waiting) == waiting[-3:]


@pytest.mark.parametrize("pin_first", [1, 2, 3])
def test_pinned_messages_stay_and_roles_alternate_around_them(pin_first):
    manager, agent = Ours(6, pin_first=pin_first), SimpleNamespace(messages=chat(20))
    for turn in range(5):
        manager.apply_management(agent)
        assert [m["content"] for m in agent.messages[:pin_first]] == [
            m["content"] for m in chat(20)[:pin_first]
        ]
        assert all(m["metadata"]["custom"]["pinned"] for m in agent.messages[:pin_first])
        assert len([m for m in agent.messages if "metadata" in m]) == pin_first
        assert requires_nothing(agent.messages)
        agent.messages += [says("user", f"more {turn}"), says("assistant", "yes")] * 3


def test_a_pinned_result_keeps_its_call():
    messages = [says("user", TASK), *step(1), says("assistant", "done"), *chat(10)]
    messages[2]["metadata"] = {"custom": {"pinned": True}}
    assert messages[1]["content"] in [m["content"] for m in reduced(Ours(4), messages)]


@pytest.mark.parametrize("fault", ["json", "newer", "document"])
def test_an_overflow_truncates_the_result_that_caused_it(fault):
    """harness-sdk 4341: Strands looks at the oldest result alone, and at its text."""
    huge = {
        "json": [{"json": {"rows": list(range(100_000))}}],
        "newer": [{"text": "y" * 500_000}],
        "document": [{"document": {"format": "txt", "name": "n", "source": {"bytes": b"z" * 9}}}],
    }[fault]
    messages = [says("user", TASK), *step(1, 50), *step(2, content=huge), *step(3)]
    theirs, ours = reduced(Theirs(), messages, OVERFLOW), reduced(Ours(), messages, OVERFLOW)
    assert len(json.dumps(ours, default=str)) < 5_000
    assert len(ours) == len(messages)
    assert isinstance(theirs, Exception) or len(theirs) < len(messages)
    assert ours[4]["content"][0]["toolResult"]["status"] == "success"


def test_a_text_is_truncated_as_strands_truncates_it():
    messages = [says("user", TASK), *step(1, 5_000)]
    assert reduced(Ours(), messages, OVERFLOW) == reduced(Theirs(), messages, OVERFLOW)
    barely = [says("user", TASK), *step(1, 401), *chat(4)]
    assert len(str(reduced(Ours(), barely, OVERFLOW))) < len(str(barely)), "never longer"


def test_a_refusal_takes_a_quarter_and_the_next_ones_more():
    left, manager = [], Ours()
    agent = SimpleNamespace(messages=chat(18))

    def until_it_raises():
        while True:
            manager.reduce_context(agent, OVERFLOW)
            left.append(len(agent.messages))

    with pytest.raises(ContextWindowOverflowException) as caught:
        until_it_raises()
    assert caught.value.__cause__ is OVERFLOW
    assert left[0] in (26, 27)
    assert left == sorted(set(left), reverse=True)
    assert len(left) <= 10


def test_nothing_to_trim_is_a_warning_and_an_error_after_an_overflow(caplog):
    messages = [says("user", TASK)]
    for manager in (Theirs(0 + 2), Ours(2)):
        agent = SimpleNamespace(messages=list(messages))
        with caplog.at_level(logging.WARNING):
            manager.reduce_context(agent)
        assert "unable to trim conversation context" in caplog.text
        caplog.clear()
        with pytest.raises(ContextWindowOverflowException, match="Unable to trim") as caught:
            manager.reduce_context(agent, OVERFLOW)
        assert caught.value.__cause__ is OVERFLOW
        assert agent.messages == messages


def agent_of(model, manager, **more):
    return Agent(
        model=model, tools=[fetch], conversation_manager=manager, callback_handler=None, **more
    )


@pytest.mark.parametrize("per_turn", [False, True, 3])
def test_per_turn_runs_as_with_strands(per_turn):
    counts = []
    for kind in (Theirs, Ours):
        model = Player(30, strict=kind is Ours)
        manager = kind(10, per_turn=per_turn)
        agent = agent_of(model, manager)
        agent(TASK)
        agent("more")
        counts.append(manager.get_state()["model_call_count"])
        assert len(agent.messages) <= 10
    assert counts[0] == counts[1]


def test_proactive_compression_leaves_the_beginning_alone_for_a_while():
    """Strands cuts two messages before every call, and with them the prompt cache."""
    changed = {}
    for kind in (Theirs, Ours):
        model = Player(0, limit=4_000, usage=True, strict=False)
        agent = agent_of(model, kind(400, proactive_compression=True))
        firsts = []
        for turn in range(30):
            agent(f"task {turn} " + "word " * 150)
            firsts.append(str(model.seen[0]["content"]))
        changed[kind] = len(set(firsts))
    assert changed[Ours] * 2 < changed[Theirs]


def test_a_result_is_replaced_and_not_written_into():
    model = Player(3, words=60_000, window=5_000)
    agent = agent_of(model, Ours())
    seen = []

    def keep(event: AfterToolCallEvent) -> None:
        seen.append((event.result, copy.deepcopy(event.result)))

    agent.add_hook(keep, AfterToolCallEvent)
    agent(TASK)
    assert all(now == before for now, before in seen)
