"""Every way into a Strands agent, with a window that a run of a dozen calls exceeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import ullage
from ullage.strands import (
    ContextPlugin,
    ContextView,
    EngineStrategy,
    MappingConversationManager,
    PromptBudgetHook,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
    ToolRouterHook,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 6_000


class Seam:
    """One object for any number of agents, and how each of them gets it."""

    def __init__(self, **given: Any) -> None:
        self._given = given

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of an agent; the lists are its own."""
        return {
            key: [*value] if isinstance(value, list) else value
            for key, value in self._given.items()
        }


def engine() -> ullage.ContextManager:
    policy = ullage.Policy(window=WINDOW, reserve_output=500)
    return ullage.ContextManager(
        policy, store=ullage.MemoryStore(), format="bedrock", append_only=True
    )


def cascade() -> Seam:
    store = ullage.MemoryStore()
    return Seam(
        conversation_manager=MappingConversationManager(window_size=30, store=store),
        hooks=[PromptBudgetHook(), ToolRouterHook(store=store, artifact_threshold=2_000)],
    )


def sliding() -> Seam:
    return Seam(conversation_manager=SlidingWindowConversationManager(20, per_turn=3, pin_first=1))


def summarizing() -> Seam:
    return Seam(
        conversation_manager=SummarizingConversationManager(
            0.5, 6, pin_first=1, proactive_compression=True
        )
    )


def plugin() -> Seam:
    return Seam(plugins=[ContextPlugin(engine())])


def strategy() -> Seam:
    pytest.importorskip("strands.experimental.context_manager")
    return Seam(context_manager={"strategies": [EngineStrategy(engine())], "stash": False})


def view() -> Seam:
    pytest.importorskip("strands.middleware")
    return Seam(plugins=[ContextView(engine())])


SEAMS: dict[str, Callable[[], Seam]] = {
    "cascade": cascade,
    "plugin": plugin,
    "strategy": strategy,
    "view": view,
    "sliding": sliding,
    "summarizing": summarizing,
}
