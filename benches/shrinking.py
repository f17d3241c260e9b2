"""Shrinking what tools print, by what it is: what is saved, and how fast.

"essence" is `ullage.compress` without a budget, "default" what the default policy leaves of the
result as it arrives. The rate is of the essence on one thread, over the text written several
times; the yardstick is counting the same text with tiktoken, which whatever cuts to a number of
tokens has to do.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from support.machine import described, medians_ms
from support.outputs import outputs
from support.published import tiktoken_encoding

import ullage

# Times that a text is written for the rate: a few megabytes, so that what is set up once is small.
REPEATED = 20


def main() -> None:
    """Prints a line for each kind of output."""
    encoding = tiktoken_encoding("o200k_base")
    print(described(f"tiktoken {version('tiktoken')}"))
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
        against = rate / (len(text) / theirs / 1_000)
        print(
            f"  {name:16}{len(text) // 1_000:6}  {essence.kind:16}{saved[0]:8.1f}%{saved[1]:8.1f}%"
            f"{rate:8.0f}{against:9.1f}x"
        )


if __name__ == "__main__":
    main()
