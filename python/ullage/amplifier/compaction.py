"""Bringing a view inside its budget: when, by which strategy, and what if that was not enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ullage import BudgetError, MessageError
from ullage.amplifier import custom
from ullage.amplifier.duplicates import without_duplicates
from ullage.amplifier.mending import mended
from ullage.amplifier.outcome import Compacted
from ullage.amplifier.recent import newest
from ullage.amplifier.shape import is_result
from ullage.calling import in_pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import TokenCounter
    from ullage.amplifier.budget import Budget
    from ullage.amplifier.engines import Engines
    from ullage.amplifier.importance import Judge
    from ullage.amplifier.settings import Settings
    from ullage.amplifier.view import View

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

# Where a compaction could not get below the threshold, the next one waits until this share of the
# budget has come in. Trying at each request would cost a rewritten prompt each time.
_GROWTH = 0.05
# What has at most so many tokens and messages is compacted in a few milliseconds, so that a request
# can wait for it: "simple" only drops messages, the others choose lines of them.
_QUICK = {"simple": (100_000, 400)}
_QUICK_BY_LINES = (21_000, 200)
# What is done with so few messages is done before a thread for it has begun, unless they are long.
_FEW = 300


@dataclass(frozen=True)
class Request:
    """A request that is to fit.

    Attributes:
        settings: How to compact.
        budget: What it may take.
        reserve: What is wished for the notice.
        fixed: Tokens of the system messages that stand before the view.
        engines: The engines.
        judge: Asks the user which messages are important.
        compaction: The user's own compaction.
        is_told: Whether the user is told of compactions.
    """

    settings: Settings
    budget: Budget
    reserve: int
    fixed: int
    engines: Engines
    judge: Judge | None
    compaction: custom.Compaction | None
    is_told: bool = True

    @property
    def room(self) -> int:
        """Tokens beside the notice."""
        return self.budget.beside(self.reserve)

    def tokens(self, messages: list[Any]) -> int:
        """What the messages take, and what stands before them."""
        counter = self.engines.counter_for(self.budget.model)
        return self.fixed + counter.count_messages(messages, append_only=True)

    def tokens_beside(self, view: list[Any], messages: list[Any]) -> int:
        """What messages take that begin as a view does. Costs what is new in it, and the rest."""
        pairs = zip(view, messages, strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a is not b), len(view))
        counter = self.engines.counter_for(self.budget.model)
        ends = [counter.count_messages(end) if (end := m[same:]) else 0 for m in (view, messages)]
        return self.tokens(view) - ends[0] + ends[1]

    def is_quick(self, view: View) -> bool:
        """Whether the view, as it was measured last, is compacted while somebody waits."""
        tokens, messages = _QUICK.get(self.settings.strategy, _QUICK_BY_LINES)
        return 0 < view.measured <= tokens and len(view.messages) <= messages

    def is_due(self, view: View) -> bool:
        """Whether the view has to be compacted. Costs what is new."""
        tokens = view.measured = self.tokens(view.messages)
        if tokens > self.budget.tokens or tokens > max(self.room, view.tokens):
            return True
        after_the_last = view.tokens + int(self.room * _GROWTH)
        return tokens >= max(self.room * self.settings.threshold, after_the_last)


async def compact(view: View, request: Request) -> dict[str, Any] | None:
    """Compacts a view down to its target. A call that waits stays as it is, at the end.

    Returns:
        The stats; None if there was nothing to do, or another task was faster.

    Raises:
        BudgetError: If what must stay does not fit. The view is as it was.
        MessageError: If a message cannot be read; likewise.
    """
    old, before, waiting = view.parts()
    request = replace(request, fixed=request.tokens(waiting)) if waiting else request
    try:
        after = await _compacted(before, request, request.room)
    except BudgetError:
        if request.room >= request.budget.tokens:
            raise
        # The room that was kept for the notice is worth less than the request.
        after = await _compacted(before, request, request.budget.tokens)
    stats = await _aside(_stats, before, after, request)
    is_other = after != before
    if is_other and not view.replace(old, len(before), after):
        return None
    view.tokens = view.measured = stats["tokens_after"]
    if not is_other:
        return None
    view.compacted(stats, request.budget.tokens)
    return stats


def _stats(before: list[Any], after: list[Any], request: Request) -> dict[str, Any]:
    done = Compacted(before, after, request.tokens(before), request.tokens(after))
    return done.stats(request.settings, request.room)


async def alone(messages: list[Any], request: Request) -> list[Any]:
    """What of the messages fits, for this request and not for the view.

    Raises:
        BudgetError: If what must stay does not fit.
        MessageError: If a message cannot be read.
    """
    made = await _compacted(list(messages), request, request.budget.tokens)
    if (tokens := request.tokens(made)) > request.budget.tokens:
        error = BudgetError(
            f"the system messages in front take {request.fixed:,} tokens, and the budget is"
            f" {request.budget.tokens:,}: shorten them or raise it"
        )
        error.budget, error.floor, error.messages = request.budget.tokens, tokens, []
        raise error
    return made


async def _compacted(messages: list[Any], request: Request, room: int) -> list[Any]:
    """A new list that fits."""
    settings = request.settings
    if settings.strategy == "custom" and request.compaction is not None:
        target = max(1, int((room - request.fixed) * settings.target))
        made = await custom.compacted(request.compaction, messages, target)
        if made is not None and request.tokens(made) <= room:
            return made
        messages = messages if made is None else made
    if settings.strategy == "simple":
        messages = await _aside(without_duplicates, messages)
    try:
        return await _by_engine(list(messages), request, room)
    except MessageError:
        # A turn was interrupted, and a call waits for a result that never came.
        return await _by_engine(mended(messages), request, room)


async def _by_engine(messages: list[Any], request: Request, room: int) -> list[Any]:
    messages = list(messages)
    room = max(1, room - request.fixed)
    settings, pins = request.settings, set[int]()
    if settings.strategy != "simple":
        target = int(room * settings.target)
        settings, pins = await _aside(_weighed, messages, target, request)
        if request.judge is not None:
            counter = request.engines.counter_for(request.budget.model)
            pins |= await request.judge.important(messages, pins, target, counter)
    engine = request.engines.engine_for(settings, room, request.budget.model, request.is_told)
    try:
        await engine.acompact(messages, hard=True, pins=sorted(pins))
    except BudgetError:
        if not pins:
            raise
        # What is new or important is worth less than the request.
        await engine.acompact(messages, hard=True)
    return messages


async def _aside(
    function: Callable[Concatenate[list[Any], _Given], _Returned],
    messages: list[Any],
    *args: _Given.args,
    **more: _Given.kwargs,
) -> _Returned:
    """What it returns, from a thread of the loop's pool where there are many messages."""
    if len(messages) <= _FEW:
        return function(messages, *args, **more)
    return await in_pool(function, messages, *args, **more)


def _weighed(messages: list[Any], target: int, request: Request) -> tuple[Settings, set[int]]:
    """The settings for these messages, and the indices of those that stay whole as they are new."""
    settings, counter = request.settings, request.engines.counter_for(request.budget.model)
    if settings.strategy == "smart" and _is_talk(messages, counter):
        settings = replace(settings, told="account")
    return settings, newest(messages, target, counter)


def _is_talk(messages: list[Any], counter: TokenCounter) -> bool:
    """Whether most of it was said, rather than printed by tools."""
    results = [message for message in messages if is_result(message)]
    # All together were counted when the view was found full, and are only compared.
    return counter.count_messages(results) * 2 < counter.count_messages(messages, append_only=True)
