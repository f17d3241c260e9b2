"""Planning a long history against Strands' own token estimate of it, in one run.

Strands estimates by characters (``Model.count_tokens``); its loop does so before model calls. What
a user would otherwise pay for knowing how full the window is, is the yardstick for everything that
ullage does: reading, counting exactly, deciding, and writing the texts that stay.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from strands.models import Model

import ullage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

RUNS = 21
MESSAGES = (200, 1_000, 5_000)
RESULT_CHARACTERS = 2_000
# A turn is a request, these calls with their results, and an answer: ten messages.
CALLS_A_TURN = 4


class Heuristic(Model):
    """A model that is only asked for Strands' own estimate."""

    def update_config(self, **model_config: Any) -> None:
        """Has no settings."""

    def get_config(self) -> dict[str, Any]:
        """Has no settings."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Is never asked."""
        raise NotImplementedError

    def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Is never asked."""
        raise NotImplementedError


def history(count: int) -> list[dict[str, Any]]:
    """A history of ``count`` messages or a few more, with results of about 2 KB, each different."""
    messages: list[dict[str, Any]] = []
    turn = 0
    while len(messages) < count:
        turn += 1
        messages.append(said("user", f"Look into part {turn} next."))
        for step in range(CALLS_A_TURN):
            call = f"call-{turn}-{step}"
            path = f"src/{turn}/{step}.rs"
            use = {"toolUseId": call, "name": "read_file", "input": {"path": path}}
            content = [{"text": text(turn, step)}]
            result = {"toolUseId": call, "status": "success", "content": content}
            messages.append(
                {"role": "assistant", "content": [{"text": "Reading."}, {"toolUse": use}]}
            )
            messages.append({"role": "user", "content": [{"toolResult": result}]})
        messages.append(said("assistant", f"Part {turn} is in order."))
    return messages


def said(role: str, words: str) -> dict[str, Any]:
    """A message of words."""
    return {"role": role, "content": [{"text": words}]}


def text(turn: int, step: int) -> str:
    """About 2 KB of log lines, different for each call."""
    lines: list[str] = []
    size = 0
    while size < RESULT_CHARACTERS:
        number = len(lines)
        line = (
            f"2026-11-21T09:{number % 60:02}:{step:02} INFO worker-{turn} handled request"
            f" id={turn * 7919 + number * 31:06x} status={200 + number % 5} in {number * 3 % 97} ms"
        )
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


def medians_ms(actions: list[Callable[[], object]]) -> list[float]:
    """Median wall time of each action in milliseconds.

    The actions take turns, so that a machine that slows down slows all of them down.
    """
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(RUNS):
        for action, taken in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            taken.append((time.perf_counter() - start) * 1_000)
    return [statistics.median(taken) for taken in times]


def rows(messages: list[dict[str, Any]]) -> dict[str, Callable[[], object]]:
    """What is compared; the first is the yardstick."""
    model = Heuristic()
    exact = ullage.TokenCounter("o200k_base")
    estimate = ullage.TokenCounter.for_model("claude-sonnet-4-5")
    store = ullage.MemoryStore()
    tokens = exact.count_messages(messages)
    full = ullage.Policy(window=200_000)
    roomy = ullage.Policy(window=tokens * 2)

    def fresh(policy: ullage.Policy, counter: ullage.TokenCounter) -> Callable[[], object]:
        return lambda: ullage.ContextManager(policy, counter=counter, store=store).plan(messages)

    def again(policy: ullage.Policy, counter: ullage.TokenCounter) -> Callable[[], object]:
        engine = ullage.ContextManager(policy, counter=counter, store=store)
        engine.plan(messages)
        return lambda: engine.plan(messages)

    async def strands_estimate() -> int:
        return await model.count_tokens(messages)  # type: ignore[arg-type]

    return {
        "Strands: estimate of the history": lambda: asyncio.run(strands_estimate()),
        "plan, nothing due, seen before": again(roomy, exact),
        "plan, nothing due, all text new, exact": fresh(roomy, exact),
        "plan to 200k, seen before": again(full, exact),
        "plan to 200k, all text new, exact": fresh(full, exact),
        "plan to 200k, all text new, estimated": fresh(full, estimate),
    }


def main() -> None:
    """Prints a table for each length of history."""
    host = version("strands-agents")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"ullage {ullage.__version__} against strands-agents {host}")
    for count in MESSAGES:
        messages = history(count)
        size = sum(len(str(message)) for message in messages) / 1e6
        compared = rows(messages)
        measured = medians_ms(list(compared.values()))
        print(f"\n{len(messages):,} messages, {size:.1f} MB; medians of {RUNS} runs")
        for name, milliseconds in zip(compared, measured, strict=True):
            print(f"  {name:42} {milliseconds:8.2f} ms {milliseconds / measured[0]:6.2f} x Strands")


if __name__ == "__main__":
    main()
