"""``ContextManager``: Supyagent's face of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine.arguments import require_callable, require_number
from ullage._engine.fixed_tokens import number_of, reserve_in
from ullage._engine.roles import readable
from ullage._engine.steps import arun, aside, run
from ullage.supyagent.history import summary_end
from ullage.supyagent.requests import RequestBuilder
from ullage.supyagent.status import ContextStatus, Triggers
from ullage.supyagent.summarizer import ClientSummarizer, Turns
from ullage.supyagent.summary import SummaryStore
from ullage.supyagent.tokens import (
    FORMAT,
    count_messages_tokens,
    count_tools_tokens,
    counter_of,
    get_context_limit,
)

if TYPE_CHECKING:
    from os import PathLike

    from ullage._engine.listener import OnCompaction
    from ullage._engine.steps import Steps
    from ullage.supyagent.summary import ContextSummary


# Its settings that are numbers, as those of an agent's file are named too.
NUMBERS = (
    "max_messages_before_summary",
    "max_tokens_before_summary",
    "min_recent_messages",
    "response_reserve",
)


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
        policy: Further settings; if not given, ``Policy.preset("supyagent")``.
        on_compaction: Called with the ``Report`` of each cut, see ``ullage.ContextManager``. A
            summary is no cut; :attr:`summary` tells of it.
        recorder: Records cuts and requests, for a report of the session.

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
        on_compaction: OnCompaction | None = None,
        recorder: ullage.Recorder | None = None,
    ) -> None:
        require_callable("on_compaction", on_compaction)
        self.model = model
        self.llm = llm
        self.context_limit = get_context_limit(model)
        self.summary_storage_path = None if not summary_storage_path else Path(summary_storage_path)
        self.max_messages_before_summary = max_messages_before_summary
        self.max_tokens_before_summary = max_tokens_before_summary
        self.min_recent_messages = min_recent_messages
        self.response_reserve = response_reserve
        for name in NUMBERS:
            require_number(name, getattr(self, name), least=0)
        # A setting of the document's YAML; upstream's chat reads it, not its manager.
        self.auto_summarize = True
        self._counter = counter_of(model)
        self._on_compaction = on_compaction
        self._recorder = recorder
        self._requests = RequestBuilder(policy, self._counter, self._compacted)
        self._store = SummaryStore(self.summary_storage_path)
        self._turns = Turns()

    @property
    def summary(self) -> ContextSummary | None:
        """The summary that was made last, if there is one, whichever conversation it is about."""
        return self._store.summary

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
                and the last request, and the newest call with the beginning of its results.
            MessageError: If a message cannot be read.
        """
        if self._recorder is not None:
            # The engine knows the room of a request, and not the window.
            self._recorder.attach(
                counter=self._counter,
                format=FORMAT,
                window=self.context_limit,
                model=self.model,
                store=None,
            )
        messages, summary = self._read(all_messages)
        system = {"role": "system", "content": system_prompt}
        most = self._room(count_tools_tokens(tools, self.model))
        room = most - count_messages_tokens([system], self.model)
        while True:
            view = self._requests.messages(summary, messages, room, self.min_recent_messages)
            request = [system, *view]
            # An estimate of all messages may be more than the sum of the estimates of its parts.
            over = count_messages_tokens(request, self.model) - most
            if over <= 0:
                break
            room -= over
        if self._recorder is not None:
            self._recorder.request(request)
        return request

    def should_summarize(self, all_messages: list[dict[str, Any]]) -> bool:
        """True if a summary is due: by the number of messages since the last, or their tokens.

        Never below ``min_recent_messages`` + 4 messages, nor where ``auto_summarize`` is False.
        Counts only what is new.
        """
        return self.auto_summarize and self._triggers.is_due(*self._read(all_messages))

    def get_trigger_status(self, all_messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns how near the next summary is, both ways; percents are at most 100."""
        status = self._triggers.status(*self._read(all_messages))
        return status | {"will_trigger": self.auto_summarize and status["will_trigger"]}

    def context_status(
        self,
        all_messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
    ) -> ContextStatus:
        """Returns data for ``/context``, by ``render()``, and ``/tokens``, by ``tokens_line()``."""
        messages, summary = self._read(all_messages)
        tool_tokens = count_tools_tokens(tools, self.model)
        room = self._room(tool_tokens)
        head, since = self._requests.head(summary, messages, room)
        message_tokens = count_messages_tokens([*head, *since], self.model)
        return ContextStatus(
            context_limit=self.context_limit,
            tools=number_of(tools),
            tool_tokens=tool_tokens,
            summary=summary,
            triggers=self.get_trigger_status(all_messages),
            message_tokens=max(0, min(room, message_tokens)),
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
            PolicyError: If the ``llm`` has no ``chat``.
            SummaryError: If the model gave no summary.
            StoreError: If it cannot be written.
        """
        return run(self._turns.alone(self._summary(self._summarizer(), all_messages, up_to_idx)))

    async def agenerate_summary(
        self, all_messages: list[dict[str, Any]], up_to_idx: int | None = None
    ) -> ContextSummary:
        """:meth:`generate_summary` without holding up the event loop, for an async ``chat`` too."""
        summary = self._summary(self._summarizer(), all_messages, up_to_idx)
        return await arun(self._turns.alone(summary))

    def _summary(
        self,
        summarizer: ClientSummarizer,
        all_messages: list[dict[str, Any]],
        up_to_idx: int | None,
    ) -> Steps[ContextSummary]:
        messages, previous = self._read(all_messages)
        begin = 0 if previous is None else previous.last_message_idx + 1
        last = len(messages) if up_to_idx is None else up_to_idx
        end = summary_end(messages, begin, last, self.min_recent_messages)
        if end > begin:
            summary = yield from summarizer.summarize(messages, begin, end, previous)
            return (yield from aside(self._store.replace, summary, previous, messages))
        if previous is None:
            raise ValueError("No messages to summarize")
        return previous

    @property
    def _triggers(self) -> Triggers:
        return Triggers(
            self.max_messages_before_summary,
            self.max_tokens_before_summary,
            self.min_recent_messages,
            self.model,
        )

    def _read(self, all_messages: list[dict[str, Any]]) -> tuple[list[Any], ContextSummary | None]:
        messages = [readable(message) for message in all_messages]
        return messages, self._store.summary_of(messages)

    def _summarizer(self) -> ClientSummarizer:
        if not self.llm:
            raise ValueError("LLM client required for summarization")
        if not callable(getattr(self.llm, "chat", None)):
            raise ullage.PolicyError(f"llm: a {type(self.llm).__name__} has no chat(messages)")
        return ClientSummarizer(self._requests.policy, self._counter, self.llm, self.context_limit)

    def _compacted(self, report: ullage.Report) -> object:
        if self._recorder is not None:
            self._recorder.compaction(report)
        return None if self._on_compaction is None else self._on_compaction(report)

    def _room(self, beside: int) -> int:
        """Tokens that a request may take beside so many."""
        return self.context_limit - reserve_in(self.context_limit, self.response_reserve) - beside
