"""Shrinking what tools print, by what it is: what is saved, and how fast.

"essence" is `ullage.compress` without a budget, "default" what the default policy leaves of the
result as it arrives. The rate is of the essence on one thread, over the text written several
times; the yardstick is counting the same text with tiktoken, which whatever cuts to a number of
tokens has to do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from support import peers
from support.machine import described, medians_ms
from support.outputs import outputs
from support.published import tiktoken_encoding
from support.results import record

import ullage

if TYPE_CHECKING:
    from tiktoken import Encoding

# Times that a text is written for the rate: a few megabytes, so that what is set up once is small.
REPEATED = 20


def saved_by_headroom(text: str, encoding: Encoding) -> str:
    """Returns the share that headroom removes from an output, if it is installed."""
    if not peers.INSTALLED:
        return "-"
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "What does it say?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    left = peers.compressed(messages)[-1]["content"]
    before, after = (len(encoding.encode_ordinary(str(some))) for some in (text, left))
    return f"{100 - 100 * after / before:.1f} %"


def main() -> None:
    """Prints a line for each kind of output."""
    encoding = tiktoken_encoding("o200k_base")
    against = peers.named("tiktoken")
    print(described(against))
    rows = []
    policy = ullage.Policy()
    print(
        f"\n  {'':16}{'KB':>6}  {'taken for':16}"
        f"{'essence':>9}{'default':>9}{'MB/s':>8}{'tiktoken':>10}"
    )
    for name, text in outputs().items():
        essence = ullage.compress(text)
        default = ullage.compress(text, policy.shrink_to)
        before = essence.metadata.original_token_estimate
        saved = [
            100 - 100 * short.metadata.compressed_token_estimate / before
            for short in (essence, default)
        ]
        long = text * REPEATED
        ours, theirs = medians_ms(
            [partial(ullage.compress, long), partial(encoding.encode_ordinary, text)]
        )
        rate = len(long) / ours / 1_000
        times = rate / (len(text) / theirs / 1_000)
        print(
            f"  {name:16}{len(text) // 1_000:6}  {essence.kind:16}{saved[0]:8.1f}%{saved[1]:8.1f}%"
            f"{rate:8.0f}{times:9.1f}x"
        )
        kept = [name, f"{len(text) // 1_000} KB", *(f"{percent:.1f} %" for percent in saved)]
        rows.append([*kept, saved_by_headroom(text, encoding), f"{rate:.0f} MB/s", f"{times:.1f}"])
    columns = ["output", "size", "essence", "default policy", "headroom", "essence, rate"]
    columns.append("times tiktoken's counting")
    record("arrival", "Removed, by the kind of output", columns, rows, against=against)


if __name__ == "__main__":
    main()
