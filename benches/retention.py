"""What compactions keep of what agents needed afterwards, against a window and a line cover.

Give a folder of recorded sessions as an argument or in ``ULLAGE_SESSIONS``; without one, sessions
are made up. Made-up sessions show that the measuring works; only recorded ones say how good a
policy is. The same figures, and more, for any policy: ``ullage replay FOLDER --context 40000,80000
--baselines --cost``.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

from support.machine import processor
from support.sessions import session

import ullage
from ullage import replay

CONTEXTS = (40_000, 80_000)
SHARES = (0.25, 0.125)
# The high mark at which the cost of whole sessions is simulated.
COST_AT = 50_000
# What a plan is timed over.
LENGTHS = (80_000, 1_000_000)
RUNS = 11
MADE_UP = 3


def sessions() -> tuple[str, list[replay.Session]]:
    """What is measured, and what it is."""
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ULLAGE_SESSIONS")
    if folder:
        found = replay.read_sessions(folder)
        return f"{len(found)} recorded sessions", found
    made = [replay.Session(f"made up {seed}", session(160_000, seed)) for seed in range(MADE_UP)]
    return f"{MADE_UP} made-up sessions (set ULLAGE_SESSIONS to a folder of recorded ones)", made


def retention(found: replay.Replay) -> None:
    """A row for each context and budget: anchors / lines / edits grounded."""
    print(f"{'context to budget':20}{'cuts':>5}" + "".join(f"{name:>24}" for name in NAMES))
    rows = {(row.context, row.share, row.policy): row for row in found.rows()}
    for context in CONTEXTS:
        for share in SHARES:
            cells = [rows.get((context, share, name)) for name in NAMES]
            cuts = next((row.cuts for row in cells if row is not None), 0)
            shown = "".join(f"{cell(row):>24}" for row in cells)
            print(f"{context:>7,} to {share:<9.1%}{cuts:>5}{shown}")


def cell(row: replay.Row | None) -> str:
    """Anchors / lines / edits grounded."""
    if row is None:
        return "-"
    shares = [row.retention.share(name) for name in ("anchors", "lines", "grounded")]
    return " / ".join("-" if share is None else f"{share:.3f}" for share in shares)


def promises(found: replay.Replay) -> None:
    """What must be 0, how much of the budget is used, and what whole sessions cost."""
    rows = [row for row in found.rows() if row.policy == POLICY]
    overshoot = max((row.overshoot for row in rows), default=0)
    invalid = sum(row.violations for row in rows)
    failed = sum(row.failed for row in rows)
    print(f"overshoot {overshoot} tokens, invalid {invalid}, no plan {failed}", end="")
    print("; budget used " + ", ".join(f"{row.used:.1%}" for row in rows))
    cost = found.cost(POLICY)
    if cost is not None:
        compactions = sum(cost.compactions for cost in found.costs)
        print(f"cost at a high mark of {COST_AT:,}: {cost:.3f} of append-only", end="")
        print(f", {compactions} compactions")


def planning() -> None:
    """The median time of a plan to a quarter, over texts that were counted before."""
    for length in LENGTHS:
        messages = session(length)
        counter = ullage.TokenCounter()
        tokens = counter.count_messages(messages)
        engine = ullage.ContextManager(counter=counter, store=ullage.MemoryStore())
        engine.plan(messages, tokens // 4, hard=True)
        times = []
        for _ in range(RUNS):
            start = time.process_time()
            engine.plan(messages, tokens // 4, hard=True)
            times.append(time.process_time() - start)
        print(
            f"plan over {tokens:,} tokens in {len(messages):,} messages:"
            f" {statistics.median(times) * 1_000:.1f} ms of processor time"
        )


POLICY = "default"
NAMES = ("window", "line-cover", POLICY)


def main() -> None:
    """Prints what is kept, what it costs, and what a plan takes."""
    print(f"{processor()}, ullage {ullage.__version__}, counted by o200k_base")
    name, measured = sessions()
    sweep = replay.Sweep(
        [replay.read_policy(POLICY)],
        contexts=CONTEXTS,
        shares=SHARES,
        baselines=True,
        cost_at=COST_AT,
    )
    found = replay.replay(measured, sweep)
    print(f"{name}; needed afterwards and kept: anchors / lines / edits grounded")
    retention(found)
    promises(found)
    planning()


if __name__ == "__main__":
    main()
