"""A host that is given an engine tells what the engine's `on_compaction` asks for."""

# mypy: disable-error-code="arg-type"

from typing import Any

import pytest
from strands import Agent

import ullage
import ullage.adk
from ullage.strands import ContextPlugin, ContextView, EngineStrategy, MappingConversationManager

from .gemini_host import Host, agent, ask, gemini
from .players import TASK, Player, fetch
from .test_adk_plugin import fetch as adk_fetch
from .test_adk_plugin import investigation


class NoRoom:
    """A store whose disk is full."""

    def put(self, data: bytes, *, reference: str, tool: str = "") -> str:
        raise OSError(28, "no space left on device")

    def get(self, reference: str) -> bytes:
        raise KeyError(reference)


# An older Strands does not have all seams.
types = pytest.importorskip("strands.experimental.context_manager")
if not hasattr(types, "ContextManagerConfig"):
    pytest.skip("context_manager= takes presets alone", allow_module_level=True)


def engine(told: list[ullage.Report], store: Any = None, **arguments: Any) -> Any:
    policy = ullage.Policy(window=9_000, reserve_output=1_000)
    return ullage.ContextManager(policy, store=store, on_compaction=told.append, **arguments)


@pytest.mark.parametrize("seam", ["plugin", "view", "strategy", "manager"])
def test_strands_tells(seam):
    told: list[ullage.Report] = []
    made = engine(told, ullage.MemoryStore())
    faces: dict[str, Any] = {
        "plugin": {"plugins": [ContextPlugin(engine=made)]},
        "view": {"plugins": [ContextView(engine=made)]},
        "strategy": {"context_manager": {"strategies": [EngineStrategy(made)], "stash": False}},
        "manager": {"conversation_manager": MappingConversationManager(engine=made)},
    }
    model = Player(30, words=500, window=9_000, limit=9_000)
    Agent(model=model, tools=[fetch], callback_handler=None, **faces[seam])(TASK)
    assert model.refused == []
    assert told
    assert all(report.tokens_after < report.tokens_before for report in told if report.stages)


@pytest.mark.parametrize("how", ["plugin", "callbacks"])
@pytest.mark.parametrize("store", [None, NoRoom()], ids=["no store", "a store that is full"])
def test_adk_tells(how, store):
    told: list[ullage.Report] = []
    made = engine(told, store, format="gemini", append_only=True)
    model = gemini(investigation(25), window=9_000)
    if how == "plugin":
        host = Host(agent(model, [adk_fetch]), [ullage.adk.ContextPlugin(engine=made)])
    else:
        fields = ullage.adk.ContextCallbacks(engine=made).fields()
        host = Host(agent(model, [adk_fetch], **fields))
    ask(host, "Find out why checkout is slow.")
    assert model.refusals == 0
    assert len(told) >= 1
