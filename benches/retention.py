"""Measures what compactions keep for an agent's next steps, beside a window and a line cover.

Weights are chosen on one half of the sessions and figures reported on the other. The half of a
session follows from its name: ``--half chosen`` or ``--half all`` measure another one.

Give a folder of recorded sessions as an argument or in ``ULLAGE_SESSIONS``; without one, sessions
are made up. Made-up sessions show that the measuring works; only recorded ones say how good a
policy is. The same figures, and more, for any policy: ``ullage replay FOLDER --context 40000,80000
--baselines --cost``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import time
from pathlib import Path

from support.machine import processor
from support.results import record
from support.sessions import session

import ullage
from ullage import replay

CONTEXTS = (40_000, 80_000)
SHARES = (0.25, 0.125)
# The high mark at which the cost of whole sessions is simulated.
COST_AT = 50_000
# Tokens of the histories over which plans are timed.
LENGTHS = (80_000, 1_000_000)
RUNS = 11
MADE_UP = 3
HALVES = ("held-out", "chosen", "all")
MEASURES = {
    "acts_near": "acts near",
    "acts_far": "acts far",
    "words_near": "words near",
    "words_far": "words far",
    "sentences": "own sentences",
    "tasks": "to-do",
    "files": "files changed",
    "user_words": "user's words",
    "anchors": "anchors",
    "lines": "lines",
    "grounded": "edits",
}


def half_of(session: replay.Session) -> str:
    """The half that a session belongs to, by its name."""
    digest = hashlib.sha256(Path(session.name).name.encode()).digest()
    return HALVES[digest[0] % 2]


def sessions(folder: str | None, half: str) -> tuple[str, list[replay.Session]]:
    """Returns the name of the data, and the sessions."""
    folder = folder or os.environ.get("ULLAGE_SESSIONS")
    if folder:
        read = replay.read_sessions(folder)
        found = [session for session in read if half in ("all", half_of(session))]
        which = "all" if half == "all" else f"the {half} half"
        return f"{which} of {len(read)} recorded sessions ({len(found)})", found
    made = [replay.Session(f"made up {seed}", session(160_000, seed)) for seed in range(MADE_UP)]
    return f"{MADE_UP} made-up sessions (set ULLAGE_SESSIONS to a folder of recorded ones)", made


def retention(found: replay.Replay, data: str) -> None:
    """A table for each context and budget: every measure, with its interval over sessions."""
    rows = {(row.context, row.share, row.policy): row for row in found.rows()}
    for context in CONTEXTS:
        for share in SHARES:
            cells = [rows.get((context, share, name)) for name in NAMES]
            cuts = next((row.cuts for row in cells if row is not None), 0)
            place = f"{context:,} to {share:.1%}, {cuts} cuts"
            print(f"{place:28}" + "".join(f"{name:>24}" for name in NAMES))
            table = [
                [says, *(cell(found, row, name) for row in cells)]
                for name, says in MEASURES.items()
            ]
            for says, *shares in table:
                print(f"  {says:26}" + "".join(f"{share:>24}" for share in shares))
            record("retention", f"{place}; {data}", ["kept", *NAMES], table)


def cell(found: replay.Replay, row: replay.Row | None, name: str) -> str:
    """A share and its interval."""
    share = None if row is None else row.retention.share(name)
    if row is None or share is None:
        return "-"
    interval = found.interval(row, name)
    return f"{share:.3f}" + ("" if interval is None else " [{:.2f}, {:.2f}]".format(*interval))


def promises(found: replay.Replay, data: str) -> None:
    """Prints the counts that must be 0, the share of budgets used, and the cost of sessions."""
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
        record(
            "cost",
            f"A high mark of {COST_AT:,} tokens; {data}",
            ["policy", "cost", "compactions"],
            [["never compacting", "100 %", "0"], [POLICY, f"{cost:.1%}", str(compactions)]],
        )


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="recorded sessions")
    parser.add_argument("--half", choices=HALVES, default=HALVES[0])
    options = parser.parse_args()
    print(f"{processor()}, ullage {ullage.__version__}, counted by o200k_base")
    name, measured = sessions(options.folder, options.half)
    sweep = replay.Sweep(
        [replay.read_policy(POLICY)],
        contexts=CONTEXTS,
        shares=SHARES,
        baselines=True,
        cost_at=COST_AT,
    )
    found = replay.replay(measured, sweep)
    print(f"{name}; shares that are kept, with 95 % intervals over sessions")
    retention(found, name)
    promises(found, name)
    planning()


if __name__ == "__main__":
    main()
