"""``ContextManagementMiddleware``: Valis' face of the engine."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import ullage
from ullage.logger import Logger
from ullage.valis import cutting, pointers, record, summarizing
from ullage.valis.config import CompactionResult, ContextConfig
from ullage.valis.files import FilesystemBackend, FolderBackend, unique_path, write
from ullage.valis.offload import replacement

if TYPE_CHECKING:
    from os import PathLike

logger = Logger(__name__)

OUTPUTS, INPUTS, HISTORY = "/tool_outputs", "/tool_inputs", "/conversation_history"
# Where files go if nobody says so, in the folder that the agent works in.
_FOLDER = ".valis"
# Valis' window of a model that nobody knows.
_UNKNOWN = 128_000
# The part of a window that the newest messages take behind a summary.
_RECENT_SHARE = 0.2
# The part that the first request may take behind it; a longer one becomes a file, too.
_TASK_SHARE = 0.05
# What a message that cannot be read takes beside its text.
_MESSAGE_TOKENS = 4

_SEGMENT = """
## Context Management

Your conversation history is automatically managed to stay within context limits:

1. **Large outputs** are saved to `/tool_outputs/` with a preview shown
2. **File contents** from write/edit operations are replaced with pointers, and saved as they were
   to `/tool_inputs/`
3. **If context gets very long**, a summary is created and full history saved to
   `/conversation_history/`

**To recover information:**
- Use `read_file("/tool_outputs/...")` to view full tool outputs
- Use `grep("keyword", "/conversation_history/")` to search past conversations
- Use `ls("/conversation_history/")` to see saved conversations

