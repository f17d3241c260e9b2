"""Measures what a service needs: memory and time for many live conversations, and growth of stores.

One engine serves all conversations of a process, each with a view, as a proxy does it: histories
arrive whole, and `view_of` finds the view. "turn" is the time of a request, compactions included;
"memory" is what the process holds beyond what it held before the first request, with the histories
left out, which are the host's.

    python benches/capacity.py                      # 10 and 1,000 live conversations
    python benches/capacity.py --live 50000         # as many as a large process has
    python benches/capacity.py --store growth.db    # growth of a SQLiteStore
    python benches/capacity.py --live --store redis://127.0.0.1 postgresql://... s3://bucket/empty
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.machine import described

import ullage
from ullage.stores import ObjectStore, PostgresStore, RedisStore, SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.stores.shared import SharedStore

# Turns of each conversation, each with the output of a tool: enough for two compactions.
TURNS = 6
# Characters of the output of a tool, as of a coding agent.
USUAL = 2_000
POLICY = ullage.Policy(window=4_000, reserve_output=500)
# Requests of the measure of a store.
REQUESTS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures memory, time and growth.")
    parser.add_argument("--live", type=int, nargs="*", default=[10, 1_000])
    parser.add_argument("--store", nargs="+", help="files of a SQLiteStore, and URLs of servers")
    options = parser.parse_args()
    print(described().removesuffix(" against "))
    print("live     ms/turn  p99 ms  MB    KB/conversation  views kept")
    for live in options.live:
        many(live)
    with tempfile.TemporaryDirectory() as folder:
        for place in options.store or [f"{folder}/growth.db"]:
            growth(place)


def many(live: int) -> None:
    """So many conversations, turn by turn, in one engine."""
    engine = ullage.ContextManager(POLICY, store=Nowhere())
    engine.compact(history(0, 1))
    gc.collect()
    before, times = resident(), list[float]()
    for turn in range(1, TURNS + 1):
        for conversation in range(live):
            messages = history(conversation, turn)
            start = time.perf_counter()
            engine.view_of(messages).messages(messages)
            times.append((time.perf_counter() - start) * 1_000)
    gc.collect()
    held = resident() - before
    times.sort()
    mean, late = statistics.mean(times), times[int(0.99 * (len(times) - 1))]
    kept = len(engine._views)  # noqa: SLF001 - what the limit in bytes has left
    print(
        f"{live:<8,} {mean:<8.2f} {late:<7.2f} {held / 1e6:<5.0f} {held / 1e3 / live:<16.1f}"
        f" {kept:,}"
    )


def growth(place: str) -> None:
    """Prints the growth of a store, for a day of a million turns."""
    store, size = opened(place)
    engine = ullage.ContextManager(POLICY, store=store)
    # The first use creates tables and indexes.
    store.list()
    before, start = size(), time.perf_counter()
    for request in range(REQUESTS // TURNS):
        for turn in range(1, TURNS + 1):
            messages = history(request, turn)
            engine.open(session=str(request)).messages(messages)
    seconds = time.perf_counter() - start
    turns = REQUESTS // TURNS * TURNS
    store.close()
    grown = size() - before
    print(
        f"{type(store).__name__}: {grown / turns / 1e3:.1f} KB and {seconds / turns * 1e3:.1f} ms a"
        f" turn, {grown / turns / 1e3:.0f} GB in a day of a million turns"
    )


def opened(place: str) -> tuple[SharedStore, Callable[[], int]]:
    """The store at a file or URL, and a function that returns the bytes there."""
    kind = place.partition(":")[0]
    if kind == "redis":
        from redis import Redis

        client = Redis.from_url(place)
        return RedisStore(place), lambda: int(client.info("memory")["used_memory"])
    if kind == "postgresql":
        import psycopg

        database = psycopg.connect(place, autocommit=True)

        def used() -> int:
            row = database.execute("SELECT pg_database_size(current_database())").fetchone()
            return int(row[0]) if row else 0

        return PostgresStore(place), used
    if "://" in place:
        import obstore

        bucket = obstore.store.from_url(place, client_options={"allow_http": True})
        return ObjectStore(place), lambda: sum(
            one["size"] for found in obstore.list(bucket) for one in found
        )
    file = Path(place)
    return SQLiteStore(file), lambda: sum(
        part.stat().st_size for part in file.parent.glob(f"{file.name}*")
    )


class Nowhere:
    """A store that keeps nothing, so that its memory is not measured."""

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:  # noqa: ARG002
        """Keeps nothing."""
        return reference

    def get(self, reference: str) -> bytes:
        """Returns something."""
        return reference.encode()


def history(conversation: int, turns: int) -> list[dict[str, Any]]:
    """The history of a conversation before an answer, made anew as it arrives over a network."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        name = f"c{conversation}t{turn}"
        function = {"name": "read_file", "arguments": f'{{"path": "/srv/{name}.log"}}'}
        call = {"id": name, "type": "function", "function": function}
        line = f"{name} answered a request within its time, and wrote this line to its log\n"
        # Numbered, because a database compresses what repeats.
        output = "".join(f"{number * 7_919} {line}" for number in range(USUAL // len(line)))
        messages += [
            {"role": "user", "content": f"Look into {name}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name, "content": output},
            {"role": "assistant", "content": f"{name} is fine."},
        ]
    return messages[:-1]


def resident() -> int:
    """Bytes of memory that this process holds."""
    with Path("/proc/self/status").open(encoding="utf-8") as status:
        (line,) = [line for line in status if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1_024


if __name__ == "__main__":
    main()
