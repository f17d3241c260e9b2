"""Planning a long history against Strands' own token estimate of it, in one run.

Strands estimates by characters (``Model.count_tokens``); its loop does so before model calls. What
a user would otherwise pay for knowing how full the window is, is the yardstick for everything that
ullage does: reading, counting exactly, deciding, and writing the texts that stay.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from support import estimates
from support.conversations import history
from support.machine import RUNS, described, medians_ms
from support.results import record

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

    Counters = Callable[[], ullage.TokenCounter]

MESSAGES = (200, 1_000, 5_000)


def exact() -> ullage.TokenCounter:
    """A new counter by OpenAI's encoding."""
    return ullage.TokenCounter("o200k_base")


def estimate() -> ullage.TokenCounter:
    """A new counter for Claude."""
    return ullage.TokenCounter.for_model("claude-sonnet-4-5")


def rows(messages: list[dict[str, Any]]) -> dict[str, Callable[[], object]]:
    """Returns the compared functions; the first is the yardstick."""
    store = ullage.MemoryStore()
    tokens = exact().count_messages(messages)
    full = ullage.Policy(window=200_000)
    roomy = ullage.Policy(window=tokens * 2)

    def fresh(policy: ullage.Policy, make: Counters) -> Callable[[], object]:
        # A counter keeps its cache.
        return lambda: ullage.ContextManager(policy, counter=make(), store=store).plan(messages)

    def again(policy: ullage.Policy) -> Callable[[], object]:
        engine = ullage.ContextManager(policy, counter=exact(), store=store)
        engine.plan(messages)
        return lambda: engine.plan(messages)

    return {
        "Strands: estimate of the history": lambda: estimates.of_strands(messages),
        "plan, nothing due, seen before": again(roomy),
        "plan, nothing due, all text new, exact": fresh(roomy, exact),
        "plan to 200k, seen before": again(full),
        "plan to 200k, all text new, exact": fresh(full, exact),
        "plan to 200k, all text new, estimated": fresh(full, estimate),
    }


def main() -> None:
    """Prints a table for each length of history."""
    against = f"strands-agents {version('strands-agents')}"
    print(described(against))
    for count in MESSAGES:
        messages = history(count)
        size = sum(len(str(message)) for message in messages) / 1e6
        compared = rows(messages)
        measured = medians_ms(list(compared.values()))
        print(f"\n{len(messages):,} messages, {size:.1f} MB; medians of {RUNS} runs")
        record(
            "compaction",
            f"Plans over {len(messages):,} messages of {size:.1f} MB",
            ["plan", "time", "times Strands' estimate"],
            [
                [name, f"{milliseconds:.2f} ms", f"{milliseconds / measured[0]:.2f}"]
                for name, milliseconds in zip(compared, measured, strict=True)
            ],
            against=against,
        )
        for name, milliseconds in zip(compared, measured, strict=True):
            print(f"  {name:42} {milliseconds:8.2f} ms {milliseconds / measured[0]:6.2f} x Strands")


if __name__ == "__main__":
    main()
