"""The scripted conversation: a hundred and more tool calls, computed from the checkout itself.

Nothing here depends on a certain tree: a young checkout has few files and one commit, an old one
has many. The outputs are measured by running the same functions as the tools, and calls are added
until both minimums are met.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .checkout import Checkout

MINIMUM_CALLS = 80
MINIMUM_BYTES = 2_000_000
# The files may change between measure and run, so the script aims higher than it must.
AIM_CALLS = 110
AIM_BYTES = 2_300_000
# A checkout that needs more calls than this for the minimum of output is no project yet.
MOST_CALLS = 400
# The size of the added searches, as (lines of context, matches): several small for each big one.
_WIDTHS = ((1, 30), (2, 60), (4, 60), (3, 120), (6, 90), (25, 2_000))
_TASK = (
    "Audit this repository for its maintainers: read the sources, search them, follow the history,"
    " run the quick tests, and end with a list of what you would change first. Keep this task in"
    " mind throughout; the later messages are only steps of it."
)


@dataclass(frozen=True)
class Call:
    """One tool call of the model."""

    tool: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One answer of the model: text, and parallel calls; without calls it ends the turn."""

    text: str
    calls: tuple[Call, ...] = ()
    # The model looks for a reference of ullage in what it is shown, and fetches it.
    follows_reference: bool = False


@dataclass
class Turn:
    """A message of the user, and the model's steps until it answers."""

    prompt: str
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Script:
    """All turns of the conversation."""

    turns: tuple[Turn, ...]

    @property
    def task(self) -> str:
        """The user's first message, which must never be lost."""
        return self.turns[0].prompt

    @property
    def steps(self) -> list[Step]:
        """Every answer of the model, in order."""
        return [step for turn in self.turns for step in turn.steps]

    @property
    def calls(self) -> int:
        """Tool calls in all, without those that follow a reference."""
        return sum(len(step.calls) for step in self.steps)


def write_script(checkout: Checkout, progress: Callable[[str], None]) -> Script:
    """Compute the script for a checkout: five turns, then more searches until it is long enough."""
    words = _common_words(checkout)
    plans = [
        (_TASK, _survey(checkout)),
        ("Now read the core of it, file by file.", _reading(checkout, ("src/", "python/"), 30)),
        (
            "Where are the main ideas used? Search for them.",
            [_search(word, 2, 40) for word in words[:16]],
        ),
        ("How did it come to be this way? Go through the history.", _history(checkout)),
        (
            "Run the quick tests, look at what they cover, and finish the audit.",
            _checking(checkout),
        ),
    ]
    size = sum(_measure(checkout, call) for _, calls in plans for call in calls)
    extra = _more_searches(words)
    # Into the last three turns by rotation, so that no turn grows out of proportion.
    for number in cycle((2, 3, 4)):
        count = sum(len(calls) for _, calls in plans)
        if count >= AIM_CALLS and size >= AIM_BYTES:
            break
        if count >= MOST_CALLS:
            raise SystemExit(
                f"this checkout is too small for the demo: {count} calls return {size:,} bytes"
            )
        call = next(extra)
        size += _measure(checkout, call)
        plans[number][1].append(call)
        progress(f"writing the script: {count + 1} tool calls, {size / 1e6:.1f} MB of output")
    turns = [_turn(prompt, calls) for prompt, calls in plans]
    fetch = "An earlier output was moved out of my context; I fetch it again."
    turns[-1].steps.insert(-1, Step(fetch, follows_reference=True))
    return Script(tuple(turns))


def _turn(prompt: str, calls: list[Call]) -> Turn:
    """Spread the calls over answers of one, two and three parallel calls."""
    turn, rest = Turn(prompt), iter(calls)
    for width in cycle((1, 1, 2, 1, 3)):
        group = tuple(islice(rest, width))
        if not group:
            break
        targets = ", ".join(str(next(iter(call.input.values()), "the project")) for call in group)
        turn.steps.append(
            Step(f"Next I use {', '.join(call.tool for call in group)} on {targets}.", group)
        )
    turn.steps.append(
        Step(
            f"That part is done: {len(calls)} calls made. I have noted what matters for the audit."
        )
    )
    return turn


def _survey(checkout: Checkout) -> list[Call]:
    calls = [
        Call("list_files", {"pattern": "*"}),
        Call("git_log", {"count": 30}),
        Call("git_log", {"count": 10, "detail": "stat"}),
    ]
    top = [path for path in checkout.files if "/" not in path]
    return [*calls, *(_read(path) for path in top[:14])]


def _reading(checkout: Checkout, folders: tuple[str, ...], count: int) -> list[Call]:
    """The largest files of some folders, in the order of their paths, as one reads a project."""
    inside = [path for path in checkout.files if path.startswith(folders)]
    largest = sorted(inside, key=lambda path: (-(checkout.root / path).stat().st_size, path))[
        :count
    ]
    return [_read(path) for path in sorted(largest)]


def _history(checkout: Checkout) -> list[Call]:
    shown = [
        Call("git_log", {"revision": name, "count": 1, "detail": "patch"})
        for name in checkout.commits(10)
    ]
    return [Call("git_log", {"count": 60, "detail": "stat"}), *shown]


def _checking(checkout: Checkout) -> list[Call]:
    return [
        Call("run_tests", {}),
        Call("list_files", {"pattern": "tests/*"}),
        *_reading(checkout, ("tests/", "docs/"), 10),
    ]


def _more_searches(words: list[str]) -> Iterator[Call]:
    """Searches without end: every word, each pass a little wider than the one before."""
    for extra in range(1_000):
        for number, word in enumerate(words):
            context, limit = _WIDTHS[number % len(_WIDTHS)]
            yield _search(word, context + extra, limit)


def _common_words(checkout: Checkout) -> list[str]:
    """The words that the project uses most, for its searches; a fixed few where it has none."""
    counts: Counter[str] = Counter()
    for path in checkout.files:
        counts.update(re.findall(r"[A-Za-z_]{4,24}", checkout.read_file(path)))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return ranked[:48] or ["the", "self", "return"]


def _measure(checkout: Checkout, call: Call) -> int:
    if call.tool == "run_tests":
        return 0  # slow, and its output is small
    output: str = getattr(checkout, call.tool)(**call.input)
    return len(output.encode())


def _read(path: str) -> Call:
    return Call("read_file", {"path": path})


def _search(pattern: str, context: int, limit: int) -> Call:
    return Call("search", {"pattern": pattern, "context": context, "limit": limit})
