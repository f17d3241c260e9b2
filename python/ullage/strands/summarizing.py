"""Strands' summarizing manager, without what goes wrong in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands.agent import conversation_manager as strands_managers
from strands.types.exceptions import ContextWindowOverflowException

from ullage._engine.logger import Logger
from ullage._engine.steps import calling, run
from ullage.strands.agents import model_window
from ullage.strands.drop_in import DropInConversationManager, truncate_results
from ullage.strands.engines import is_reducing
from ullage.strands.history import History, identify, repair_history
from ullage.strands.settings import UNKNOWN_WINDOW
from ullage.strands.summaries import summary_of

if TYPE_CHECKING:
    from strands import Agent
    from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent

logger = Logger(__name__)


class SummarizingConversationManager(
    DropInConversationManager, strands_managers.SummarizingConversationManager
):
    """Summarizes the oldest messages, as the class of Strands that it takes the place of.

        from ullage.strands import SummarizingConversationManager

    Parameters, defaults, attributes and errors are those of Strands, and as many messages are
    summarized, give or take one so that roles alternate. Summaries are made beside the event loop
    and asked for with words alone; an overflow always ends; pins, edits and summaries come back
    from a session. All that differs is in ``docs/migrate-from-strands-managers.md``.

    Args:
        summary_ratio: Share of the messages that is summarized, from 0.1 to 0.8.
        preserve_recent_messages: Messages at the end that are not.
        summarization_agent: Summarizes in place of the agent's own model.
        summarization_system_prompt: The system prompt of its model in place of Strands' own.
        pin_first: Messages at the start that are pinned at the first reduction and never leave.
        proactive_compression: Whether summaries are made before the window of the model is full:
            True for 70 % of it, or ``{"compression_threshold": share}``.

    Raises:
        ValueError: If both a summarization agent and a prompt are given, or the threshold is not
            above 0 and at most 1.
    """

    stored = (("summary_message", "summary"), ("pinned_first", "pinned_first"))

    def __init__(
        self,
        summary_ratio: float = 0.3,
        preserve_recent_messages: int = 10,
        summarization_agent: Agent | None = None,
        summarization_system_prompt: str | None = None,
        *,
        pin_first: int | None = None,
        proactive_compression: Any = None,
    ) -> None:
        super().__init__(
            summary_ratio,
            preserve_recent_messages,
            summarization_agent,
            summarization_system_prompt,
            pin_first=pin_first,
            proactive_compression=proactive_compression,
        )

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:
        """Makes the conversation smaller: after an overflow (``e``) it must, otherwise it may.

        Called in an event loop it holds that up; :meth:`areduce_context` does not, and is what an
        agent with this manager gets.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller, or
                it was made smaller ten times in a row.
            Exception: What the summarizer raised, if ``e`` is given and nothing else helped.
        """
        self._known.of(agent).refusals.raise_problem(e)
        # In a thread, because this one may have an event loop that waits for us.
        run(calling(self.areduce_context, agent, e))

    async def areduce_context(self, agent: Agent, e: Exception | None = None) -> None:
        """Does the same as :meth:`reduce_context` without blocking the event loop."""
        self.follow(agent)
        known = self._known.of(agent)
        if e is None:
            try:
                await self._summarize(agent, self.preserve_recent_messages)
            except Exception as error:  # noqa: BLE001 - Strands goes on without a summary
                logger.warning("Proactive summarization failed, continuing: %s", error)
            return
        known.refusals.add(e)
        try:
            await self._recover(agent, e, known.refusals.count)
        except BaseException:
            known.refusals.end()
            raise

    async def _recover(self, agent: Agent, e: Exception, refusals: int) -> None:
        """Makes the conversation smaller."""
        messages = agent.messages
        if refusals > 1 and truncate_results(messages, History(messages).pinned()):
            return
        try:
            # Fewer of the newest messages are spared each time, since they may be too many.
            await self._summarize(agent, self.preserve_recent_messages >> (refusals - 1))
        except Exception as error:
            if truncate_results(messages, History(messages).pinned()):
                logger.warning("error=<%s> | results were truncated instead", error)
                return
            logger.error("Summarization failed: %s", error)  # noqa: TRY400 - it is raised
            raise error from e

    async def _summarize(self, agent: Any, preserved: int) -> None:
        """Puts a summary in the place of the oldest messages."""
        messages, known = agent.messages, self._known.of(agent)
        if is_reducing(agent):
            raise ContextWindowOverflowException("Cannot summarize: the summary itself overflows")
        count = min(max(1, int(len(messages) * self.summary_ratio)), len(messages) - preserved)
        if count <= 0:
            raise ContextWindowOverflowException(
                "Cannot summarize: insufficient messages for summarization"
            )
        count = self._adjust_split_point_for_tool_pairs(messages, count)
        self._pin_first(messages, known)
        history = History(messages)
        pinned = history.pinned()
        count = history.summary_end(count, pinned, len(messages) - preserved)
        kept = [messages[index] for index in range(count) if index in pinned]
        oldest = [messages[index] for index in range(count) if index not in pinned]
        if not oldest or oldest == [known.summary]:
            raise ContextWindowOverflowException(
                "Cannot summarize: all messages in summarize range are pinned or summarized"
            )
        text = await summary_of(
            agent, oldest, self.summarization_agent, self.summarization_system_prompt
        )
        role = "assistant" if kept and kept[-1]["role"] == "user" else "user"
        known.summary = {"role": role, "content": [{"text": text}]}
        identify([known.summary], ())
        messages[:] = repair_history([*kept, known.summary, *messages[count:]])

    async def _on_before_model_call_threshold(self, event: BeforeModelCallEvent) -> None:  # type: ignore[override]
        """Summarizes if the request is above the threshold."""
        tokens, threshold = event.projected_input_tokens, self._compression_threshold
        if threshold is None or tokens is None:
            return
        window = model_window(event.agent.model) or UNKNOWN_WINDOW
        if tokens >= threshold * window:
            await self._reduce(event.agent, None)

    async def _after_model_call(self, event: AfterModelCallEvent) -> None:
        """Makes a refused request smaller and sends it again."""
        smaller = partial(self._reduce, event.agent, event.exception)
        await self._known.of(event.agent).refusals.after_model_call(event, smaller)

    async def _reduce(self, agent: Any, e: Exception | None) -> None:
        """Reduces the context by this class, or by the method of a subclass."""
        if type(self).reduce_context is SummarizingConversationManager.reduce_context:
            await self.areduce_context(agent, e)
        else:
            self.reduce_context(agent=agent, e=e)
