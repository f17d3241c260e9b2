"""Measures what whole sessions cost with compactions, and what doing nothing costs.

Each session is followed request by request, as a host does whose provider caches prompts: a view
makes the request, and hears what was read from the cache. The sums are not those of the engine:
they follow from the messages that were sent. Doing nothing sends the whole history; the request
that would not fit the window costs the same in both, and doing nothing goes on from it.

Give a folder of recorded sessions as an argument or in ``ULLAGE_SESSIONS``; without one, sessions
are made up.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import Any

from support.machine import processor
from support.sessions import session

import ullage
from ullage import replay
from ullage.replay.measure import requests_of, valid

# A model for each rule of prices: writing and reading cost 1.25 and 0.1, 1 and 0.1, 1 and 0.5.
MODELS = ("claude-sonnet-4-5", "gpt-5", "gpt-4o")
# The window, and the share of it at which a compaction starts.
SETTINGS = ((64_000, 0.85), (32_000, 0.85), (64_000, 0.5), (32_000, 0.5), (200_000, 0.25))
RESERVE = 4_000
MADE_UP = 3
TOKENS = 160_000


@dataclass
class Sums:
    """The cost of a session in tokens of plain input, and the most lost at any request."""

    paid: float = 0.0
    without: float = 0.0
    most_lost: float = 0.0
    compactions: int = 0

    def add(self, paid: float, without: float) -> None:
        """Adds a request."""
        self.paid += paid
        self.without += without
        self.most_lost = max(self.most_lost, self.paid / self.without - 1)


class Sizes:
    """The tokens of each message, counted once."""

    def __init__(self, counter: ullage.TokenCounter) -> None:
        self._counter = counter
        self._known: dict[int, tuple[int, Any]] = {}

    def of(self, message: Any) -> int:
        """Returns the tokens of a message."""
        known = self._known.get(id(message))
        if known is None:
            # The message is kept, so that no other gets its id.
            known = self._known[id(message)] = self._counter.count_messages([message]), message
        return known[0]


def follow(
    messages: list[Any], requests: list[int], model: str, policy: ullage.Policy, sizes: Sizes
) -> Sums:
    """Returns the sums of one session."""
    prices = ullage.Economics.for_model(model)
    counter = ullage.TokenCounter()
    engine = ullage.ContextManager(policy, model=model, counter=counter, store=ullage.MemoryStore())
    view = engine.open(append_only=True)
    room = policy.window - policy.reserve_output
    sums, last, before, start = Sums(), list[Any](), 0, 0
    for request in requests:
        grown = sum(map(sizes.of, messages[start:request]))
        start = request
        report = view.report
        sent = view.messages(messages[:request])
        if view.report is not report and view.report is not None and view.report.stages:
            sums.compactions += 1
        same = next(
            (at for at, (old, new) in enumerate(zip(last, sent, strict=False)) if old != new),
            min(len(last), len(sent)),
        )
        read, tokens = sum(map(sizes.of, sent[:same])), sum(map(sizes.of, sent))
        view.observe(tokens, read)
        paid = read * prices.cache_read + (tokens - read) * prices.cache_write
        if before + grown > room:
            sums.add(paid, paid)
            before = tokens
        else:
            sums.add(paid, before * prices.cache_read + grown * prices.cache_write)
            before += grown
        last = sent
    return sums


def main() -> None:
    """Prints a line for each model and setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("ULLAGE_SESSIONS"))
    folder = parser.parse_args().folder
    found = (
        list(replay.read_sessions(folder))
        if folder
        else [replay.Session(f"made up {seed}", session(TOKENS, seed)) for seed in range(MADE_UP)]
    )
    counter = ullage.TokenCounter()
    sizes = Sizes(counter)
    histories = [valid(one)[0] for one in found]
    runs = [(messages, requests_of(messages, counter)) for messages in histories]
    kind = "recorded" if folder else "made-up"
    print(f"{len(runs)} {kind} sessions, {sum(len(r) for _, r in runs):,} requests; {processor()}")
    print(
        f"{'prices of':18}{'window':>8}{'high':>6}{'compactions':>13}{'of doing nothing':>18}"
        f"{'sessions that lost':>20}{'at most':>9}{'ever':>7}"
    )
    for model in MODELS:
        for window, high in SETTINGS:
            policy = ullage.Policy(window=window, reserve_output=RESERVE, high=high)
            all_sums = [follow(*run, model, policy, sizes) for run in runs]
            ratio = sum(sums.paid for sums in all_sums) / sum(sums.without for sums in all_sums)
            lost = [sums.paid / sums.without - 1 for sums in all_sums]
            # Less is the rounding of a float.
            losers = [share for share in lost if share > 1e-9]
            print(
                f"{model:18}{window:8,}{high:6.0%}{sum(s.compactions for s in all_sums):13,}"
                f"{ratio:18.1%}{f'{len(losers)} of {len(runs)}':>20}{max(losers, default=0):9.1%}"
                f"{max(sums.most_lost for sums in all_sums):7.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
