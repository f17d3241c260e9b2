"""Measures several policies on one session."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ullage._core import (
    MemoryStore,
    Needs,
    PromptCache,
    StoreError,
    TokenCounter,
    UllageError,
    references_in,
    session_cuts,
)
from ullage.manager import ContextManager
from ullage.replay.results import Cost, Cut, Retention
from ullage.usage.economics import Economics
from ullage.validity import repair, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.replay.settings import Setting
    from ullage.sessions import Session

BASELINES = ("window", "line-cover")


@dataclass(frozen=True)
class Sweep:
    """The policies and baselines to try on each session.

    Attributes:
        settings: The policies.
        contexts: Tokens of history at which a session is first cut.
        shares: Shares of the history that are its budget.
        baselines: True to also run the sliding window and the line cover.
        cost_at: The high mark, in tokens, at which the cost of a whole session is simulated; None
            for no simulation.
        economics: The prices.
        most: The most cuts in a session.
        least_after: The fewest messages after a cut.
        counter: Makes the token counter.
    """

    settings: Sequence[Setting]
    contexts: Sequence[int] = (80_000,)
    shares: Sequence[float] = (0.25, 0.125)
    baselines: bool = False
    cost_at: int | None = None
    economics: Economics = field(default_factory=Economics)
    most: int = 4
    least_after: int = 20
    counter: Callable[[], TokenCounter] = TokenCounter


@dataclass(frozen=True)
class Measured:
    """The measures of one session, and True if it had to be repaired first."""

    cuts: list[Cut]
    costs: list[Cost]
    repaired: bool


def measure(session: Session, sweep: Sweep) -> Measured:
    """Measures one session.

    Raises:
        MessageError: If its messages cannot be read.
    """
    messages, repaired = valid(session)
    # All policies share it, so that no measured time includes the counting.
    counter = sweep.counter()
    cuts = [
        cut
        for context in sweep.contexts
        for message, tokens in session_cuts(
            messages,
            counter,
            tokens=context,
            most=sweep.most,
            least_after=sweep.least_after,
            format=None,
        )
        for cut in _at(session.name, messages, counter, sweep, (context, message, tokens))
    ]
    costs = [] if sweep.cost_at is None else _costs(session.name, messages, counter, sweep)
    return Measured(cuts, costs, repaired)


def valid(session: Session) -> tuple[list[Any], bool]:
    """Returns the messages as a provider accepts them, and True if they were repaired.

    Raises:
        MessageError: If they cannot be read.
    """
    if validate(session.messages):
        return list(repair(session.messages)), True
    return session.messages, False


def requests_of(messages: list[Any], counter: TokenCounter) -> list[int]:
    """Returns the number of messages before each answer of the model."""
    cuts = session_cuts(messages, counter, tokens=0, most=len(messages), least_after=0, format=None)
    return [message for message, _ in cuts]


def _at(
    name: str,
    messages: list[Any],
    counter: TokenCounter,
    sweep: Sweep,
    place: tuple[int, int, int],
) -> list[Cut]:
    """Measures every policy and baseline at one cut."""
    context, message, tokens = place
    needs = Needs(messages, message, format=None)
    history = messages[:message]
    found = []
    for share in sweep.shares:
        # The cut before any policy has kept something of it.
        nothing = Cut(
            session=name,
            policy="",
            context=context,
            share=share,
            message=message,
            tokens_before=tokens,
            budget=max(1, int(share * tokens)),
            tokens_after=tokens,
            violations=0,
            retention=Retention.read(needs.kept_in([], [])),
            seconds=0.0,
        )
        if sweep.baselines:
            found += [
                _baseline(history, needs, counter, baseline, nothing) for baseline in BASELINES
            ]
        found += [
            _compact_history(history, needs, counter, setting, nothing)
            for setting in sweep.settings
        ]
    return found


def _baseline(
    history: list[Any], needs: Needs, counter: TokenCounter, name: str, nothing: Cut
) -> Cut:
    """Returns the part of a history that a baseline leaves."""
    start = time.perf_counter()
    after, kept = needs.kept_by(name, history, counter, nothing.budget)
    seconds = time.perf_counter() - start
    return replace(
        nothing, policy=name, tokens_after=after, retention=Retention.read(kept), seconds=seconds
    )


def _compact_history(
    history: list[Any], needs: Needs, counter: TokenCounter, setting: Setting, nothing: Cut
) -> Cut:
    """Returns the part of a history that a policy leaves."""
    store = MemoryStore()
    engine = ContextManager(setting.policy, counter=counter, store=store)
    left = list(history)
    try:
        report = engine.compact(left, budget=nothing.budget, hard=True)
    except UllageError as error:
        failure = f"{type(error).__name__}: {error}"
        return replace(nothing, policy=setting.name, failure=failure)
    return replace(
        nothing,
        policy=setting.name,
        # Counted again, to check the report.
        tokens_after=counter.count_messages(left),
        violations=len(validate(left)),
        retention=Retention.read(needs.kept_in(left, _stored_contents(left, store))),
        seconds=report.elapsed,
    )


def _stored_contents(context: list[Any], store: MemoryStore) -> list[bytes]:
    """Returns stored content that the context refers to, and content that this refers to."""
    contents: dict[str, bytes] = {}
    wanted = references_in(context)
    while wanted:
        reference = wanted.pop()
        if reference in contents:
            continue
        try:
            content = store.get(reference)
        except StoreError:
            continue  # It only looks like a reference.
        contents[reference] = content
        wanted.extend(references_in(content.decode("utf-8", errors="replace")))
    return list(contents.values())


def _costs(name: str, messages: list[Any], counter: TokenCounter, sweep: Sweep) -> list[Cost]:
    """Returns the cost of a session's requests under each policy."""
    requests = requests_of(messages, counter)
    prices = sweep.economics.prices()

    def sent(compact: Callable[[list[Any]], bool]) -> tuple[PromptCache, int]:
        cache, history, start, compactions = PromptCache(counter), list[Any](), 0, 0
        for request in requests:
            history.extend(messages[start:request])
            start = request
            compactions += compact(history)
            cache.request(history)
        return cache, compactions

    append_only, _ = sent(lambda _: False)
    whole = append_only.used()
    found = []
    high = max(1, sweep.cost_at or 0)
    for setting in sweep.settings:
        engine = ContextManager(setting.policy, counter=counter, store=MemoryStore())

        def compact(history: list[Any], engine: ContextManager = engine) -> bool:
            try:
                # A given budget is the high mark.
                return engine.compact(history, budget=high).first_changed is not None
            except UllageError:
                return False  # The request is sent without a compaction.

        cache, compactions = sent(compact)
        used = cache.used()
        cost = Cost(
            session=name,
            policy=setting.name,
            high=high,
            requests=len(requests),
            compactions=compactions,
            cost=cache.cost(prices=prices),
            append_only=append_only.cost(prices=prices),
            new=used["written"],
            cached=used["read"],
            append_only_new=whole["written"],
            append_only_cached=whole["read"],
        )
        found.append(cost)
    return found
