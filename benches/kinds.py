"""Measures what compactions keep of work other than coding, and after several compactions.

Research, data analysis and a support talk are made up (``benches/support/kinds.py``): they show
where an engine fails, not how good it is. For a talk the measure is evidence: the part of the
sentences with a fact of which 80 % of the words still stand in one line.

Give a folder of recorded sessions as an argument or in ``ULLAGE_SESSIONS`` to measure repeated
compactions on the held-out half of them (see ``benches/retention.py``).
"""

from __future__ import annotations

import argparse
import random
import re
from typing import TYPE_CHECKING, Any

import retention
from support.kinds import analysis, research, talk

import ullage
from ullage import replay
from ullage._core import Needs, session_cuts
from ullage.replay.results import Retention

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT = 16_000
SHARES = (0.25, 0.125)
TALK_SHARES = (0.5, 0.25, 0.125)
SEEDS = range(5)
KINDS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "research": research,
    "data analysis": analysis,
}
MEASURES = ("acts_near", "acts_far", "words_near", "words_far", "anchors", "lines")
# Of the words of a sentence, the part that a line must have for the sentence to stand.
STANDS = 0.8
REPEATED = (40_000, 80_000)
TIMES = 3

_WORD = re.compile(r"\w{4,}|\d+")


def kinds() -> None:
    """A row for each kind of work, budget and policy, with how many were refused."""
    for name, made in KINDS.items():
        sessions = [replay.Session(f"{name} {seed}", made(seed)) for seed in SEEDS]
        sweep = replay.Sweep(
            [replay.read_policy("default")], contexts=(CONTEXT,), shares=SHARES, baselines=True
        )
        print(f"{name}, made up, {len(sessions)} sessions: {', '.join(MEASURES)}")
        for row in replay.replay(sessions, sweep).rows():
            print(
                f"  {row.context:,} to {row.share:.1%} {row.policy:12}",
                *(f"{row.retention.share(measure) or 0:.3f}" for measure in MEASURES),
                f" {row.failed} of {row.cuts} refused",
            )


def evidence(messages: list[dict[str, Any]], facts: list[str], share: float, which: str) -> float:
    """The part of the sentences with facts that stand in a part of a talk."""
    counter = ullage.TokenCounter()
    budget = int(counter.count_messages(messages) * share)
    if which == "ullage":
        engine = ullage.ContextManager(counter=counter, store=ullage.MemoryStore())
        left = list(messages)
        engine.compact(left, budget=budget, hard=True)
    else:
        order = list(range(len(messages)))[::-1]
        if which == "random turns":
            random.Random(1).shuffle(order)
        left = []
        for index in order:
            budget -= counter.count_messages([messages[index]])
            if budget < 0:
                break
            left.append(messages[index])
    lines = [set(_words(line)) for text in map(_text, left) for line in text.splitlines()]
    kept = 0
    for fact in facts:
        words = set(_words(fact))
        kept += any(len(words & line) >= STANDS * len(words) for line in lines)
    return kept / len(facts)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def talks() -> None:
    """The evidence that is kept of support talks."""
    made = [talk(seed) for seed in SEEDS]
    print(f"support talk, made up, {len(made)} talks: evidence at", *TALK_SHARES)
    for which in ("window", "random turns", "ullage"):
        figures = [
            sum(evidence(*one, share, which) for one in made) / len(made) for share in TALK_SHARES
        ]
        print(f"  {which:14}", *(f"{figure:.3f}" for figure in figures))


def repeated(folder: str | None) -> None:
    """Prints the shares kept by three compactions of a growing session, beside one of it all."""
    name, sessions = retention.sessions(folder, retention.HALVES[0])
    print(f"{name}: kept after {TIMES} compactions beside after one: {', '.join(MEASURES)}")
    for context in REPEATED:
        for share in SHARES:
            once, thrice = Retention(), Retention()
            for session in sessions:
                for kept in _repeated(session.messages, context, share):
                    once, thrice = once + kept[0], thrice + kept[1]
            parts = [(thrice.share(name), once.share(name)) for name in MEASURES]
            told = (f"{many:.3f}/{one:.3f}" for many, one in parts if many is not None and one)
            print(f"  {context:,} to {share:.1%} ", *told)


def _repeated(messages: list[Any], context: int, share: float) -> list[tuple[Retention, Retention]]:
    """Once and three times, at the first place where a session has grown to ``context``."""
    counter = ullage.TokenCounter()
    messages = list(ullage.repair(messages)) if ullage.validate(messages) else messages
    answers = session_cuts(
        messages, counter, tokens=0, most=len(messages), least_after=20, format=None
    )
    steps = [context * time // TIMES for time in range(1, TIMES + 1)]
    places = [next((place for place in answers if place[1] >= step), None) for step in steps]
    if places[-1] is None:
        return []
    cut, tokens = places[-1]
    budget = int(tokens * share)
    needs = Needs(messages, cut, format=None)
    kept = []
    for stops in ([cut], [place[0] for place in places if place is not None]):
        engine = ullage.ContextManager(counter=counter, store=ullage.MemoryStore())
        history, start = list[Any](), 0
        for stop in stops:
            history.extend(messages[start:stop])
            start = stop
            engine.compact(history, budget=budget, hard=True)
        kept.append(Retention.read(needs.kept_in(history, [])))
    return [(kept[0], kept[1])]


def main() -> None:
    """Prints what is kept of each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="recorded sessions")
    options = parser.parse_args()
    kinds()
    talks()
    repeated(options.folder)


if __name__ == "__main__":
    main()
