"""``ContextManagementMiddleware`` offers the engine through Valis' interface."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import ullage
from ullage._engine.arguments import require_number
from ullage._engine.counting import count_messages, counter_for, json_text
from ullage._engine.logger import Logger
from ullage._engine.lru_cache import LruCache
from ullage._engine.roles import readable
from ullage._engine.steps import arun, run
from ullage.valis.backends import FilesystemBackend, FolderBackend
from ullage.valis.condenser import Condensation, Condenser, system_end, waiting_from
from ullage.valis.config import CompactionResult, ContextConfig
from ullage.valis.files import INPUTS, OUTPUTS, Files, digest_of, path_of
from ullage.valis.messages import written
from ullage.valis.notes import SEGMENT, summary_before, summary_first, summary_place
from ullage.valis.offload import READER, replacement
from ullage.valis.pointers import with_pointers

if TYPE_CHECKING:
    from os import PathLike

logger = Logger(__name__)

# The default folder for files, below the agent's working directory.
_FOLDER = ".valis"
# The number of windows whose engines are kept. An agent has one window for each of its models.
_WINDOWS = 16
# The number of results that are remembered, so that the memory of a long-lived server is limited.
_REMEMBERED = 4_096
# Valis' window for an unknown model.
_UNKNOWN = 128_000


@dataclass
class _CompactionRequest:
    """The settings of one request.

    Attributes:
        limit: The window of the model, in tokens.
        agent: The host's agent that writes summaries, or None.
        view: The view of the conversation.
        has_pointers: True if pointers may replace the content that calls wrote.
        tail: The last calls, if some of their results may still come, with the results so far.
    """

    limit: int
    agent: Any
    view: ullage.View
    has_pointers: bool
    tail: list[Any]


# The request for which the view is currently compacted.
_request: contextvars.ContextVar[_CompactionRequest] = contextvars.ContextVar(
    "ullage_valis_request"
)


class ContextManagementMiddleware:
    """Keeps an agent's conversation inside the window of its model, in three steps.

    1. A large result is written to a file as it arrives, and a preview replaces it.
    2. At 85 % of the window, pointers replace the content that calls wrote to files.
    3. At 95 % of the window, a summary replaces all messages except the newest.

    Content is written to a file before it is removed. The host's lists and messages are never
    changed. On the next turn, a host may pass the returned messages or its full history. Several
    threads may share one middleware.

    Args:
        config: The thresholds and limits.
        filesystem_backend: An object with ``write_file(path, content)``, plain or async. A path
            stands for a :class:`FolderBackend` in that folder, and None for one in ``.valis``.
        tokenizer: The tokenizer for counts: "cl100k_base", "o200k_base", or the id of a model.
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
        self.tokenizer = counter_for(tokenizer)
        self._files = Files(self.filesystem)
        # By the window and its thresholds, because each of them needs its own compactions.
        self._engines: LruCache[ullage.ContextManager] = LruCache(_WINDOWS)
        # The beginnings of conversations for which a summary did not help.
        self._fruitless: WeakKeyDictionary[ullage.View, tuple[int, str]] = WeakKeyDictionary()
        # The first call of each result that became a file, to recognize a result that is read back.
        self._offloaded: LruCache[str] = LruCache(_REMEMBERED)
        self._compaction_history: deque[CompactionResult] = deque(maxlen=_REMEMBERED)

    @property
    def compaction_history(self) -> list[CompactionResult]:
        """The newest 4,096 steps that saved tokens, oldest first."""
        return list(self._compaction_history)

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens in a text."""
        return self.tokenizer.count(text)

    def count_message_tokens(self, messages: list[dict[str, Any]]) -> int:
        """Returns the tokens of messages: texts, calls, arguments, results, pictures and frames.

        Counts are cached. A message that cannot be read is counted as its JSON.
        """
        return count_messages(self.tokenizer, messages)

    def get_context_limit(self, model: str) -> int:
        """Returns the window of a model, in tokens.

        Uses the config, then ullage's table, then 128,000.

        Raises:
            PolicyError: If the window in the config is not a positive whole number.
        """
        limit = self.config.model_context_limits.get(model)
        if limit is not None:
            require_number(f"model_context_limits[{model!r}]", limit, least=1)
            return limit
        limits = ullage.model_limits(model)
        return _UNKNOWN if limits.source == "default" else limits.max_input

    def should_offload_result(self, result: str) -> bool:
        """True if a result is so large that it should be written to a file."""
        return not self.tokenizer.fits(_text(result), self.config.large_result_tokens)

    def offload_large_result(
        self, result: str, tool_name: str, tool_call_id: str
    ) -> tuple[str, str]:
        """Writes a result to a file. The same result has the same file and preview each time.

        Returns:
            The path of the file, and the preview that replaces the result.

        Raises:
            StoreError: If it cannot be written.
        """
        text = _text(result)
        path = path_of(OUTPUTS, str(tool_name), str(tool_call_id), text)
        run(self._files.write(path, text))
        return path, replacement(path, text, self.config.preview_lines)

    def process_tool_result(self, result: str, tool_name: str, tool_call_id: str) -> str:
        """Returns the result, or a preview if the result is large.

        If ``read_file`` returns an earlier result, it is not replaced again. Otherwise the agent
        could never read it.

        Raises:
            StoreError: If it cannot be written.
        """
        text = _text(result)
        digest = digest_of(text)
        first = self._offloaded.get(digest) or tool_call_id
        if not self.should_offload_result(text) or (tool_name == READER and first != tool_call_id):
            return text
        path, short = self.offload_large_result(text, tool_name, tool_call_id)
        before, after = self.count_tokens(text), self.count_tokens(short)
        if after >= before:
            return text
        self._offloaded.put(digest, first)
        self._done(CompactionResult.of(before, after, "offload", [path]))
        return short

    def compact_messages(self, messages: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
        """Replaces the content that calls wrote to files with pointers, from 85 % of the window.

        Only calls that are known to have succeeded are changed. Returns the same list if the
        conversation is smaller, or if pointers would save nothing.

        Raises:
            StoreError: If the replaced content cannot be written.
            MessageError: If a message cannot be written as JSON.
        """
        compaction = self._compaction(messages, self.get_context_limit(model))
        if compaction is None:
            return messages
        compacted, files, done = compaction
        run(self._files.write_all(files))
        self._done(done)
        return compacted

    async def summarize_conversation(
        self, messages: list[dict[str, Any]], model: str, summarization_agent: Any = None
    ) -> list[dict[str, Any]]:
        """Replaces the older messages with a summary, from 95 % of the window.

        The system messages, the first request and pinned messages stay, and calls keep their
        results. First the whole conversation is written to files, as JSON and as Markdown. If the
        agent fails, or if there is none, ullage writes the summary without a model. Returns the
        same list if the conversation fits the window and a summary would not help.

        Args:
            messages: The conversation.
            model: The id of the model.
            summarization_agent: Has ``run({"messages": [...]}, stateless=True)``, plain or async.

        Raises:
            StoreError: If the conversation cannot be written. Then nothing has changed.
            BudgetError: If the messages that must stay do not fit the window.
            MessageError: If a message cannot be read.
        """
        return await self._managed(messages, model, summarization_agent, has_pointers=False)

    async def manage_context(
        self, messages: list[dict[str, Any]], model: str, summarization_agent: Any = None
    ) -> list[dict[str, Any]]:
        """Makes the conversation fit before a request: pointers above 85 %, a summary above 95 %.

        Returns:
            The same list if it is small enough, or else a new list. On later turns, the new list
            begins with the earlier result, so a summary is not made again on each turn.

        Raises:
            StoreError: If removed content cannot be written.
            BudgetError: If the messages that must stay do not fit the window.
            MessageError: If a message cannot be read.
        """
        return await self._managed(messages, model, summarization_agent, has_pointers=True)

    def get_compaction_stats(self) -> dict[str, Any]:
        """Returns the saved tokens, in total and by strategy, and the number of steps."""
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
        """Returns a part of the system prompt that tells the model how to read content back."""
        return SEGMENT

    async def _managed(
        self, messages: list[Any], model: str, agent: Any, *, has_pointers: bool
    ) -> list[Any]:
        limit = self.get_context_limit(model)
        try:
            return await self._shown(messages, limit, agent, has_pointers=has_pointers)
        except ullage.MessageError:
            # A list that cannot be read is returned unchanged while it is small enough.
            if self.count_message_tokens(messages) < self.config.summarizes_at(limit):
                return messages
            raise

    async def _shown(
        self, messages: list[Any], limit: int, agent: Any, *, has_pointers: bool
    ) -> list[Any]:
        """Returns the messages of the conversation's view, and compacts them if that is due."""
        shown = [readable(message) for message in messages]
        begin, end = system_end(shown), waiting_from(shown)
        shown, tail = shown[:end], shown[end:]
        room, engine = max(1, limit - self.count_message_tokens(tail)), self._engine(limit)
        view = await asyncio.to_thread(engine.view_of, shown[begin:], compaction=self._compact)
        options: dict[str, Any] = {"budget": room, "transient": range(begin)}
        outlook = await asyncio.to_thread(view.outlook, shown, **options)
        tokens = self.count_message_tokens([*outlook.messages, *tail])
        is_due = tokens >= self.config.summarizes_at(limit)
        if has_pointers:
            is_due = tokens > min(self.config.compacts_at(limit), self.config.summarizes_at(limit))
        request = _CompactionRequest(limit, agent, view, has_pointers, tail)
        token = _request.set(request)
        try:
            left = await view.amessages(shown, **options, hard=is_due)
        finally:
            _request.reset(token)
        left = summary_first([*left, *request.tail])
        is_same = len(left) == len(messages) and all(map(is_, left, messages))
        return messages if is_same else left

    async def _compact(self, messages: list[Any], _tokens: int, _pins: list[int]) -> None:
        """Compacts a view's messages in place: pointers above 85 %, then a summary above 95 %."""
        request = _request.get()
        place = summary_place(messages)
        newest = 0 if place is None else len(messages) - place - 1
        limit, left = request.limit, summary_first([*messages, *request.tail])
        if request.has_pointers:
            compaction = await asyncio.to_thread(self._compaction, left, limit)
            if compaction is not None:
                left, files, done = compaction
                await arun(self._files.write_all(files))
                self._done(done)
        tokens, most = self.count_message_tokens(left), self.config.summarizes_at(limit)
        if tokens > most or (tokens == most and not request.has_pointers):
            condensed = await self._condense(left, request)
            if condensed is not None and condensed.left is not None:
                left, newest = condensed.left, condensed.newest - len(request.tail)
        end = len(left) - len(request.tail)
        messages[:], request.tail = summary_before(left[:end], newest), left[end:]

    def _compaction(
        self, messages: list[Any], limit: int
    ) -> tuple[list[Any], dict[str, str], CompactionResult] | None:
        """Returns the messages with pointers, the files to write first, and the savings.

        Returns None if the conversation is too small, or if pointers would save nothing.
        """
        before = self.count_message_tokens(messages)
        if before < self.config.compacts_at(limit):
            return None
        files: dict[str, str] = {}

        def keep(tool: str, identifier: str, text: str, suffix: str) -> str:
            path = path_of(INPUTS, tool, identifier, text, suffix)
            files[path] = text
            return path

        compacted = with_pointers(messages, keep)
        after = self.count_message_tokens(compacted)
        if after >= before:
            return None
        return compacted, files, CompactionResult.of(before, after, "compact", list(files))

    async def _condense(
        self, messages: list[Any], request: _CompactionRequest
    ) -> Condensation | None:
        """Returns the messages with a summary, or None if a summary would not help."""
        limit, view = request.limit, request.view
        before, unhelped = self.count_message_tokens(messages), self._fruitless.get(view)
        if before <= limit and unhelped and unhelped == _beginning(messages, unhelped[0]):
            return None
        most = self.config.summarizes_at(limit)
        condenser = Condenser(self.tokenizer, self._files, limit, most, self.config.preview_lines)
        condensed = await condenser.condense(messages, request.agent)
        if condensed.left is None:
            if condensed.files:
                self._fruitless[view] = _beginning(messages, len(messages))
            return None
        after = self.count_message_tokens(condensed.left)
        self._done(CompactionResult.of(before, after, "summarize", condensed.files))
        return condensed

    def _engine(self, limit: int) -> ullage.ContextManager:
        terms = (limit, self.config.compacts_at(limit), self.config.summarizes_at(limit))
        engine = self._engines.get(terms)
        if engine is None:
            # The middleware decides when a compaction is due, so the policy must not.
            policy = ullage.Policy.preset("valis").replace(
                high=1.0, stages=["window"], levels=[{"recent": 0.0}]
            )
            engine = ullage.ContextManager(policy, counter=self.tokenizer)
            self._engines.put(terms, engine)
        return engine

    def _done(self, result: CompactionResult) -> None:
        self._compaction_history.append(result)
        logger.info(
            "strategy=<%s>, before=<%d>, after=<%d> | compacted",
            result.strategy_used,
            result.original_tokens,
            result.compacted_tokens,
        )


def _beginning(messages: list[Any], count: int) -> tuple[int, str]:
    """Returns the number and the digest of the first ``count`` messages after the system's."""
    listed = messages[system_end(messages) :][:count]
    return len(listed), digest_of(written(listed))


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json_text(result)
