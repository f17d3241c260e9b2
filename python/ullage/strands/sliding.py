"""Strands' sliding window, without what goes wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.agent import conversation_manager as strands_managers
from strands.types.exceptions import ContextWindowOverflowException

from ullage._engine.logger import Logger
from ullage.strands.drop_in import DropInConversationManager, truncate_results
from ullage.strands.history import History, repair_history

if TYPE_CHECKING:
    from strands import Agent
    from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent

logger = Logger(__name__)

# Below the window messages leave by the quarter. Two at a time, as in Strands, change the beginning
# of every request, and with it the whole of the provider's prompt cache.
_QUARTERS = 4
_MOST_QUARTERS = 3


class SlidingWindowConversationManager(
    DropInConversationManager, strands_managers.SlidingWindowConversationManager
):
    """Keeps the newest messages, as the class of Strands that it takes the place of.

        from ullage.strands import SlidingWindowConversationManager

    Parameters, defaults, attributes and errors are those of Strands, and where Strands' window
    leaves a history that providers take, this one leaves the same messages. An overflow truncates
    the largest results first, and always ends; pins, edits and what was kept come back from a
    session. All that differs is in ``docs/migrate-from-strands-managers.md``.

    Args:
        window_size: Most messages that stay; 0 removes all of them on every reduction.
        should_truncate_results: Whether tool results are truncated on an overflow.
        per_turn: Whether the window is applied before each model call (True), before every so many
            (a number), or after an invocation only.
        pin_first: Messages at the start that are pinned at the first reduction and never leave.
        proactive_compression: Whether messages leave before the window of the model is full: True
            for 70 % of it, or ``{"compression_threshold": share}``.

    Raises:
        ValueError: If ``window_size`` is negative, ``per_turn`` is no positive number, or the
            threshold is not above 0 and at most 1.
    """

    stored = (("model_call_count", "model_calls"), ("pinned_first", "pinned_first"))

    def __init__(
        self,
        window_size: int = 40,
        should_truncate_results: bool = True,
        *,
        per_turn: bool | int = False,
        pin_first: int | None = None,
        proactive_compression: Any = None,
    ) -> None:
        super().__init__(
            window_size,
            should_truncate_results,
            per_turn=per_turn,
            pin_first=pin_first,
            proactive_compression=proactive_compression,
        )

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:
        """Makes the conversation smaller: after an overflow (``e``) it must, otherwise it may.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller, or
                it was made smaller ten times in a row.
        """
        self.follow(agent)
        messages, known = agent.messages, self._known.of(agent)
        self._pin_first(messages, known)
        if e is not None:
            known.refusals.add(e)
        try:
            self._reduce(messages, e, known.refusals.count)
        except ContextWindowOverflowException:
            known.refusals.end()
            raise

    def _reduce(self, messages: list[Any], e: Exception | None, refusals: int) -> None:
        history = History(messages)
        pinned = history.pinned()
        if e is not None and self.should_truncate_results and truncate_results(messages, pinned):
            return
        kept = self._kept(history, pinned, len(messages), max(1, refusals))
        if kept is not None:
            messages[:] = repair_history([messages[index] for index in kept])
        elif e is not None:
            raise ContextWindowOverflowException("Unable to trim conversation context!") from e
        else:
            logger.warning(
                "window_size=<%s>, message_count=<%s> | unable to trim conversation context",
                self.window_size,
                len(messages),
            )

    def _kept(
        self, history: History, pinned: set[int], count: int, refusals: int
    ) -> list[int] | None:
        """The messages that stay; None if none can leave."""
        if self.window_size == 0:
            waiting = pinned | set(history.waiting())
            if len(waiting) < count:
                return sorted(waiting)
        start = max(2, count * min(refusals, _MOST_QUARTERS) // _QUARTERS)
        if count > self.window_size > 0:
            start = count - self.window_size
        return history.cut_from(start, pinned)

    def _on_before_model_call(self, event: BeforeModelCallEvent) -> None:
        """Applies the window before each model call, or before every so many."""
        if self.per_turn is False:
            return
        known = self._known.of(event.agent)
        known.model_calls += 1
        every = 1 if self.per_turn is True else self.per_turn
        if known.model_calls % every == 0:
            self.apply_management(event.agent)

    def _after_model_call(self, event: AfterModelCallEvent) -> None:
        """Counts refusals anew after an answer."""
        if event.stop_response is not None:
            self._known.of(event.agent).refusals.end()
