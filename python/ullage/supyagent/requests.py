"""``RequestBuilder`` makes the messages of a request with a view of the history.

If even the newest messages do not fit, single messages are shortened in Supyagent's order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine.logger import Logger
from ullage._engine.pins import has_pin
from ullage.supyagent.history import requests_in, with_other_system_messages
from ullage.supyagent.summary import ContextSummary, message_of
from ullage.supyagent.tokens import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage import Policy, TokenCounter
    from ullage._engine.listener import OnCompaction

logger = Logger(__name__)

# The share of the budget that a summary may take. A longer summary is shortened.
_SUMMARY_SHARE = 0.3
# This text replaces a picture.
_PICTURE = {"type": "text", "text": "[image removed]"}
_PICTURES = frozenset({"image_url", "image", "input_image"})
# Keeps the first 1,000 and the last 500 characters of a text with more than 2,000.
_COMPRESSOR = "supyagent"
# The tokens that are kept of a result when nothing else can be removed.
_LEAST_RESULT = 64


class RequestBuilder:
    """Makes the messages of requests.

    Args:
        policy: The settings. Only the stages ``window`` and ``digest`` are used. The default is
            ``Policy.preset("supyagent")``.
        counter: Counts tokens.
        on_compaction: Called with the report of each compaction.
    """

    def __init__(
        self, policy: Policy | None, counter: TokenCounter, on_compaction: OnCompaction | None
    ) -> None:
        self.policy = ullage.Policy.preset("supyagent") if policy is None else policy
        self._counter = counter
        self._on_compaction = on_compaction
        # By the number of recent messages that each view keeps. 0 keeps only what must stay.
        self._views: dict[int, ullage.View] = {}

    def head(
        self, summary: ContextSummary | None, messages: list[Any], room: int
    ) -> tuple[list[Any], list[Any]]:
        """Returns the summary with the older messages that stay, and the messages after it."""
        if summary is None:
            return [], messages
        end = summary.last_message_idx + 1
        places = {place for place in summary.kept if 0 <= place < end}
        requests = requests_in(messages)
        places.update(place for place in (*requests[:1], *requests[-1:]) if place < end)
        stay = [messages[place] for place in sorted(places)]
        return [self._summary_message(summary, room), *stay], messages[end:]

    def messages(
        self, summary: ContextSummary | None, messages: list[Any], room: int, recent: int
    ) -> list[Any]:
        """Returns the messages that follow the system prompt.

        Raises:
            BudgetError: If the content that must stay does not fit.
            MessageError: If a message cannot be read.
        """
        head, since = self.head(summary, messages, room)
        listed = [*head, *since]
        # The budget must be positive, so that the error can name the largest messages.
        budget = max(1, room)
        try:
            return self._fit(listed, min(len(head), 1), budget, recent)
        except ullage.BudgetError as error:
            places = {id(message): place for place, message in enumerate(messages)}
            # A result that was added by a repair has no index.
            known = [places.get(id(listed[n])) for n in error.messages if n < len(listed)]
            error.messages = [place for place in known if place is not None]
            raise

    def _fit(self, listed: list[Any], begin: int, budget: int, recent: int) -> list[Any]:
        """Returns the messages that fit. Messages from ``begin`` on are shortened if necessary.

        Supyagent shortens only the messages before the recent ones, and may stay above its limit.
        This function then shortens the recent messages too. Pinned messages and the last request
        are never shortened.
        """
        shown = list(listed)
        try:
            return self._view(recent, shown, budget)
        except ullage.BudgetError as error:
            over = error.floor - budget
            logger.warning("over=<%d>, room=<%d> | the newest messages are too long", over, budget)
        whole = {place for place, message in enumerate(listed) if has_pin(message)}
        whole.update(requests_in(listed)[-1:])
        places = [place for place in range(begin, len(listed)) if place not in whole]
        newest = max(begin, len(listed) - recent)
        middle = [place for place in places if place < newest]
        recents = places[len(middle) :]
        steps: tuple[tuple[int, list[int], Callable[[Any], Any], float], ...] = (
            # All of the middle, because a view recognizes only messages that have not changed.
            (recent, middle, _remove_images, math.inf),
            (recent, middle, _shorten_texts, math.inf),
            (recent, recents, _remove_images, 0),
            (recent, recents, _shorten_texts, 0),
            (0, [], _shorten_texts, 0),
        )
        for keep, changed, change, least in steps:
            self._shorten(shown, changed, change, max(over, least))
            try:
                return self._view(keep, shown, budget)
            except ullage.BudgetError as error:
                over = error.floor - budget
        self._shorten(shown, places[::-1], _shorten_result, over)
        return self._view(0, shown, budget)

    def _view(self, keep: int, messages: list[Any], budget: int) -> list[Any]:
        """Returns the messages that fit the budget, from a view with ``keep`` recent messages."""
        if keep not in self._views:
            self._views[keep] = self._engine(keep).open()
        shown = with_other_system_messages(messages, "assistant")
        fitting = self._views[keep].messages(shown, budget)
        if shown is messages:
            return fitting
        originals = {id(other): message for other, message in zip(shown, messages, strict=True)}
        return [originals.get(id(message), message) for message in fitting]

    def _shorten(
        self,
        messages: list[Any],
        places: Iterable[int],
        change: Callable[[Any], Any],
        over: float,
    ) -> None:
        """Replaces messages in the list, one after another, until ``over`` tokens are saved."""
        for place in places:
            if over <= 0:
                break
            before = messages[place]
            after = change(before)
            if after is before:
                continue
            saved = self._count(before) - self._count(after)
            if saved > 0:
                messages[place] = after
                over -= saved

    def _engine(self, keep_recent: int) -> ullage.ContextManager:
        # The manager counts the messages, makes the summaries and shortens the recent messages.
        policy = self.policy.replace(
            max_messages=None,
            keep_first=0,
            keep_recent=keep_recent,
            keep_recent_share=0.0,
            high=1.0,
            stages=["window", *(stage for stage in self.policy.stages if stage == "digest")],
            levels=[{}],
        )
        return ullage.ContextManager(
            policy, counter=self._counter, format=FORMAT, on_compaction=self._on_compaction
        )

    def _summary_message(self, summary: ContextSummary, room: int) -> dict[str, Any]:
        """Returns the message of a summary, shortened if it exceeds its share of the budget."""
        message = summary.to_message()
        most = int(room * _SUMMARY_SHARE)
        if self._count(message) <= most:
            return message
        # The quoted lines are removed first, because they are only an addition to the summary.
        frame = message_of(summary.messages_summarized, "")
        budget = max(1, most - self._count(frame))
        short = ullage.compress(summary.content, budget, counter=self._counter).text
        return message_of(summary.messages_summarized, short)

    def _count(self, message: Any) -> int:
        return self._counter.count_messages([message], format=FORMAT)


def _remove_images(message: Any) -> Any:
    return _with_parts(message, lambda part: _PICTURE if part.get("type") in _PICTURES else part)


def _shorten_texts(message: Any) -> Any:
    return _with_texts(message, lambda text: ullage.compress(text, compressor=_COMPRESSOR).text)


def _shorten_result(message: Any) -> Any:
    if not isinstance(message, dict) or message.get("role") != "tool":
        return message
    return _with_texts(message, lambda text: ullage.compress(text, _LEAST_RESULT).text)


def _with_texts(message: Any, change: Callable[[str], str]) -> Any:
    def changed(part: dict[str, Any]) -> dict[str, Any]:
        text = part.get("text")
        return {**part, "text": change(text)} if isinstance(text, str) else part

    return _with_parts(message, changed)


def _with_parts(message: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """Returns the message with its parts changed; the same object if nothing changes."""
    old = message.get("content") if isinstance(message, dict) else None
    new: Any = old
    if isinstance(old, str):
        new = change({"type": "text", "text": old})["text"]
    elif isinstance(old, list):
        new = [change(part) if isinstance(part, dict) else part for part in old]
    return message if new == old else {**message, "content": new}
