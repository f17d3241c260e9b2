"""A recorder under real agents: every request is there, and what it would have been."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,union-attr"

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from strands import Agent
from strands.agent.conversation_manager import NullConversationManager

import ullage
from tests.python.gemini_host import Host, ask, gemini
from tests.python.gemini_host import agent as adk_agent
from tests.python.players import TASK, Player, fetch
from tests.python.test_adk_plugin import fetch as fetch_logs
from tests.python.test_adk_plugin import investigation
from ullage.adk import ContextCallbacks
from ullage.adk import ContextPlugin as AdkPlugin
from ullage.report.timeline import Timeline
from ullage.strands import ContextPlugin, ContextView, MappingConversationManager, ToolRouterHook

WINDOW = 9_000
CALLS = 40


def engine_of(recorder, **settings):
    policy = ullage.Policy(window=WINDOW, reserve_output=1_000, **settings)
    return ullage.ContextManager(policy, store=ullage.MemoryStore(), recorder=recorder)


def manager(engine):
    hooks = [ToolRouterHook(engine=engine)]
    return {"conversation_manager": MappingConversationManager(engine=engine), "hooks": hooks}


SEAMS = {
    "manager": manager,
    "plugin": lambda engine: {"plugins": [ContextPlugin(engine)]},
    "view": lambda engine: {"plugins": [ContextView(engine)]},
}


@pytest.mark.parametrize("seam", SEAMS)
def test_an_agent_of_strands_is_recorded_at_every_seam(seam):
    recorder = ullage.Recorder()
    model = Player(CALLS, words=500, window=WINDOW, usage=True)
    agent = Agent(
        model=model, tools=[fetch], callback_handler=None, **SEAMS[seam](engine_of(recorder))
    )
    agent(TASK)
    plain = Player(CALLS, words=500, usage=True)
    whole = Agent(
        model=plain, tools=[fetch], callback_handler=None,
        conversation_manager=NullConversationManager(),
    )  # fmt: skip
    whole(TASK)
    steps = Timeline.of(recorder.entries, ullage.Economics()).steps
    assert [step.prompt for step in steps] == [size for size, _ in model.requests]
    assert any(isinstance(entry, ullage.Report) for entry in recorder.entries)
    assert all(after.without >= before.without for before, after in pairwise(steps))
    full = [size for size, _ in plain.requests]
    assert steps[-1].without == pytest.approx(full[-1], rel=0.05)
    assert steps[-1].without > 3 * WINDOW
    ET.fromstring(recorder.html())


@pytest.mark.parametrize("how", ["plugin", "callbacks"])
def test_an_agent_of_adk_is_recorded(how):
    recorder = ullage.Recorder()
    policy = ullage.Policy(window=10_000, reserve_output=1_000)
    engine = ullage.ContextManager(
        policy, model="gemini-2.5-pro", format="gemini", append_only=True, recorder=recorder
    )
    model = gemini(investigation(30), window=10_000)
    if how == "plugin":
        host = Host(adk_agent(model, [fetch_logs]), [AdkPlugin(engine=engine)])
    else:
        host = Host(adk_agent(model, [fetch_logs], **ContextCallbacks(engine=engine).fields()))
    ask(host, "Find out why checkout is slow.")
    plain = gemini(investigation(30), window=10**9)
    ask(Host(adk_agent(plain, [fetch_logs])), "Find out why checkout is slow.")
    steps = Timeline.of(recorder.entries, ullage.Economics()).steps
    assert [step.prompt for step in steps] == model.counts
    assert recorder.model == "gemini-2.5-pro"
    assert all(after.without >= before.without for before, after in pairwise(steps))
    assert steps[-1].without == pytest.approx(plain.counts[-1], rel=0.05)
    assert steps[-1].without > 1.5 * 10_000, plain.counts[-1]
    ET.fromstring(recorder.html())
