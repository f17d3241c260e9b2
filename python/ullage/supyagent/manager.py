"""``ContextManager``: Supyagent's face of the engine."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.logger import Logger
from ullage.supyagent.history import first_request, last_request, readable
from ullage.supyagent.making import Going, SummaryMaker
from ullage.supyagent.status import ContextStatus
from ullage.supyagent.summary import ContextSummary, load, message_of, save
from ullage.supyagent.tokens import (
    CONVERSATION_TOKENS,
    FORMAT,
    count_messages_tokens,
    count_tools_tokens,
    counter_for,
    get_context_limit,
)
from ullage.supyagent.window import Window

if TYPE_CHECKING:
    from os import PathLike

logger = Logger(__name__)

# The part of the room that a summary may take; a longer one is shortened.
_SUMMARY_SHARE = 0.3
# Fewer messages than these beside the recent ones are not worth a summary.
_LEAST_TO_SUMMARIZE = 4
# The part of a window that a reserve may take. A reserve of all of it would leave no room at all.
_RESERVE_SHARE = 0.5
# To this share of the room the window goes down when it is full. Supyagent fills it to the last
# token, and cuts again on the next turn; each cut costs the provider's prompt cache.
_FILL = 0.8
_PERCENT = 100


class ContextManager:
    """Lets conversations go on for ever: all of a history stays, and a request holds what fits.

    A request is the system prompt, the summary where there is one, and as many of the newest
    messages as fit. Nothing in a list or message of the host is ever changed.

    Args:
        model: The id of the model; it chooses the window and how tokens are counted.
        llm: What makes summaries: an object with ``chat(messages)``, plain or async, whose answer
            has ``choices[0].message.content``.
        summary_storage_path: The file that keeps the summary; read now, if it exists.
        max_messages_before_summary: Messages since the last summary at which the next is due.
        max_tokens_before_summary: Tokens of them at which it is due.
        min_recent_messages: Messages at the end that are never summarized, and stay in every
            request as they are as long as the rest suffices.
        response_reserve: Tokens kept free for the answer; at most half of the window is.
        policy: Further settings; if not given, ``Policy.preset("supyagent")`` with a ``low`` of 0.8
            and without the stage "digest", which would take room from whole messages.

    Raises:
        PolicyError: If an argument is not what it should be.

    Attributes:
        context_limit: The most that a request may take; that of the model, unless it is set.
    """

    def __init__(  # noqa: PLR0917 - the order is Supyagent's
        self,
        model: str,
        llm: Any = None,
        summary_storage_path: str | PathLike[str] | None = None,
        max_messages_before_summary: int = 30,
        max_tokens_before_summary: int = 128_000,
        min_recent_messages: int = 6,
        response_reserve: int = 4096,
        *,
        policy: ullage.Policy | None = None,
    ) -> None:
        numbers: tuple[tuple[str, Any], ...] = (
            ("max_messages_before_summary", max_messages_before_summary),
            ("max_tokens_before_summary", max_tokens_before_summary),
            ("min_recent_messages", min_recent_messages),
            ("response_reserve", response_reserve),
        )
        for name, value in numbers:
            if not isinstance(value, int) or value < 0:
                raise ullage.PolicyError(f"{name}: it is {value!r}, not a number from 0 on")
        self.model = model
        self.llm = llm
        self.context_limit = get_context_limit(model)
        self.summary_storage_path = None if not summary_storage_path else Path(summary_storage_path)
        self.max_messages_before_summary = max_messages_before_summary
        self.max_tokens_before_summary = max_tokens_before_summary
        self.min_recent_messages = min_recent_messages
        self.response_reserve = response_reserve
        # A setting of the document's YAML; upstream's chat reads it, not its manager.
        self.auto_summarize = True
        self._policy = _preset() if policy is None else policy
        self._counter = counter_for(model)
        self._window: tuple[int, Window] | None = None
        self._summarizing = threading.Lock()
        stored = self.summary_storage_path
        self._summary = None if stored is None else load(stored)

    @property
    def summary(self) -> ContextSummary | None:
        """The summary, if there is one."""
        return self._summary

    def build_messages_for_llm(
        self,
        system_prompt: str,
        all_messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        """The messages of the next request: within the window, and valid for the provider.

        They count at most ``context_limit`` less the reserve and the tools, by
        :func:`count_messages_tokens`. Costs what is new, and one pass over the rest.

        Args:
            system_prompt: The system prompt.
            all_messages: The whole conversation, in OpenAI's format.
            tools: The tool definitions that go with the request.

        Returns:
            A new list. Messages that are not shortened are the very same objects.

        Raises:
            BudgetError: If what must stay does not fit: the system prompt, the tools, the first
                and the last request, and the newest call with its results.
            MessageError: If a message cannot be read.
        """
        messages = readable(all_messages)
        system = {"role": "system", "content": system_prompt}
        room = self._room(system, tools)
        summary = self._summary_of(messages)
        head, since = [], 0
        if summary is not None:
            since = summary.last_message_idx + 1
            head = [self._within(summary, room), *self._kept(summary, messages)]
        return [system, *self._window_now().view(head, messages[since:], room)]

    def should_summarize(self, all_messages: list[dict[str, Any]]) -> bool:
        """Whether a summary is due: by the number of messages since the last, or their tokens.

        Never below ``min_recent_messages`` + 4 messages, nor where ``auto_summarize`` is False.
        Counts only what is new.
        """
        if not self.auto_summarize:
            return False
        if len(all_messages) < self.min_recent_messages + _LEAST_TO_SUMMARIZE:
            return False
        since = self._since(all_messages)
        if len(since) >= self.max_messages_before_summary:
            return True
        if len(since) <= self.min_recent_messages:
            # Long as they may be, the recent ones are not summarized.
            return False
        return count_messages_tokens(since, self.model) >= self.max_tokens_before_summary

    def get_trigger_status(self, all_messages: list[dict[str, Any]]) -> dict[str, Any]:
        """How near the next summary is, both ways; percents are at most 100."""
        since = self._since(all_messages)
        tokens = count_messages_tokens(since, self.model)
        return {
            "messages_since_summary": len(since),
            "messages_threshold": self.max_messages_before_summary,
            "messages_percent": _percent(len(since), self.max_messages_before_summary),
            "total_tokens": tokens,
            "tokens_threshold": self.max_tokens_before_summary,
            "tokens_percent": _percent(tokens, self.max_tokens_before_summary),
            "will_trigger": self.should_summarize(all_messages),
        }

    def context_status(
        self,
        all_messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
    ) -> ContextStatus:
        """What ``/context`` and ``/tokens`` show: ``render()`` and ``tokens_line()``."""
        return ContextStatus(
            context_limit=self.context_limit,
            tools=len(tools or ()),
            tool_tokens=count_tools_tokens(tools, self.model),
            summary=self._summary,
            triggers=self.get_trigger_status(all_messages),
        )

    def generate_summary(
        self, all_messages: list[dict[str, Any]], up_to_idx: int | None = None
    ) -> ContextSummary:
        """Summarizes what is older than the recent messages, whether it is due or not.

        The model is shown the last summary and what came since, the newest of it whole. The cut is
        moved back where it would part a call from its results. The summary is on disk before it
        takes effect; after an error all is as it was.

        Args:
            all_messages: The whole conversation.
            up_to_idx: The last message to summarize; if not given, the last before the
                ``min_recent_messages``.

        Returns:
            The summary; the one that there is, if nothing came since.

        Raises:
            ValueError: If there is no ``llm``, or nothing to summarize.
            SummaryError: If the model gave no summary.
            StoreError: If it cannot be written.
        """
        with self._summarizing:
            maker, going = self._maker(), self._going(all_messages, up_to_idx)
            if isinstance(going, ContextSummary):
                return going
            return self._keep(maker.make(going))

    async def agenerate_summary(
        self, all_messages: list[dict[str, Any]], up_to_idx: int | None = None
    ) -> ContextSummary:
        """:meth:`generate_summary` without holding up the event loop, for an async ``chat`` too."""
        maker, going = self._maker(), self._going(all_messages, up_to_idx)
        if isinstance(going, ContextSummary):
            return going
        return self._keep(await maker.amake(going))

    def _maker(self) -> SummaryMaker:
        if not self.llm:
            raise ValueError("LLM client required for summarization")
        return SummaryMaker(self._policy, self._counter, self.llm, self.context_limit)

    def _going(
        self, all_messages: list[dict[str, Any]], up_to_idx: int | None
    ) -> Going | ContextSummary:
        """What is to be summarized; or the summary that there is, where nothing is new."""
        if up_to_idx is None:
            up_to_idx = max(0, len(all_messages) - self.min_recent_messages - 1)
        messages = readable(all_messages)
        previous = self._summary_of(messages)
        going = Going.of(messages, previous, up_to_idx) or previous
        if going is None:
            raise ValueError("No messages to summarize")
        return going

    def _keep(self, summary: ContextSummary) -> ContextSummary:
        if self.summary_storage_path is not None:
            save(summary, self.summary_storage_path)
        self._summary = summary
        return summary

    def _summary_of(self, messages: list[Any]) -> ContextSummary | None:
        """The summary, if it is about these messages: a history that is shorter is another one."""
        summary = self._summary
        fits = summary is not None and summary.last_message_idx < len(messages)
        return summary if fits else None

    def _since(self, messages: list[Any]) -> list[Any]:
        summary = self._summary_of(messages)
        return messages if summary is None else messages[summary.last_message_idx + 1 :]

    def _reserve(self) -> int:
        return min(self.response_reserve, int(self.context_limit * _RESERVE_SHARE))

    def _room(self, system: dict[str, Any], tools: list[dict[str, Any]] | None) -> int:
        """Tokens that the messages may take beside the system prompt and the tools."""
        beside = self._counter.count_messages([system], format=FORMAT) + CONVERSATION_TOKENS
        beside += count_tools_tokens(tools, self.model)
        return self.context_limit - self._reserve() - beside

    def _within(self, summary: ContextSummary, room: int) -> dict[str, Any]:
        """The message of a summary, shortened to its part of the room where it is longer."""
        message = summary.to_message()
        most = int(room * _SUMMARY_SHARE)
        if self._counter.count_messages([message], format=FORMAT) <= most:
            return message
        # The lines behind it go first: they are what it left out.
        frame = message_of(summary.messages_summarized, "")
        budget = max(1, most - self._counter.count_messages([frame], format=FORMAT))
        short = ullage.compress(summary.content, budget, counter=self._counter).text
        return message_of(summary.messages_summarized, short)

    def _kept(self, summary: ContextSummary, messages: list[Any]) -> list[Any]:
        """Messages that a summary stands for and that stay all the same: requests, and pins."""
        end = summary.last_message_idx + 1
        places = {place for place in summary.kept if 0 <= place < end}
        for request in (first_request(messages, end), last_request(messages)):
            if request is not None and request < end:
                places.add(request)
        return [messages[place] for place in sorted(places)]

    def _window_now(self) -> Window:
        known = self._window
        if known is None or known[0] != self.min_recent_messages:
            window = Window(self._policy, self._counter, self.min_recent_messages)
            known = self._window = (self.min_recent_messages, window)
        return known[1]


def _preset() -> ullage.Policy:
    """The preset, but that a request is filled with messages, as Supyagent's document has it."""
    settings = ullage.Policy.preset("supyagent").to_dict()
    return ullage.Policy.from_dict(settings | {"low": _FILL, "stages": ["window", "summarize"]})


def _percent(part: int, whole: int) -> float:
    return min(float(_PERCENT), part / whole * _PERCENT) if whole > 0 else float(_PERCENT)
