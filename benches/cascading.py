"""The cascade before each model call, against what Strands' own window and estimate cost there.

The yardstick is ``SlidingWindowConversationManager(per_turn=True)``, which looks at the history
before each call, with Strands' own token estimate (``Model.count_tokens``) of it. Both sides run as
a real agent runs them: each step adds a call with its result, then fires the hooks of the next
model call. No model is asked. Process CPU time, so that other work on the machine
does not count.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from enum import Enum
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks import BeforeModelCallEvent
from strands.models import Model
from support.conversations import history
from support.machine import described

from ullage.strands import MappingConversationManager, PromptBudgetHook

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

MESSAGES = (1_000, 5_000)
# Model calls that are measured, for each side.
CALLS = 41
# A window that no history here fills: what is measured is looking, not cutting.
ROOMY = 100_000
LIMIT = 100_000_000
# The window that is exceeded again and again, and that of the cascade's document.
NARROW = 100


class Estimate(Enum):
    """What is estimated beside what a manager does."""

    STRANDS = "strands"
    NONE = "none"


class Unasked(Model):
    """A model that nobody asks."""

    def update_config(self, **_: Any) -> None:
        """Changes nothing."""

    def get_config(self) -> Any:
        """Its id and its window."""
        return {"model_id": "us.anthropic.claude-sonnet-4-5", "context_window_limit": LIMIT}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Has none."""
        raise NotImplementedError

    def stream(self, *_: Any, **__: Any) -> AsyncIterable[Any]:
        """Has none."""
        raise NotImplementedError


def agent_of(manager: Any, messages: list[dict[str, Any]], *hooks: Any) -> Agent:
    """An agent with this manager and a copy of the list of messages."""
    return Agent(
        model=Unasked(),
        conversation_manager=manager,
        messages=[*messages],  # type: ignore[list-item]  # plain dicts
        hooks=[*hooks],
        callback_handler=None,
    )


def grow(agent: Agent, number: int) -> None:
    """A call, and its result of 2,000 characters."""
    use = {"toolUseId": f"new-{number}", "name": "fetch", "input": {"number": number}}
    result = {
        "toolUseId": f"new-{number}",
        "status": "success",
        "content": [{"text": f"line {number} of what the tool said\n" * 60}],
    }
    added: list[Any] = [
        {"role": "assistant", "content": [{"toolUse": use}]},
        {"role": "user", "content": [{"toolResult": result}]},
    ]
    agent.messages.extend(added)


async def per_call(agent: Agent, estimate: Estimate) -> float:
    """Median CPU milliseconds of what happens before a model call of this agent."""
    taken = []
    for number in range(CALLS):
        grow(agent, number)
        event = BeforeModelCallEvent(agent=agent, invocation_state={})
        start = time.process_time()
        if estimate is Estimate.STRANDS:
            await agent.model.count_tokens(agent.messages)
        await agent.hooks.invoke_callbacks_async(event)
        taken.append((time.process_time() - start) * 1_000)
    return statistics.median(taken)


def rows(messages: list[dict[str, Any]], window: int) -> dict[str, float]:
    """What is compared; the first is the yardstick."""

    def sliding() -> Agent:
        manager = SlidingWindowConversationManager(window_size=window, per_turn=True)
        return agent_of(manager, messages)

    def mapping(*hooks: Any) -> Agent:
        return agent_of(MappingConversationManager(window_size=window), messages, *hooks)

    agents = {
        "Strands: per_turn window, and its estimate": (sliding(), Estimate.STRANDS),
        "Strands: per_turn window alone": (sliding(), Estimate.NONE),
        "cascade": (mapping(), Estimate.NONE),
        "cascade with PromptBudgetHook": (mapping(PromptBudgetHook()), Estimate.NONE),
    }
    return {name: asyncio.run(per_call(*each)) for name, each in agents.items()}


def main() -> None:
    """Prints a table for each length of history and each window."""
    print(described(f"strands-agents {version('strands-agents')}"))
    for count in MESSAGES:
        messages = history(count)
        for window in (ROOMY, NARROW):
            measured = rows(messages, window)
            yardstick = next(iter(measured.values()))
            print(f"\n{count:,} messages and {CALLS} more calls, a window of {window:,}")
            for name, milliseconds in measured.items():
                times = milliseconds / yardstick
                print(f"  {name:42} {milliseconds:8.3f} ms {times:6.2f} x Strands")


if __name__ == "__main__":
    main()
