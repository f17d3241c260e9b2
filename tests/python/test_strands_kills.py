"""Agents that are killed at random moments, with each of the seams, and a session of Strands."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import copy
import random
import shutil
from typing import Any

import pytest
from strands import Agent
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    BeforeModelCallEvent,
    MessageAddedEvent,
)
from strands.session.file_session_manager import FileSessionManager

from tests.python.lengths import first
from tests.python.players import TASK, fetch
from tests.python.test_strands_engines import WINDOW, engine_of
from tests.python.test_strands_summarizing import Summarizer
from ullage.strands import (
    ContextPlugin,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)

LIVES = 6
MOMENTS = (MessageAddedEvent, BeforeModelCallEvent, AfterModelCallEvent, AfterInvocationEvent)

SEAMS = {
    "plugin": lambda: {"plugins": [ContextPlugin(engine_of())]},
    "sliding": lambda: {
        "conversation_manager": SlidingWindowConversationManager(12, per_turn=True, pin_first=1)
    },
    "summarizing": lambda: {
        "conversation_manager": SummarizingConversationManager(
            0.5, 4, pin_first=1, proactive_compression=True
        )
    },
}


class Killed(BaseException):
    pass


def contents(messages):
    return [(message["role"], copy.deepcopy(message["content"])) for message in messages]


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("seed", first(1, [1, 2]))
def test_a_killed_agent_comes_back_as_it_was_at_one_of_its_last_moments(seam, seed, tmp_path):
    chance = random.Random(seed)
    folder = tmp_path / "0"
    possible: list[Any] = [[]]
    for life in range(LIVES):
        # Killed between a request and its answer, an agent asks twice in a row: not ours to judge.
        model = Summarizer(
            chance.randrange(14),
            words=chance.randrange(100, 900),
            width=chance.choice([1, 3]),
            window=WINDOW,
            limit=WINDOW,
            strict=False,
        )
        agent = Agent(
            model=model,
            tools=[fetch],
            agent_id="a",
            session_manager=FileSessionManager("s", storage_dir=str(folder)),
            callback_handler=None,
            **SEAMS[seam](),
        )
        assert contents(agent.messages) in possible
        moment, seen = chance.randrange(1, 60), possible[-3:]
        left = tmp_path / str(life + 1)

        def tick(event, seen=seen, moment=moment, left=left, folder=folder):
            seen.append(contents(event.agent.messages))
            if len(seen) >= moment and not left.exists():
                # The session also stores what an exception leaves; a kill leaves this.
                shutil.copytree(folder, left)
                raise Killed

        for event in MOMENTS:
            agent.hooks.add_callback(event, tick, order=chance.choice([-5_000, 5_000]))
        try:
            agent(f"{TASK} {life}")
            seen.append(contents(agent.messages))
        except Killed:
            pass
        if not left.exists():
            shutil.copytree(folder, left)
        folder, possible = left, seen
