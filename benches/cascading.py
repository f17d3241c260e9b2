"""Each seam before each model call, against what Strands' own window and estimate cost there.

The yardstick is ``SlidingWindowConversationManager(per_turn=True)``, which looks at the history
before each call, with Strands' own token estimate (``Model.count_tokens``) of it. Both sides run as
a real agent runs them: each step adds a call with its result, then fires the hooks of the next
model call. No model is asked. Process CPU time, so that other work on the machine
does not count.
"""

from __future__ import annotations

import asyncio
import copy
import statistics
import time
from enum import Enum
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.agent import conversation_manager as strands_managers
from strands.hooks import BeforeModelCallEvent
from strands.middleware import InvokeModelContext
from strands.models import Model
from support.conversations import history
from support.machine import described
from support.results import record

from ullage import ContextManager, Policy
from ullage.strands import (
    ContextPlugin,
    ContextView,
    MappingConversationManager,
    PromptBudgetHook,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)

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
    """The estimate that runs beside a manager."""

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


def agent_of(messages: list[dict[str, Any]], **more: Any) -> Agent:
    """An agent with a copy of the list of messages."""
    plain: Any = [*messages]
    return Agent(model=Unasked(), messages=plain, callback_handler=None, **more)


def engine_of(*, append_only: bool) -> ContextManager:
    """An engine that finds nothing to do."""
    return ContextManager(Policy(window=LIMIT), format="bedrock", append_only=append_only)


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


async def per_view(messages: list[dict[str, Any]], engine: ContextManager) -> float:
    """Median CPU milliseconds of what a view does to a request of its agent.

    The deep copy that it is given is made by Strands, for every request and with any manager.
    """
    view = ContextView(engine)
    agent = agent_of(messages, plugins=[view])
    taken = []
    for number in range(CALLS):
        grow(agent, number)
        request = InvokeModelContext(
            agent=agent,
            messages=copy.deepcopy(agent.messages),
            system_prompt=None,
            tool_specs=[],
            tool_choice=None,
            invocation_state={},
            model=agent.model,
        )
        start = time.process_time()
        await view.request(request)
        taken.append((time.process_time() - start) * 1_000)
    return statistics.median(taken)


def rows(messages: list[dict[str, Any]], window: int) -> dict[str, float]:
    """Returns the times of the compared managers; the first is the yardstick."""

    def of(manager: Any, *hooks: Any) -> Agent:
        return agent_of(messages, conversation_manager=manager, hooks=[*hooks])

    def mapping() -> MappingConversationManager:
        return MappingConversationManager(window_size=window)

    theirs = strands_managers.SlidingWindowConversationManager
    agents = {
        "Strands: per_turn window, and its estimate": of(theirs(window, per_turn=True)),
        "Strands: per_turn window alone": of(theirs(window, per_turn=True)),
        "cascade": of(mapping()),
        "cascade with PromptBudgetHook": of(mapping(), PromptBudgetHook()),
        "our per_turn window": of(SlidingWindowConversationManager(window, per_turn=True)),
    }
    estimated = next(iter(agents))
    found = {}
    for name, agent in agents.items():
        estimate = Estimate.STRANDS if name == estimated else Estimate.NONE
        found[name] = asyncio.run(per_call(agent, estimate))
    return found


def windowless(messages: list[dict[str, Any]]) -> dict[str, float]:
    """The seams that know no window in messages."""
    found = {}
    summarizing = SummarizingConversationManager(proactive_compression=True)
    agent = agent_of(messages, conversation_manager=summarizing)
    found["our summarizing manager"] = asyncio.run(per_call(agent, Estimate.NONE))
    for append_only in (True, False):
        kind = "append-only engine" if append_only else "engine without"
        engine = engine_of(append_only=append_only)
        manager = MappingConversationManager(engine=engine)
        agent = agent_of(messages, conversation_manager=manager)
        found[f"cascade, {kind}"] = asyncio.run(per_call(agent, Estimate.NONE))
        agent = agent_of(messages, plugins=[ContextPlugin(engine_of(append_only=append_only))])
        found[f"plugin, {kind}"] = asyncio.run(per_call(agent, Estimate.NONE))
        viewed = asyncio.run(per_view(messages, engine_of(append_only=append_only)))
        found[f"view, {kind}"] = viewed
    return found


def main() -> None:
    """Prints a table for each length of history and each window."""
    against = f"strands-agents {version('strands-agents')}"
    print(described(against))
    for count in MESSAGES:
        messages = history(count)
        for window in (ROOMY, NARROW):
            measured = rows(messages, window)
            if window == ROOMY:
                measured |= windowless(messages)
            yardstick = next(iter(measured.values()))
            window_text = "nothing due" if window == ROOMY else f"a window of {window}"
            record(
                "turn",
                f"Strands, {count:,} messages, {window_text}; processor time of a model call",
                ["before a model call", "time", "times Strands"],
                [
                    [name, f"{milliseconds:.2f} ms", f"{milliseconds / yardstick:.2f}"]
                    for name, milliseconds in measured.items()
                ],
                against=against,
            )
            print(f"\n{count:,} messages and {CALLS} more calls, a window of {window:,}")
            for name, milliseconds in measured.items():
                times = milliseconds / yardstick
                print(f"  {name:42} {milliseconds:8.3f} ms {times:6.2f} x Strands")


if __name__ == "__main__":
    main()
