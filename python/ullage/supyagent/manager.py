"""``ContextManager`` offers the engine through Supyagent's interface."""

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


# The numeric settings. An agent's file uses the same names.
NUMBERS = (
    "max_messages_before_summary",
    "max_tokens_before_summary",
    "min_recent_messages",
    "response_reserve",
)


class ContextManager:
    """Keeps the requests of a conversation within the window, however long its history becomes.

    A request has the system prompt, the summary if there is one, and as many of the newest messages
    as fit. The host's lists and messages are never changed.

    Args:
        model: The id of the model. It determines the window and the tokenizer.
        llm: The client that writes summaries. It has ``chat(messages)``, plain or async, which
            returns an answer with ``choices[0].message.content``.
        summary_storage_path: The file for the summary. An existing file is read at once.
        max_messages_before_summary: A summary is due after this many messages since the last one.
        max_tokens_before_summary: A summary is due after this many tokens since the last one.
        min_recent_messages: The number of messages at the end that are never summarized. They stay
            unchanged in every request if removing older messages is enough.
        response_reserve: The tokens kept free for the answer, at most half of the window.
        policy: Further settings. The default is ``Policy.preset("supyagent")``.
        on_compaction: Called with the ``Report`` when messages are left out of a request, see
            ``ullage.ContextManager``. It is not called for a summary; see :attr:`summary`.
        recorder: Records requests and what they left out, for a report of the session.

    Raises:
        PolicyError: If an argument is not valid.

    Attributes:
        context_limit: The greatest number of tokens in a request. The default is the model's
            window.
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
        # A setting in Supyagent's YAML file. In Supyagent, the chat reads it and not the manager.
        self.auto_summarize = True
        self._counter = counter_of(model)
        self._on_compaction = on_compaction
        self._recorder = recorder
        self._requests = RequestBuilder(policy, self._counter, self._compacted)
        self._store = SummaryStore(self.summary_storage_path)
        self._turns = Turns()

    @property
    def summary(self) -> ContextSummary | None:
        """The newest summary, or None. It may be about another conversation."""
        return self._store.summary

    def build_messages_for_llm(
        self,
        system_prompt: str,
        all_messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        """Returns the messages of the next request, which fit the window and are valid.

        They have at most ``context_limit`` tokens without the reserve and the tools, as counted by
        :func:`count_messages_tokens`. The cost is one pass over the list, and a full reading of the
        new messages.

        Args:
            system_prompt: The system prompt.
            all_messages: The whole conversation, in OpenAI's format.
            tools: The tool definitions of the request.

        Returns:
            A new list. Messages that are not shortened are the same objects.

        Raises:
            BudgetError: If the content that must stay does not fit: the system prompt, the tools,
                the first and the last request, and the newest call with the beginning of its
                results.
            MessageError: If a message cannot be read.
        """
        if self._recorder is not None:
            # The engine knows the budget of a request, but not the window.
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
            # The estimate for all messages may be larger than the sum of the parts' estimates.
            over = count_messages_tokens(request, self.model) - most
            if over <= 0:
                break
            room -= over
        if self._recorder is not None:
            self._recorder.request(request)
        return request

    def should_summarize(self, all_messages: list[dict[str, Any]]) -> bool:
        """True if a summary is due, by the messages or the tokens since the last summary.

        Always False below ``min_recent_messages`` + 4 messages, and if ``auto_summarize`` is False.
        Counts only the new messages.
        """
        return self.auto_summarize and self._triggers.is_due(*self._read(all_messages))

    def get_trigger_status(self, all_messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns how far both thresholds of the next summary are reached, in percent up to 100."""
        status = self._triggers.status(*self._read(all_messages))
        return status | {"will_trigger": self.auto_summarize and status["will_trigger"]}

    def context_status(
        self,
        all_messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
    ) -> ContextStatus:
        """Returns the status. It has ``render()`` for ``/context`` and ``tokens_line()``."""
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
        """Summarizes the messages before the recent ones, even if no summary is due.

        The model reads the last summary and the messages after it. If they are too long, the newest
        stay whole. A call and its results are never separated; the summary then ends earlier. The
        summary is written to its file before it is used. After an error, nothing has changed.

        Args:
            all_messages: The whole conversation.
            up_to_idx: The index of the last message to summarize. By default, all messages before
                the ``min_recent_messages`` are summarized.

        Returns:
            The new summary, or the existing one if there are no new messages.

        Raises:
            ValueError: If there is no ``llm``, or no message to summarize.
            PolicyError: If the ``llm`` has no ``chat``.
            SummaryError: If the model gave no summary.
            StoreError: If the summary cannot be written.
        """
        return run(self._turns.alone(self._summary(self._summarizer(), all_messages, up_to_idx)))

    async def agenerate_summary(
        self, all_messages: list[dict[str, Any]], up_to_idx: int | None = None
    ) -> ContextSummary:
        """Does the same as :meth:`generate_summary` without blocking. ``chat`` may be async."""
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
            raise ullage.PolicyError(
                f"llm: a {type(self.llm).__name__} has no method chat(messages); give an object"
                " that has one"
            )
        return ClientSummarizer(self._requests.policy, self._counter, self.llm, self.context_limit)

    def _compacted(self, report: ullage.Report) -> object:
        if self._recorder is not None:
            self._recorder.compaction(report)
        return None if self._on_compaction is None else self._on_compaction(report)

    def _room(self, beside: int) -> int:
        """Returns the tokens that are left in a request with ``beside`` other tokens."""
        return self.context_limit - reserve_in(self.context_limit, self.response_reserve) - beside
