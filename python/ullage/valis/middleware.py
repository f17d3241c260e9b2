"""``ContextManagementMiddleware``: Valis' face of the engine."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import ullage
from ullage.arguments import require_number
from ullage.logger import Logger
from ullage.valis import pointers
from ullage.valis.backends import FilesystemBackend, FolderBackend
from ullage.valis.condensing import Condenser
from ullage.valis.config import CompactionResult, ContextConfig
from ullage.valis.counting import Counting
from ullage.valis.files import INPUTS, OUTPUTS, Files, path_of
from ullage.valis.offload import Offloaded, replacement
from ullage.valis.prompt import SEGMENT
from ullage.valis.views import Views

if TYPE_CHECKING:
    from os import PathLike

logger = Logger(__name__)

# Where files go if nobody says so, in the folder that the agent works in.
_FOLDER = ".valis"
# Valis' window of a model that nobody knows.
_UNKNOWN = 128_000


class ContextManagementMiddleware:
    """Keeps an agent's conversation inside its window, step by step.

    Large results become files as they arrive; at 85 % of the window what calls wrote becomes a
    pointer; at 95 % a summary stands for all but the newest messages. Whatever leaves is in a file
    first. The lists and messages of the host are never changed. A host may go on from what it is
    given back, or hand over the full history each time. Threads may share one.

    Args:
        config: When what happens.
        filesystem_backend: Anything with ``write_file(path, content)``, plain or async; a path or
            None for a :class:`FolderBackend`, in the folder ``.valis`` if no other is named.
        tokenizer: "cl100k_base", "o200k_base", or the id of a model, by whose tokens is counted.
    """

    def __init__(
        self,
        config: ContextConfig | None = None,
        filesystem_backend: FilesystemBackend | str | PathLike[str] | None = None,
        tokenizer: str = "cl100k_base",
    ) -> None:
        self.config = ContextConfig() if config is None else config
        backend = _FOLDER if filesystem_backend is None else filesystem_backend
        self.filesystem: FilesystemBackend = (
            backend if isinstance(backend, FilesystemBackend) else FolderBackend(backend)
        )
        self._counting = Counting(tokenizer)
        self.tokenizer = self._counting.counter
        self._files = Files(self.filesystem)
        self._views = Views()
        # Conversations of which a summary was made that did not help.
        self._unhelped = Views()
        self._offloaded = Offloaded()
        self._compaction_history: list[CompactionResult] = []

    @property
    def compaction_history(self) -> list[CompactionResult]:
        """What was done so far."""
        return list(self._compaction_history)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self.tokenizer.count(text)

    def count_message_tokens(self, messages: list[dict[str, Any]]) -> int:
        """Tokens of messages: texts, calls with their arguments, results, pictures, frames.

        What was counted is remembered; a message that cannot be read counts as its JSON.
        """
        return self._counting.messages(messages)

    def get_context_limit(self, model: str) -> int:
        """The window of a model: by the config, else by what ullage knows, else 128,000.

        Raises:
            PolicyError: If the config's is no number of tokens.
        """
        limit = self.config.model_context_limits.get(model)
        if limit is not None:
            require_number(f"model_context_limits[{model!r}]", limit, least=1)
            return limit
        known = ullage.model_limits(model)
        return _UNKNOWN if known.source == "default" else known.max_input

    def should_offload_result(self, result: str) -> bool:
        """Whether a result is to become a file. Stops counting once that is known."""
        return not self.tokenizer.fits(_text(result), self.config.large_result_tokens)

    def offload_large_result(
        self, result: str, tool_name: str, tool_call_id: str
    ) -> tuple[str, str]:
        """Writes a result to a file. The same result has the same file and preview each time.

        Returns:
            Its path, and the preview that takes its place.

        Raises:
            StoreError: If it cannot be written.
        """
        text = _text(result)
        path = path_of(OUTPUTS, str(tool_name), str(tool_call_id), text)
        self._files.write(path, text)
        return path, replacement(path, text, self.config.preview_lines)

    def process_tool_result(self, result: str, tool_name: str, tool_call_id: str) -> str:
        """The result as it arrives: itself, or a preview where it is large.

        What ``read_file`` gives back of an earlier result is not offloaded again, or nobody could
        read it.

        Raises:
            StoreError: If it cannot be written.
        """
        text = _text(result)
        if not self.should_offload_result(text) or self._offloaded.is_read_back(
            text, tool_name, tool_call_id
        ):
            return text
        path, short = self.offload_large_result(text, tool_name, tool_call_id)
        before, after = self.count_tokens(text), self.count_tokens(short)
        if after >= before:
            return text
        self._offloaded.add(text, tool_call_id)
        self._done(CompactionResult.of(before, after, "offload", [path]))
        return short

    def compact_messages(self, messages: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
        """The messages with pointers for what calls wrote into files, from 85 % of the window on.

        Only calls that are known to have succeeded give way. Below, and where nothing would be
        saved, the same list.

        Raises:
            StoreError: If what would be replaced cannot be written.
            MessageError: If a message cannot be told in JSON.
        """
        compaction = self._compaction(messages, self.get_context_limit(model))
        if compaction is None:
            return messages
        compacted, files, done = compaction
        self._files.write_all(files)
        self._done(done)
        return compacted

    async def summarize_conversation(
        self, messages: list[dict[str, Any]], model: str, summarization_agent: Any = None
    ) -> list[dict[str, Any]]:
        """A summary in front of the newest messages, from 95 % of the window on.

        The system messages, the first request and pinned messages stay; calls keep their results.
        The whole conversation is on disk first, as JSON and as Markdown. Where the agent fails or
        there is none, the summary is made without a model. Where a summary would not help and the
        conversation is within the window, the same list.

        Args:
            messages: The conversation.
            model: The id of the model.
            summarization_agent: Has ``run({"messages": [...]}, stateless=True)``, plain or async.

        Raises:
            StoreError: If the conversation cannot be written; nothing has happened then.
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        limit = self.get_context_limit(model)
        left = await asyncio.to_thread(self._standing, messages, limit)
        if self.count_message_tokens(left) >= self.config.summarizes_at(limit):
            left = await self._condensed(left, limit, summarization_agent)
        return self._given(messages, left, limit)

    async def manage_context(
        self, messages: list[dict[str, Any]], model: str, summarization_agent: Any = None
    ) -> list[dict[str, Any]]:
        """What is due before a request: pointers above 85 %, then a summary above 95 %.

        Returns:
            The same list where nothing is due, else a new one. A conversation that goes on begins
            with what was given back for it before, so that it costs one summary, not one a turn.

        Raises:
            StoreError: If what would leave cannot be written.
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        limit = self.get_context_limit(model)
        left = await asyncio.to_thread(self._standing, messages, limit)
        if self.count_message_tokens(left) > self.config.compacts_at(limit):
            compaction = await asyncio.to_thread(self._compaction, left, limit)
            if compaction is not None:
                left, files, done = compaction
                await self._files.awrite_all(files)
                self._done(done)
        if self.count_message_tokens(left) > self.config.summarizes_at(limit):
            left = await self._condensed(left, limit, summarization_agent)
        return self._given(messages, left, limit)

    def get_compaction_stats(self) -> dict[str, Any]:
        """Tokens saved, in all and by strategy, and how often."""
        by_strategy: dict[str, int] = {}
        history = self.compaction_history
        for done in history:
            saved = by_strategy.get(done.strategy_used, 0) + done.tokens_saved
            by_strategy[done.strategy_used] = saved
        return {
            "total_tokens_saved": sum(by_strategy.values()),
            "compaction_events": len(history),
            "by_strategy": by_strategy,
        }

    def get_system_prompt_segment(self) -> str:
        """What the model is told about its context, and how it gets things back."""
        return SEGMENT

    def _compaction(
        self, messages: list[Any], limit: int
    ) -> tuple[list[Any], dict[str, str], CompactionResult] | None:
        """The messages with pointers, what is to be written first, and what that saves."""
        before = self.count_message_tokens(messages)
        if before < self.config.compacts_at(limit):
            return None
        files: dict[str, str] = {}

        def keep(tool: str, identifier: str, text: str, suffix: str) -> str:
            path = path_of(INPUTS, tool, identifier, text, suffix)
            files[path] = text
            return path

        compacted = pointers.compacted(messages, keep)
        after = self.count_message_tokens(compacted)
        if after >= before:
            return None
        return compacted, files, CompactionResult.of(before, after, "compact", list(files))

    async def _condensed(self, messages: list[Any], limit: int, agent: Any) -> list[Any]:
        before, terms = self.count_message_tokens(messages), self._terms(limit)
        if before <= limit and self._unhelped.knows(messages, terms):
            return messages
        most = self.config.summarizes_at(limit)
        condenser = Condenser(self._counting, self._files, limit, most)
        left, files = await condenser.condensed(messages, self.config.preview_lines, agent)
        if left is None:
            if files:
                self._unhelped.remember(messages, [], terms)
            return messages
        after = self.count_message_tokens(left)
        self._done(CompactionResult.of(before, after, "summarize", files))
        return left

    def _standing(self, messages: list[Any], limit: int) -> list[Any]:
        """What was given back for these messages before, and what came since."""
        return self._views.standing(messages, self._terms(limit))

    def _given(self, messages: list[Any], left: list[Any], limit: int) -> list[Any]:
        if left is not messages:
            self._views.remember(messages, left, self._terms(limit))
        return left

    def _terms(self, limit: int) -> object:
        return limit, self.config.compacts_at(limit), self.config.summarizes_at(limit)

    def _done(self, result: CompactionResult) -> None:
        self._compaction_history.append(result)
        logger.info(
            "strategy=<%s>, before=<%d>, after=<%d> | compacted",
            result.strategy_used,
            result.original_tokens,
            result.compacted_tokens,
        )


def _text(result: Any) -> str:
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(result)
