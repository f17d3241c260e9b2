"""What a request of an Amplifier session costs, beside the estimate context-simple makes.

The yardstick is ``sum(len(str(message)) // 4)``, which context-simple works out over the whole
history before each request, whether anything is due or not; its compaction comes on top of that.
Here a request is what a loop asks after each result of a tool. Process CPU time, so that other work
on the machine does not count.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.machine import described

from ullage.amplifier import PersistentContextManager, SimpleContextManager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MESSAGES = (200, 1_000, 5_000)
# A tool of a coding agent returns about so much.
LINES = 60
REQUESTS = 41
# Never full, and full again and again.
ROOMY, NARROW = 100_000_000, 50_000


def step(number: int) -> list[dict[str, Any]]:
    """A call and its result, as Amplifier's loops record them."""
    call = {"id": f"call-{number}", "tool": "read", "arguments": {"path": f"src/{number}.py"}}
    output = f"line {number} of what the tool said\n" * LINES
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "read", "tool_call_id": call["id"], "content": output},
    ]


def history(length: int) -> list[dict[str, Any]]:
    """A session of so many messages."""
    steps = [message for number in range((length - 1) // 2) for message in step(number)]
    return [{"role": "user", "content": "Audit the repository."}, *steps]


async def times_ms(
    action: Callable[[], Awaitable[object]], before: Callable[[int], Any]
) -> list[float]:
    """Milliseconds of each request, sorted, each after another call and its result."""
    taken = []
    for number in range(REQUESTS):
        await before(10_000_000 + number)
        start = time.process_time()
        await action()
        taken.append((time.process_time() - start) * 1_000)
    return sorted(taken)


async def row(length: int, context: SimpleContextManager) -> tuple[list[float], float, int]:
    """Milliseconds of requests and of the yardstick, and the messages that were sent first."""
    await context.set_messages(history(length))
    sent = await context.get_messages_for_request()

    async def add(number: int) -> None:
        for message in step(number):
            await context.add_message(message)

    async def estimate() -> int:
        return sum(len(str(message)) // 4 for message in context.messages)

    requests = await times_ms(context.get_messages_for_request, add)
    return requests, statistics.median(await times_ms(estimate, add)), len(sent)


async def main() -> None:
    """Prints the table."""
    print(described("context-simple's estimate of the history"))
    print()
    print("| messages | context | sent | request, ms | slowest | estimate, ms | ratio |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for length in MESSAGES:
            for name, context in (
                ("nothing due", SimpleContextManager(ROOMY)),
                ("simple", SimpleContextManager(NARROW)),
                ("smart", SimpleContextManager(NARROW, compaction_strategy="smart")),
                (
                    "smart, in a file",
                    PersistentContextManager(Path(folder) / f"{length}", None, NARROW),
                ),
            ):
                requests, estimate, sent = await row(length, context)
                request = statistics.median(requests)
                print(
                    f"| {length:,} | {name} | {sent} | {request:.2f} | {requests[-1]:.1f}"
                    f" | {estimate:.2f} | {request / estimate:.3f} |"
                )
                if isinstance(context, PersistentContextManager):
                    await context.close()


if __name__ == "__main__":
    asyncio.run(main())