The original, uncompacted conversation is always preserved on the filesystem.
"""


class ContextManagementMiddleware:
    """Keeps an agent's conversation inside its window, step by step.

    Large results become files as they arrive; at 85 % of the window what calls wrote becomes a
    pointer; at 95 % a summary stands for all but the newest messages. Whatever leaves is in a file
    first. The lists and messages of the host are never changed.

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
        self.tokenizer = _counter(tokenizer)
        self._compaction_history: list[CompactionResult] = []
        self._record = record.Record()

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
        try:
            return self.tokenizer.count_messages(messages)
        except ullage.MessageError:
            return sum(self._count_one(message) for message in messages)

    def get_context_limit(self, model: str) -> int:
        """The window of a model: by the config, else by what ullage knows, else 128,000."""
        limit = self.config.model_context_limits.get(model)
        if limit is not None:
            return limit
        known = ullage.model_limits(model)
        return _UNKNOWN if known.source == "default" else known.max_input

    def should_offload_result(self, result: str) -> bool:
        """Whether a result is to become a file. Stops counting once that is known."""
        return not self.tokenizer.fits(_text(result), self.config.large_result_tokens)

    def offload_large_result(
        self, result: str, tool_name: str, tool_call_id: str
    ) -> tuple[str, str]:
        """Writes a result to a file.

        Returns:
            Its path, and the preview that takes its place.

        Raises:
            StoreError: If it cannot be written.
        """
        text = _text(result)
        path = unique_path(OUTPUTS, tool_name, ".txt", of=(str(tool_call_id), text))
        write(self.filesystem, path, text)
        return path, replacement(path, text, self.config.preview_lines)

    def process_tool_result(self, result: str, tool_name: str, tool_call_id: str) -> str:
        """The result as it arrives: itself, or a preview where it is large.

        Raises:
            StoreError: If it cannot be written.
        """
        text = _text(result)
        if not self.should_offload_result(text):
            return text
        path, short = self.offload_large_result(text, tool_name, tool_call_id)
        before, after = self.count_tokens(text), self.count_tokens(short)
        if after >= before:
            return text
        self._done(CompactionResult.of(before, after, "offload", [path]))
        return short

    def compact_messages(self, messages: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
        """The messages with pointers for what calls wrote into files, from 85 % of the window on.

        Below, and where nothing would be saved, the same list.

        Raises:
            StoreError: If what would be replaced cannot be written.
        """
        before = self.count_message_tokens(messages)
        if before < self.config.compacts_at(self.get_context_limit(model)):
            return messages
        files: list[str] = []

        def keep(tool: str, identifier: str, text: str) -> str:
            path = unique_path(INPUTS, tool, ".txt", of=(identifier, text))
            files.append(write(self.filesystem, path, text))
            return path

        compacted = pointers.compacted(messages, keep)
        after = self.count_message_tokens(compacted)
        if after >= before:
            return messages
        self._record.gave(compacted, messages)
        self._done(CompactionResult.of(before, after, "compact", files))
        return compacted

    async def summarize_conversation(
        self, messages: list[dict[str, Any]], model: str, summarization_agent: Any = None
    ) -> list[dict[str, Any]]:
        """A summary in front of the newest messages, from 95 % of the window on.

        The system messages, the first request and pinned messages stay; calls keep their results.
        The whole conversation is on disk first, as JSON and as Markdown. Where the agent fails or
        there is none, the summary is made without a model.

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
        before = self.count_message_tokens(messages)
        if before < self.config.summarizes_at(limit):
            return messages
        path = await self._save_conversation_to_file(messages)
        recent = int(limit * _RECENT_SHARE)
        cut = cutting.cut(_readable(messages), recent, self._count_one)
        said = [text for message in cut.going if (text := summarizing.said_in(message)) is not None]
        going = [message for message in cut.going if summarizing.said_in(message) is None]
        if not cut.going:
            left = self._fitted([*cut.system, *cut.staying], self.config.most(limit))
            self._record.gave(left, messages)
            return self._summarized(before, left, path)
        previous = "\n\n".join(said) or None
        summaries = summarizing.Summaries(self.tokenizer, limit)
        summary, stayed = await summaries.make(going, cut.staying, previous, summarization_agent)
        message = summarizing.message_of(summary)
        task = self._task(cut.task, int(limit * _TASK_SHARE))
        kept = [m for m in stayed if m is not cut.task]
        left = [*cut.system, message, *task, *kept, *cut.staying]
        left = self._fitted(left, self.config.most(limit))
        self._record.gave(left, messages)
        return self._summarized(before, left, path)

    async def manage_context(
        self, messages: list[dict[str, Any]], model: str, summarization_agent: Any = None
    ) -> list[dict[str, Any]]:
        """What is due before a request: pointers at 85 %, then a summary at 95 %.

        Returns:
            The same list where nothing is due, else a new one.

        Raises:
            StoreError: If what would leave cannot be written.
            BudgetError: If what must stay does not fit.
        """
        compacted = await asyncio.to_thread(self.compact_messages, messages, model)
        return await self.summarize_conversation(compacted, model, summarization_agent)

    def get_compaction_stats(self) -> dict[str, Any]:
        """Tokens saved, in all and by strategy, and how often."""
        by_strategy: dict[str, int] = {}
        for done in self.compaction_history:
            saved = by_strategy.get(done.strategy_used, 0) + done.tokens_saved
            by_strategy[done.strategy_used] = saved
        return {
            "total_tokens_saved": sum(by_strategy.values()),
            "compaction_events": len(self._compaction_history),
            "by_strategy": by_strategy,
        }

    def get_system_prompt_segment(self) -> str:
        """What the model is told about its context, and how it gets things back."""
        return _SEGMENT

    def _done(self, result: CompactionResult) -> None:
        self._compaction_history.append(result)
        logger.info(
            "strategy=<%s>, before=<%d>, after=<%d> | compacted",
            result.strategy_used,
            result.original_tokens,
            result.compacted_tokens,
        )

    def _summarized(self, before: int, left: list[Any], path: str) -> list[Any]:
        after = self.count_message_tokens(left)
        self._done(CompactionResult.of(before, after, "summarize", [path, _readable_path(path)]))
        return left

    def _count_one(self, message: Any) -> int:
        try:
            return self.tokenizer.count_messages([message])
        except ullage.MessageError:
            written = json.dumps(message, default=str, ensure_ascii=False)
            return _MESSAGE_TOKENS + self.tokenizer.count(written)

    async def _save_conversation_to_file(self, messages: list[dict[str, Any]]) -> str:
        """Writes the conversation as it was before all compaction; the path of the JSON."""
        whole = self._record.whole(messages)
        as_json = record.as_json(whole)
        path = unique_path(HISTORY, "conversation", ".json", of=("", as_json))
        await asyncio.to_thread(write, self.filesystem, path, as_json)
        markdown = record.as_markdown(whole)
        await asyncio.to_thread(write, self.filesystem, _readable_path(path), markdown)
        return path

    def _task(self, task: Any, most: int) -> list[Any]:
        """The first request; a preview of it where it is long."""
        if task is None or self._count_one(task) <= most:
            return [] if task is None else [task]
        path, short = self.offload_large_result(record.said(task), "first_request", "")
        logger.info("path=<%s> | the first request became a file", path)
        return [{**task, "content": short}]

    def _fitted(self, messages: list[Any], most: int) -> list[Any]:
        """The messages, with their results shortened where even the newest are too long."""
        if self.count_message_tokens(messages) <= most:
            return messages
        return cutting.fitted(messages, most, self.tokenizer, self.filesystem)


@lru_cache(maxsize=8)  # Counters remember what they counted; a process talks to few models.
def _counter(tokenizer: str) -> ullage.TokenCounter:
    try:
        return ullage.TokenCounter(tokenizer)
    except ullage.PolicyError:
        return ullage.TokenCounter.for_model(tokenizer)


def _readable_path(path: str) -> str:
    return path.removesuffix("json") + "md"


def _readable(messages: list[Any]) -> list[Any]:
    """The messages, with an empty text where a host wrote none, and texts as parts."""
    return [_readable_message(message) for message in messages]


def _readable_message(message: Any) -> Any:
    if _says_nothing(message):
        return {**message, "content": ""}
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and any(isinstance(part, str) for part in content):
        parts = [{"type": "text", "text": p} if isinstance(p, str) else p for p in content]
        return {**message, "content": parts}
    return message


def _says_nothing(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("content") is None
        and not message.get("tool_calls")
        and message.get("role") != "tool"
    )


def _text(result: Any) -> str:
    if isinstance(result, str):
        return result
    return json.dumps(result, default=str, ensure_ascii=False)
