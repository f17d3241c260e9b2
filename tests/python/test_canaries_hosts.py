"""The hosts' adapters say no more of the messages than the engine does, whatever fails under them."""

# mypy: disable-error-code="arg-type"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from strands import Agent, tool

import ullage
import ullage.adk
from ullage.strands import ContextPlugin, MappingConversationManager, ToolRouterHook

from .gemini_host import Host, agent, ask, call, gemini, text
from .players import Player
from .test_canaries import CANARY, LONG, Quoting, aquoting, engine

if TYPE_CHECKING:
    from .ears import Ears

POLICY = ullage.Policy(window=9_000, reserve_output=1_000)


@tool
def fetch(words: int, number: int = 0) -> str:
    """Fetches words."""
    return f"{number} {LONG[: words * 20]}"


def strands_agent(ears: Ears, how: str, store: Any, summarizer: Any) -> Agent:
    made = engine("bedrock", ears, policy=POLICY, store=store, summarizer=summarizer)
    faces: dict[str, Any] = {
        "plugin": {"plugins": [ContextPlugin(engine=made)]},
        "manager": {
            "conversation_manager": MappingConversationManager(engine=made),
            "hooks": [ToolRouterHook(engine=made)],
        },
        "cascade": {
            "conversation_manager": MappingConversationManager(store=store, window_size=20),
            "hooks": [ToolRouterHook(store=store)],
        },
    }
    model = Player(20, words=300, limit=9_000)
    return Agent(model=model, tools=[fetch], callback_handler=None, **faces[how])


@pytest.mark.parametrize("how", ["plugin", "manager", "cascade"])
@pytest.mark.parametrize("store", [Quoting(), ullage.MemoryStore()], ids=["quoting", "memory"])
def test_strands_says_nothing_of_the_text(how, store, ears):
    given = strands_agent(ears, how, store, aquoting)
    try:
        given(f"{CANARY}: find out what is wrong.")
    except Exception as error:  # noqa: BLE001 - what ends the agent must not quote either
        ears.note(error)
    said = ears.all()
    assert said
    assert CANARY not in said


def respond(number: int) -> dict[str, Any]:
    """Fetches logs."""
    return {"logs": f"{number} {LONG}"}


@pytest.mark.parametrize("store", [Quoting(), ullage.MemoryStore()], ids=["quoting", "memory"])
def test_adk_says_nothing_of_the_text(store, ears):
    made = engine("gemini", ears, policy=POLICY, store=store, summarizer=aquoting)
    model = gemini(lambda n, _: call("respond", number=n) if n < 15 else text("Done."))
    payloads = ullage.adk.LargePayloadHandler(store)
    plugin = ullage.adk.ContextPlugin(engine=made, payloads=payloads)
    ask(Host(agent(model, [respond]), [plugin]), f"{CANARY}: find out what is wrong.")
    said = ears.all()
    assert said
    assert CANARY not in said
