"""Reading, judging and deciding on one conversation in every wire format, from Python dicts.

The yardstick is `copy.deepcopy` of the list, which Strands does before every model call. The texts
were seen before, as in every turn of an agent but the first.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from support.formats import conversations
from support.machine import RUNS, described, medians_ms

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = 5_000


def actions(messages: list[dict[str, Any]], name: str) -> dict[str, Callable[[], object]]:
    """Returns the timed functions by name; the first is the yardstick."""
    counter = ullage.TokenCounter()
    tokens = counter.count_messages(messages)
    engine = ullage.ContextManager(ullage.Policy(window=tokens * 2), counter=counter)
    return {
        "deepcopy": lambda: copy.deepcopy(messages),
        "count": lambda: counter.count_messages(messages, name),
        "validate": lambda: ullage.validate(messages, name),
        "repair": lambda: ullage.repair(messages, name),
        "plan": lambda: engine.plan(messages),
    }


def main() -> None:
    """Prints a line for each format."""
    print(described("copy.deepcopy"))
    heads = "".join(f"{name:>10}" for name in ("deepcopy", "count", "validate", "repair", "plan"))
    print(f"\n{MESSAGES:,} messages, milliseconds; medians of {RUNS} runs")
    print(f"  {'':18}{'entries':>8}{heads}")
    for name, messages in conversations(MESSAGES).items():
        times = "".join(f"{ms:10.2f}" for ms in medians_ms(list(actions(messages, name).values())))
        print(f"  {name:18}{len(messages):8,}{times}")


if __name__ == "__main__":
    main()
