"""Agents pause, fill in forms, call other agents and end suddenly, with every seam."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr,typeddict-item"

import asyncio
import copy
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from strands import Agent
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    BeforeModelCallEvent,
    BeforeToolCallEvent,
    MessageAddedEvent,
)
from strands.multiagent import GraphBuilder, Swarm
from strands.session.file_session_manager import FileSessionManager

import ullage
from demo.rules import check_history
from tests.python.players import TASK, Player, fetch
from tests.python.seams import SEAMS, WINDOW

from .lengths import first, long

pytestmark = pytest.mark.parametrize("seam", SEAMS)


def player(calls, **more):
    return Player(calls, **{"words": 600, "limit": WINDOW, "window": WINDOW, **more})


def agent_of(seam, model, **more):
    return Agent(model=model, tools=[fetch], callback_handler=None, **seam.given, **more)


def test_interrupted_and_cancelled_calls_go_on(seam):
    model = player(12, width=2)
    agent = agent_of(SEAMS[seam](), model)

    def disturb(event: BeforeToolCallEvent) -> None:
        number = event.tool_use["input"]["number"]
        if number % 200 == 0:
            event.interrupt(f"approval {number}", reason="may it?")
        if number % 600 == 501:
            event.cancel_tool = "not now"

    agent.add_hook(disturb, BeforeToolCallEvent)
    result, interrupts = agent(TASK), 0
    while result.stop_reason == "interrupt":
        interrupts += 1
        result = agent(
            [
                {"interruptResponse": {"interruptId": one.id, "response": "yes"}}
                for one in result.interrupts
            ]
        )
    assert result.stop_reason == "end_turn"
    assert interrupts >= 3
    check_history(agent.messages[:-1])


def use(number):
    call = {"toolUseId": f"u{number}", "name": "fetch", "input": {"words": number}}
    return {"toolUse": call}


def answer(number):
    content = [{"text": f"result {number}"}]
    return {"toolResult": {"toolUseId": f"u{number}", "status": "success", "content": content}}


def broken(chance, messages):
    """Does to a history what interruptions, other programs and mistakes do."""
    at = chance.randrange(len(messages))
    content, role = [*messages[at]["content"]], messages[at]["role"]
    match chance.choice(
        ["remove", "swap", "empty", "blank", "drop", "move", "say", "cut", "interrupt"]
    ):
        case "remove":
            del messages[at]
        case "swap":
            other = chance.randrange(len(messages))
            messages[at], messages[other] = messages[other], messages[at]
        case "empty":
            messages[at] = {"role": role, "content": []}
        case "blank":
            messages[at] = {"role": role, "content": [*content, {"text": "  "}]}
        case "drop":
            messages[at]["content"] = content[1:]
        case "move":
            messages.insert(chance.randrange(len(messages)), {"role": role, "content": content[:1]})
            messages[at] = {"role": role, "content": content[1:]}
        case "say":
            said = {"role": chance.choice(["user", "assistant"]), "content": [{"text": "So."}]}
            messages.insert(at, said)
        case "cut":
            del messages[at + 1 :]
        case "interrupt":
            messages.append({"role": "assistant", "content": [use(9_001), use(9_002)]})
            messages += [{"role": "user", "content": [answer(9_002)]}][: chance.randrange(2)]


def history(chance):
    """Requests, answers and calls side by side."""
    messages, number = [], 0
    for turn in range(chance.randint(1, 12)):
        messages.append({"role": "user", "content": [{"text": f"{TASK} {turn}"}]})
        for _ in range(chance.randint(0, 4)):
            numbers = range(number, number := number + chance.randint(1, 3))
            messages.append({"role": "assistant", "content": [use(n) for n in numbers]})
            messages.append({"role": "user", "content": [answer(n) for n in numbers]})
        said = "word " * chance.choice([3, 900])
        messages.append({"role": "assistant", "content": [{"text": f"{turn} {said}"}]})
    return messages


@settings(max_examples=settings.default.max_examples // 4)
@given(chance=st.randoms(use_true_random=False))
def test_every_request_is_valid_whatever_the_history_looks_like(seam, chance):
    requests: list[str] = []
    invalid: list[Any] = []

    class Validating(Player):
        async def stream(self, messages, *given, **more):
            invalid.extend(ullage.validate(messages, "bedrock"))
            requests.append(str(messages))
            async for event in super().stream(messages, *given, **more):
                yield event

    model = Validating(3, words=600, limit=WINDOW, strict=False)
    agent = agent_of(SEAMS[seam](), model, messages=history(chance))
    for turn in range(4):
        for _ in range(chance.randint(1, 3)):
            if agent.messages:
                broken(chance, agent.messages)
        model.rest = 3
        agent(f"go on {turn}")
    assert len(requests) >= 16
    assert invalid == []
    assert "go on 3" in requests[-1]


def test_an_interrupted_tool_leaves_a_history_that_is_repaired_in_place(seam):
    model = player(0)
    agent = agent_of(SEAMS[seam](), model)
    agent.messages[:] = [
        {"role": "user", "content": [{"text": TASK}]},
        {"role": "assistant", "content": [use(1), use(2)]},
        {"role": "user", "content": [answer(1), answer(2)]},
    ]
    before = copy.deepcopy(agent.messages)
    agent("And now?")
    assert [message["role"] for message in model.seen] == ["user", "assistant", "user"]
    assert model.seen[2]["content"] == [answer(1), answer(2), {"text": "And now?"}]
    kept = [{key: m[key] for key in ("role", "content")} for m in agent.messages]
    if seam == "view":
        assert kept[:4] == [*before, {"role": "user", "content": [{"text": "And now?"}]}]
    else:
        assert kept[:3] == model.seen


def test_calls_that_may_still_be_answered_are_not_repaired(seam):
    model = player(15)
    agent = agent_of(SEAMS[seam](), model)
    agent(TASK)
    agent.messages.append({"role": "assistant", "content": [use(1), use(2)]})
    agent.conversation_manager.apply_management(agent)
    assert agent.messages[-1]["content"] == [use(1), use(2)]
    agent.messages.append({"role": "user", "content": [answer(1)]})
    agent.conversation_manager.apply_management(agent)
    assert agent.messages[-1]["content"] == [answer(1)]


def test_every_message_has_a_durable_id_of_its_own(seam, tmp_path):
    def begun(model):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        return agent_of(SEAMS[seam](), model, agent_id="a", session_manager=session)

    def check(event):
        identities = [message.get("tracking_id", "") for message in event.agent.messages]
        assert all(UUID(one).version == 4 for one in identities)
        assert len(set(identities)) == len(identities)

    agent = begun(player(0, words=1_200))
    for event in (BeforeModelCallEvent, AfterInvocationEvent):
        agent.hooks.add_callback(event, check, order=2_000)
    for turn in range(3):
        agent.model.rest = 3
        agent(f"{TASK} {turn}")
        twin = begun(player(0))
        assert [m["tracking_id"] for m in twin.messages] == [
            m["tracking_id"] for m in agent.messages
        ]


def test_a_structured_answer_comes_through(seam):
    class Answer(BaseModel):
        """The answer."""

        words: int

    model = player(12)
    agent = agent_of(SEAMS[seam](), model)

    def at_last(_event: BeforeModelCallEvent) -> None:
        # A summary is asked of this model too.
        if model.rest <= 0:
            model.asks, model.rest = "Answer", 1

    agent.add_hook(at_last, BeforeModelCallEvent)
    result = agent(TASK, structured_output_model=Answer)
    assert result.structured_output == Answer(words=600)


@pytest.mark.parametrize("width", [3, long(1)])
def test_results_larger_than_the_window_of_the_model_do_not_end_the_agent(seam, width):
    model = player(6, words=4 * WINDOW, width=width)
    agent = agent_of(SEAMS[seam](), model)
    assert agent(TASK).stop_reason == "end_turn"
    answered = len(model.requests) - len(model.refused)
    # A summary is asked of this model too.
    assert answered >= 7 if seam == "summarizing" else answered == 7


def test_the_agents_of_a_graph_and_a_swarm_share_it(seam):
    shared = SEAMS[seam]()

    def several(kind, count):
        return [
            agent_of(shared, player(8), name=f"{kind}{n}", agent_id=f"{kind}{n}")
            for n in range(count)
        ]

    agents = several("node", 3)
    builder = GraphBuilder().set_execution_timeout(60)
    for agent in agents:
        builder.add_node(agent, agent.name)
    builder.add_edge("node0", "node2")
    builder.add_edge("node1", "node2")
    assert builder.build()(TASK).status.value == "completed"
    swarm = several("agent", 2)
    assert asyncio.run(Swarm(swarm).invoke_async(TASK)).status.value == "completed"
    for agent in (*agents, swarm[0]):
        assert len(agent.model.requests) > 6
        check_history(agent.messages[:-1])


def test_agents_in_threads_share_it(seam):
    shared = SEAMS[seam]()
    agents = [
        agent_of(shared, player(12, words=300 + 60 * n), name=f"a{n}", agent_id=f"a{n}")
        for n in range(3)
    ]

    with ThreadPoolExecutor(len(agents)) as pool:
        list(pool.map(lambda number: agents[number](f"{TASK} Number {number}."), range(3)))
    for number, agent in enumerate(agents):
        others = [f"Number {other}." for other in range(3) if other != number]
        assert not any(other in str(agent.messages) for other in others)
        assert f"Number {number}." in str(agent.messages)
        check_history(agent.messages[:-1])


MOMENTS = (MessageAddedEvent, BeforeModelCallEvent, AfterModelCallEvent, AfterInvocationEvent)


class Killed(BaseException):
    """The process ends here; nothing of Strands catches it."""


def contents(messages):
    return [(message["role"], copy.deepcopy(message["content"])) for message in messages]


@pytest.mark.parametrize("seed", first(1, [1, 2]))
def test_a_killed_agent_comes_back_as_it_was_at_one_of_its_last_moments(seam, seed, tmp_path):
    chance = random.Random(seed)
    folder = tmp_path / "0"
    possible: list[Any] = [[]]
    for life in range(6):
        # Killed between a request and its answer, an agent asks twice in a row: not ours to judge.
        calls, words, width = (
            chance.randrange(14),
            chance.randrange(100, 900),
            chance.choice([1, 3]),
        )
        model = player(calls, words=words, width=width, strict=False)
        sessions = FileSessionManager("s", storage_dir=str(folder))
        agent = agent_of(SEAMS[seam](), model, agent_id="a", session_manager=sessions)
        assert contents(agent.messages) in possible
        moment, seen = chance.randrange(1, 120), possible[-8:]
        left = tmp_path / str(life + 1)

        def tick(event, seen=seen, moment=moment, left=left, folder=folder):
            seen.append(contents(event.agent.messages))
            if len(seen) >= moment and not left.exists():
                # The session also stores what an exception leaves; a kill leaves this.
                shutil.copytree(folder, left)
                raise Killed

        for event in MOMENTS:
            # Before and after the hooks of the seam and the session.
            agent.hooks.add_callback(event, tick, order=-5_000)
            agent.hooks.add_callback(event, tick, order=5_000)
        try:
            agent(f"{TASK} {life}")
            seen.append(contents(agent.messages))
        except Killed:
            pass
        if not left.exists():
            shutil.copytree(folder, left)
        folder, possible = left, seen
