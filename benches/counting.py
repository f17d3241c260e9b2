"""Counting tokens against Python tiktoken, in one run on one machine.

Both are called from Python, once for each string, on one thread; times are of the process's CPU.
Each round is a process of its own, so that "fresh" is a first meeting: every class is counted
once, cut into strings as an agent has them; then cut elsewhere, so that of a "known" string the
words were met, but never the whole; and last "again", the same strings in new objects. The two
libraries must agree on every count.
"""

from __future__ import annotations

import base64
import json
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import tiktoken
from support import corpus
from support.machine import described
from support.published import FOLDER, PATTERNS, tiktoken_encoding
from support.results import record

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = FOLDER / "corpus.json"
ROUNDS = 5
# Characters of a string, and by how many the second cut is off the first.
STRING = 8_000
SHIFT = 3_001
CUTS = (STRING, SHIFT, SHIFT)
# Texts that agents mostly read, in equal parts.
MIX = {
    "code": ("Python",),
    "logs": ("logs",),
    "JSON": ("JSON",),
    "prose": ("reference",),
    "diffs": ("diff",),
    "CJK": ("Chinese", "Japanese", "Korean"),
    "base64": ("base64",),
}
# Sizes of the worst cases: time in proportion to the length means equal times for each megabyte.
SIZES = (1, 4, 16)
IMPORTS = 7


def cut(text: str, first: int) -> list[str]:
    """The text in strings, of which the first has ``first`` characters."""
    starts = [0, *range(first, len(text), STRING)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def timed(count: Callable[[str], int], strings: list[str]) -> tuple[float, int]:
    start = time.process_time()
    tokens = sum(count(string) for string in strings)
    return time.process_time() - start, tokens


def measure(encoding: str) -> dict[str, list[float]]:
    """CPU seconds of each class: ullage with each of the cuts, then tiktoken."""
    texts: dict[str, str] = json.loads(CORPUS.read_text())
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
        for first in CUTS:
            for name, text in texts.items():
                seconds, counted = timed(counter, cut(text, first))
                times[name].append(seconds)
                counts[name].append(counted)
    for name, tokens in counts.items():
        assert tokens[: len(CUTS)] == tokens[len(CUTS) :], name
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
    print(f"\n{encoding}, worst cases: milliseconds for each MB of a text of so many MB")
    print(f"  {'':20} {'  '.join(f'{size:4} MB' for size in SIZES)}   {'fits, 1 MB':>22}")
    for name, make in worst_cases().items():
        took = []
        for size in SIZES:
            # Each another text: what was counted whole is remembered.
            texts = [f"{make(size * 1_000_000)}{turn}" for turn in range(3)]
            taken = [timed(lambda s: ullage.count_tokens(s, encoding), [text])[0] for text in texts]
            took.append(min(taken) / size * 1_000)
        text = make(1_000_000)
        # The highest limit that the length alone does not decide is a token for every 128 bytes.
        limit = len(text.encode()) // 100
        counter = ullage.TokenCounter(encoding)
        start = time.process_time()
        fits = counter.fits(text, limit)
        limited = (time.process_time() - start) * 1_000
        assert fits == (ullage.count_tokens(text, encoding) <= limit)
        each = "  ".join(f"{milliseconds:7.2f}" for milliseconds in took)
        print(f"  {name:20} {each}   {limited:7.2f} ms ({limit:,})")


def print_table(encoding: str) -> None:
    rounds: list[dict[str, list[float]]] = []
    for _ in range(ROUNDS):
        command = [sys.executable, __file__, encoding]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603
        rounds.append(json.loads(run.stdout))
    texts: dict[str, str] = json.loads(CORPUS.read_text())
    sizes = {name: len(text.encode()) / 1e6 for name, text in texts.items()}
    medians = {
        name: [
            statistics.median(times) for times in zip(*(row[name] for row in rounds), strict=True)
        ]
        for name in texts
    }
    print(f"\n{encoding}: MB/s of ullage, and times Python tiktoken; medians of {ROUNDS} processes")
    print(f"  {'class':18} {'MB':>5} {'fresh':>13} {'known':>13} {'again':>15} {'tiktoken':>10}")
    parts = [part_of_mix(classes, sizes, medians) for classes in MIX.values()]
    mix = f"mix of {len(MIX)}"
    sizes[mix], medians[mix] = len(MIX), [sum(column) for column in zip(*parts, strict=True)]
    for name, row in medians.items():
        print_row(name, sizes[name], row)
    print(f"  the mix is {', '.join(MIX)}, in equal parts")
    record(
        "counting",
        f"{encoding}: MB/s, and times tiktoken; the mix is {', '.join(MIX)}, in equal parts",
        ["text", "fresh", "known", "again", "tiktoken"],
        [
            [name, *(f"{rate:.0f} ({times:.1f}x)" for rate, times in compared), f"{theirs:.1f}"]
            for name, row in medians.items()
            for compared, theirs in [rates(sizes[name], row)]
        ],
        against=f"tiktoken {tiktoken.__version__}",
    )


def part_of_mix(
    classes: tuple[str, ...], sizes: dict[str, float], seconds: dict[str, list[float]]
) -> list[float]:
    """Seconds for one MB of these classes together."""
    size = sum(sizes[name] for name in classes)
    columns = zip(*(seconds[name] for name in classes), strict=True)
    return [sum(column) / size for column in columns]


def rates(size: float, row: list[float]) -> tuple[list[tuple[float, float]], float]:
    """Returns MB/s and times tiktoken for each cut, and the MB/s of tiktoken."""
    ours, theirs = row[: len(CUTS)], row[len(CUTS) :]
    pairs = zip(ours, theirs, strict=True)
    return [(size / seconds, other / seconds) for seconds, other in pairs], size / theirs[0]


def print_row(name: str, size: float, row: list[float]) -> None:
    compared, theirs = rates(size, row)
    cells = "  ".join(f"{rate:6.0f} {times:4.1f}x" for rate, times in compared)
    print(f"  {name:18} {size:5.2f}  {cells} {theirs:9.1f}")


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


def main() -> None:
    """Prints a table for each encoding, the worst cases and the time to the first count."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    CORPUS.write_text(json.dumps(corpus.classes()))
    print(described(f"tiktoken {tiktoken.__version__}"))
    for encoding in PATTERNS:
        print_table(encoding)
        print_worst_cases(encoding)
    print_first_count()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
