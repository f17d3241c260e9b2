"""Measures what a request of an Amplifier session costs.

A request is what a loop makes after each result of a tool. Wall time, as who awaits it sees it.
"load" is `set_messages` with the whole history, "first" the request after it, which reads all of it
and compacts, "added" the first request where each message was added instead, and "resumed" the
first request over the same file, opened again. "new" is a very first request with half of
`max_tokens`; "smaller" and "larger" are the first ones with a tenth and the double of it. "back"
is the next one with the whole budget again. "held" is the longest time for which the event loop of
the requests did nothing else.

The yardstick is ``sum(len(str(message)) // 4)``, which context-simple works out over the whole
history before each request, whether anything is due or not; its compaction comes on top of that.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import tempfile
import time
from contextlib import asynccontextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.machine import described

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

MESSAGES = (200, 1_000, 5_000)
# A tool of a coding agent returns about so many characters; one that reads files, five times that.
USUAL, LARGE = 2_000, 10_000
REQUESTS = 101
# Never full, and full again and again.
ROOMY, NARROW = 100_000_000, 50_000
# Seconds between two looks at what the event loop does.
LOOK = 0.001


class Tool:
    """Reads the sources of ullage, so many characters at a time."""

    def __init__(self, length: int) -> None:
        files = sorted(Path(ullage.__file__).parent.rglob("*.py"))
        source = "".join(file.read_text(encoding="utf-8") for file in files)
        # Another beginning each time, so that no text comes twice.
        starts = range(0, len(source) - length, 997)
        self._outputs = cycle(source[start : start + length] for start in starts)

    def steps(self, first: int) -> Iterator[dict[str, Any]]:
        """Calls and their results, as Amplifier's loops record them, without an end."""
        for number, output in enumerate(self._outputs, first):
            call = {"id": f"call-{number}", "tool": "read", "arguments": {"path": f"{number}.py"}}
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
            yield {
                "role": "tool",
                "name": "read",
                "tool_call_id": call["id"],
                "content": f"{number}\n{output}",
            }


async def taken_ms(action: Awaitable[object]) -> float:
    """Milliseconds until it is done."""
    start = time.perf_counter()
    await action
    return (time.perf_counter() - start) * 1_000


@asynccontextmanager
async def watched(held: list[float]) -> AsyncIterator[None]:
    """Notes for how many milliseconds the event loop was held, at each look."""

    async def look() -> None:
        while True:
            held.append(max(0.0, await taken_ms(asyncio.sleep(LOOK)) - LOOK * 1_000))

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()


async def first_of_added(
    context: SimpleContextManager, history: list[dict[str, Any]], share: int
) -> float:
    """Milliseconds of the first request after the messages were added, one by one.

    Its budget is so many times smaller than that of the context.
    """
    if isinstance(context, PersistentContextManager):
        # Its file is that of the other context.
        return float("nan")
    for message in history:
        await context.add_message(message)
    return await taken_ms(context.get_messages_for_request(context.max_tokens // share))


async def row(length: int, size: int, make: Callable[[], SimpleContextManager]) -> list[float]:
    """The figures of one context, in the order of the table."""
    steps = Tool(size).steps(0)
    # No call without its result: what a session is resumed from ends with an answer.
    history = [{"role": "user", "content": "Audit it."}, *islice(steps, (length - 1) // 2 * 2)]
    context = make()
    load = await taken_ms(context.set_messages(history))
    first = await taken_ms(context.get_messages_for_request())
    added = await first_of_added(make(), history, share=1)
    new = await first_of_added(make(), history, share=2)
    requests: list[float] = []
    messages: list[float] = []
    held: list[float] = []
    async with watched(held):
        for _ in range(REQUESTS):
            messages += [await taken_ms(context.add_message(m)) for m in islice(steps, 2)]
            await asyncio.sleep(2 * LOOK)
            requests.append(await taken_ms(context.get_messages_for_request()))
    smaller = await taken_ms(context.get_messages_for_request(context.max_tokens // 10))
    larger = await taken_ms(context.get_messages_for_request(context.max_tokens * 2))
    back = await taken_ms(context.get_messages_for_request())
    start = time.perf_counter()
    sum(len(str(message)) // 4 for message in context.messages)
    estimate = (time.perf_counter() - start) * 1_000
    resumed = float("nan")
    if isinstance(context, PersistentContextManager):
        await context.close()
        again = make()
        assert isinstance(again, PersistentContextManager)
        await again.initialize()
        resumed = await taken_ms(again.get_messages_for_request())
        await again.close()
    return [
        first,
        added,
        statistics.median(requests),
        max(requests),
        resumed,
        new,
        smaller,
        larger,
        back,
        max(messages),
        max(held),
        load,
        estimate,
    ]


def kinds(file: Path) -> dict[str, Callable[[], SimpleContextManager]]:
    """Returns a constructor for each context in the table."""
    roomy, narrow = file.with_suffix(".roomy"), file.with_suffix(".narrow")
    return {
        "nothing due": lambda: SimpleContextManager(ROOMY),
        "simple": lambda: SimpleContextManager(NARROW),
        "smart": lambda: SimpleContextManager(NARROW, compaction_strategy="smart"),
        "nothing due, in a file": lambda: PersistentContextManager(roomy, None, ROOMY),
        "smart, in a file": lambda: PersistentContextManager(narrow, None, NARROW),
    }


async def main() -> None:
    """Prints the table."""
    print(described("context-simple's estimate of the history"))
    print()
    print("| messages | characters a result | context |", end="")
    print(
        " first, ms | added | request | slowest | resumed | new | smaller | larger | back", end=""
    )
    print(" | slowest message | held | load | estimate |")
    print("|---" * 16 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for length in MESSAGES:
            for size in (USUAL, LARGE):
                for name, make in kinds(Path(folder) / f"{length}-{size}").items():
                    figures = await row(length, size, make)
                    cells = " | ".join("" if math.isnan(n) else f"{n:.2f}" for n in figures)
                    print(f"| {length:,} | {size:,} | {name} | {cells} |")


if __name__ == "__main__":
    asyncio.run(main())
