"""Counting tokens against Python tiktoken, in one run on one machine.

Both are called from Python, once for each string, on one thread; times are of the process's CPU.
Each round is a process of its own, so that "fresh" is a first meeting: every class is counted once,
cut into strings as an agent has them, and then again, cut elsewhere. "Seen" therefore means pieces
that the thread has met, never a whole text. The two libraries must agree on every count.
"""

from __future__ import annotations

import base64
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus
import tiktoken

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
# What cargo builds goes here too; `make clean` removes it.
FOLDER = ROOT / "target" / "counting"
ROUNDS = 5
# Characters of a string, and by how many the second cut is off the first.
STRING = 8_000
SHIFT = 3_001
# Sizes of the worst cases: time in proportion to the length means equal times for each megabyte.
SIZES = (1, 4, 16)
IMPORTS = 7

# As published by OpenAI in `tiktoken_ext/openai_public.py`.
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PATTERNS = {
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}


def ranks_file(encoding: str) -> Path:
    return FOLDER / f"{encoding}.tiktoken"


def write_ranks(encoding: str) -> None:
    """The vocabulary as a file of tiktoken's own format, which it would otherwise download."""
    command = ["cargo", "run", "--quiet", "--release", "--example", "ranks", "--", encoding]
    subprocess.run([*command, str(ranks_file(encoding))], check=True, cwd=ROOT)  # noqa: S603


def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    lines = (line.split() for line in ranks_file(name).read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def cut(text: str, first: int) -> list[str]:
    """The text in strings, of which the first has ``first`` characters."""
    starts = [0, *range(first, len(text), STRING)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def timed(count: Callable[[str], int], strings: list[str]) -> tuple[float, int]:
    start = time.process_time()
    tokens = sum(count(string) for string in strings)
    return time.process_time() - start, tokens


def measure(encoding: str) -> dict[str, list[float]]:
    """CPU seconds of each class: ullage fresh and seen, tiktoken fresh and seen."""
    texts: dict[str, str] = json.loads((FOLDER / "corpus.json").read_text())
    theirs = tiktoken_encoding(encoding)
    counters: list[Callable[[str], int]] = [
        lambda string: ullage.count_tokens(string, encoding),
        lambda string: len(theirs.encode_ordinary(string)),
    ]
    for counter in counters:
        # Whatever either does on first use is measured apart, as the time to the first count.
        counter("first")
    times: dict[str, list[float]] = {name: [] for name in texts}
    counts: dict[str, list[int]] = {name: [] for name in texts}
    for counter in counters:
        for first in (STRING, SHIFT):
            for name, text in texts.items():
                seconds, tokens = timed(counter, cut(text, first))
                times[name].append(seconds)
                counts[name].append(tokens)
    for name, (fresh, seen, their_fresh, their_seen) in counts.items():
        assert (fresh, seen) == (their_fresh, their_seen), name
    return times


def worst_cases() -> dict[str, Callable[[int], str]]:
    """Texts of about so many bytes that are one piece, or nothing that a memory has seen."""
    chooser = random.Random(0)

    def of(unit: str) -> Callable[[int], str]:
        return lambda size: unit * (size // len(unit.encode()))

    def random_of(letters: str) -> Callable[[int], str]:
        return lambda size: "".join(chooser.choices(letters, k=size))

    lower = "abcdefghijklmnopqrstuvwxyz"
    return {
        "one letter": of("a"),
        "spaces": of(" "),
        "newlines": of("\n"),
        "base64, unbroken": lambda size: base64.b64encode(
            chooser.randbytes(size * 3 // 4)
        ).decode(),
        "hex, unbroken": lambda size: chooser.randbytes(size // 2).hex(),
        "random lower case": random_of(lower),
        "Chinese, one word": of("中文字符"),
        "emoji": of("😀👍🏽"),
        "combining marks": of("\u0301"),
        "mixed": random_of(lower.upper() + lower + "0123456789 \n\t.,;/'éЖ中😀\u0301"),
    }


def print_worst_cases(encoding: str) -> None:
    print(
        f"\n{encoding}, worst cases: milliseconds for 1 MB, and times so much for each MB of more"
    )
    for name, make in worst_cases().items():
        took = []
        for size in SIZES:
            text = make(size * 1_000_000)
            seconds = min(
                timed(lambda s: ullage.count_tokens(s, encoding), [text])[0] for _ in range(3)
            )
            took.append(seconds / size * 1_000)
        growth = "  ".join(
            f"{size:2} MB {each / took[0]:4.2f}" for size, each in zip(SIZES, took, strict=True)
        )
        text = make(1_000_000)
        # The highest limit that the length alone does not decide is a token for every 128 bytes.
        limit = len(text.encode()) // 100
        counter = ullage.TokenCounter(encoding)
        start = time.process_time()
        fits = counter.fits(text, limit)
        limited = (time.process_time() - start) * 1_000
        assert fits == (ullage.count_tokens(text, encoding) <= limit)
        print(f"  {name:20} {took[0]:7.2f} ms   {growth[8:]}   fits({limit:,}) {limited:7.2f} ms")


def print_table(encoding: str) -> None:
    rounds: list[dict[str, list[float]]] = []
    for _ in range(ROUNDS):
        command = [sys.executable, __file__, encoding]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603
        rounds.append(json.loads(run.stdout))
    texts: dict[str, str] = json.loads((FOLDER / "corpus.json").read_text())
    sizes = {name: len(text.encode()) / 1e6 for name, text in texts.items()}
    medians = {
        name: [
            statistics.median(times) for times in zip(*(row[name] for row in rounds), strict=True)
        ]
        for name in texts
    }
    total = [sum(row[column] for row in medians.values()) for column in range(4)]
    print(f"\n{encoding}: MB/s of ullage, and times Python tiktoken; medians of {ROUNDS} processes")
    print(f"  {'class':18} {'MB':>5} {'fresh':>9} {'seen':>14} {'tiktoken':>15}")
    for name, row in medians.items():
        print_row(name, sizes[name], row)
    print_row("all", sum(sizes.values()), total)


def print_row(name: str, size: float, row: list[float]) -> None:
    fresh, seen, their_fresh, their_seen = row
    print(
        f"  {name:18} {size:5.2f} {size / fresh:6.0f} {their_fresh / fresh:5.1f}x"
        f" {size / seen:8.0f} {their_seen / seen:5.1f}x {size / their_fresh:8.1f}"
    )


def print_first_count() -> None:
    """Time from before the import to the first count, in processes of their own."""
    script = (
        "import time; start = time.perf_counter(); import ullage; imported = time.perf_counter()\n"
        "ullage.count_tokens('hello world')\n"
        "print(imported - start, time.perf_counter() - imported)"
    )
    taken: list[Any] = []
    for _ in range(IMPORTS):
        run = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE)  # noqa: S603
        taken.append([float(number) * 1_000 for number in run.stdout.split()])
    imported, counted = (statistics.median(times) for times in zip(*taken, strict=True))
    print(
        f"\nimport {imported:.1f} ms, then the first count {counted:.1f} ms;"
        f" medians of {IMPORTS} processes"
    )


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def main() -> None:
    """Prints a table for each encoding, the worst cases and the time to the first count."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "corpus.json").write_text(json.dumps(corpus.classes()))
    print(f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"ullage {ullage.__version__} against tiktoken {tiktoken.__version__}")
    for encoding in PATTERNS:
        write_ranks(encoding)
        print_table(encoding)
        print_worst_cases(encoding)
    print_first_count()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
