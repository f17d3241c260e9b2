"""Estimating the tokens of a history as hosts do and as ullage does, and how fast that is.

The yardstick is Strands' own estimate. "of o200k" is the number beside the exact one of OpenAI's
encoding, of which Claude takes about 1.28 times as many: an estimate below 1.28 is too low for it.
The speeds are of new strings; Python first turns one beyond ASCII into UTF-8, which takes longer
than the estimate.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from support import corpus, estimates
from support.conversations import history
from support.machine import RUNS, described, medians_ms

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

CLAUDE = "claude-sonnet-4-5"
MESSAGES = 1_000
# Characters of a string whose speed is taken: what a tool returns.
STRING = 8_000


def rows(messages: list[dict[str, Any]]) -> dict[str, Callable[[], int]]:
    """Returns the compared functions; the first is the yardstick."""
    seen = ullage.TokenCounter.for_model(CLAUDE)

    def fresh(make: Callable[[], ullage.TokenCounter]) -> Callable[[], int]:
        return lambda: make().count_messages(messages)

    return {
        "Strands' estimate": lambda: estimates.of_strands(messages),
        "ADK's formula, in Python": lambda: estimates.of_adk(messages),
        "Cyber-AutoAgent's formula, in Python": lambda: estimates.of_cyber_autoagent(messages),
        "the same as a preset": fresh(lambda: ullage.TokenCounter.preset("cyber-autoagent")),
        "SRE agent's formula, in Python": lambda: estimates.of_sre_agent(messages),
        "estimate for Claude, all text new": fresh(lambda: ullage.TokenCounter.for_model(CLAUDE)),
        "estimate for Claude, seen before": lambda: seen.count_messages(messages),
        "exact o200k_base, all text new": fresh(lambda: ullage.TokenCounter("o200k_base")),
    }


def print_speeds() -> None:
    """GB/s of the estimate for each class of text, each string once."""
    counter = ullage.TokenCounter.for_model(CLAUDE)
    print("\nThe estimate for Claude on new text, GB/s of CPU time")
    for name, text in corpus.classes().items():
        strings = [text[start : start + STRING] for start in range(0, len(text), STRING)]
        start = time.process_time()
        for string in strings:
            counter.count(string)
        seconds = time.process_time() - start
        print(f"  {name:18} {len(text.encode()) / seconds / 1e9:5.2f}")


def main() -> None:
    """Prints the estimates of one history, then the speed on each class of text."""
    print(described(f"strands-agents {version('strands-agents')}"))
    messages = history(MESSAGES)
    size = sum(len(str(message)) for message in messages) / 1e6
    compared = rows(messages)
    exact = ullage.TokenCounter("o200k_base").count_messages(messages)
    measured = medians_ms(list(compared.values()))
    print(f"\n{len(messages):,} messages, {size:.1f} MB; medians of {RUNS} runs")
    for (name, estimate), milliseconds in zip(compared.items(), measured, strict=True):
        times, of_exact = measured[0] / milliseconds, estimate() / exact
        print(f"  {name:38} {milliseconds:8.2f} ms {times:6.1f}x Strands  {of_exact:5.2f} of o200k")
    print_speeds()


if __name__ == "__main__":
    main()
