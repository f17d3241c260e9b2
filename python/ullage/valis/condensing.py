"""A conversation with a summary in front of the newest messages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import ullage
from ullage.logger import Logger
from ullage.steps import arun
from ullage.valis import cutting, fitting, history, notes, summarizing
from ullage.valis.files import HISTORY, OUTPUTS, Files, path_of
from ullage.valis.messages import readable, text_parts, with_text
from ullage.valis.offload import FIRST_REQUEST, replaced_by, replacement

if TYPE_CHECKING:
    from ullage.valis.counting import Counting

logger = Logger(__name__)

# The part of a window that the newest messages take behind a summary.
_RECENT_SHARE = 0.2
# The part that the first request may take behind it; a longer one becomes a file, too. As much is
# for system messages that came later.
_TASK_SHARE = 0.05
# Tokens of a summary that is of any use: its frame, six headings and a line under each.
_LEAST_SUMMARY = 240
# Lines of a first request that are shown.
_TASK_LINES = 10
# Characters that a token of a preview is taken for: fewer than in any language but code.
_CHARACTERS = 2


@dataclass(frozen=True)
class _Parts:
    """What is left of a conversation, beside its summary.

    Attributes:
        messages: The conversation, as it can be read.
        cut: The conversation in parts.
        task: The first request, if it is among what goes; a preview where it is long.
        staying: The newest messages.
        files: What is to be written first.
        tokens: What all of it takes, with the system messages.
    """

    messages: list[Any]
    cut: cutting.Cut
    task: list[Any]
    staying: list[Any]
    files: dict[str, str]
    tokens: int


class Condensed(NamedTuple):
    """What came of it.

    Attributes:
        left: The messages that are left; None where they are better left alone.
        files: The files that were written.
        newest: How many of the messages at the end are the newest ones.
    """

    left: list[Any] | None
    files: list[str]
    newest: int = 0


class Condenser:
    """Makes a conversation smaller that is above the threshold of summaries.

    Args:
        counting: What counts.
        files: Where the history goes.
        limit: The window of the model.
        most: What is to be left, at the most.
    """

    def __init__(self, counting: Counting, files: Files, limit: int, most: int) -> None:
        self._counting, self._tokens, self._files = counting, counting.messages, files
        self._limit, self._most = limit, most

    async def condensed(self, messages: list[Any], lines: int, agent: Any) -> Condensed:
        """What is left, and the files that were written.

        The messages are left alone where nothing would be won and they are within the window: a
        summary that does not bring them below the threshold would be made again on the next turn.

        Args:
            messages: The conversation.
            lines: Lines of a preview.
            agent: What makes summaries, or None.

        Raises:
            StoreError: If the conversation cannot be written; nothing has happened then.
            BudgetError: If what must stay does not fit into the window.
            MessageError: If a message cannot be read.
        """
        before = self._tokens(messages)
        parts = await asyncio.to_thread(self._parts, messages, lines)
        least = _LEAST_SUMMARY if parts.cut.is_worth_it else self._tokens(parts.cut.noted)
        if parts.tokens + least > self._most and before <= self._limit:
            logger.debug("tokens=<%d> | a summary would not help", before)
            return Condensed(None, [])
        if parts.tokens > self._limit:
            raise self._too_long(parts, parts.tokens)
        written = await self._saved(messages)
        left = await self._around(parts, written[0], agent)
        left, more = fitting.shortened(left, self._most, lines, self._tokens)
        after = self._tokens(left)
        if before <= self._limit and (after > self._most or after >= before):
            logger.warning("before=<%d>, after=<%d> | a summary did not help", before, after)
            return Condensed(None, written)
        if after > self._limit:
            raise self._too_long(parts, after)
        files = [*written, *await arun(self._files.write_all(parts.files | more))]
        return Condensed(left, files, len(parts.staying))

    def _parts(self, messages: list[Any], lines: int) -> _Parts:
        listed = [readable(message) for message in messages]
        begin = cutting.system_end(listed)
        room = self._most - self._tokens(listed[:begin])
        share = int(self._limit * _TASK_SHARE)
        recent = room - 2 * share - summarizing.Summaries.most(self._limit)
        recent = max(0, min(int(self._limit * _RECENT_SHARE), recent))
        cut = cutting.cut(listed, recent, share, self._counting.message)
        task, files = self._task(cut.task, share)
        room -= self._tokens([*task, *cut.notes])
        if self._tokens(cut.staying) + _LEAST_SUMMARY > room:
            staying, more = fitting.shortened(
                cut.staying, room - _LEAST_SUMMARY, lines, self._tokens
            )
        else:
            staying, more = cut.staying, {}
        tokens = self._tokens([*cut.system, *task, *cut.notes, *staying])
        return _Parts(listed, cut, task, staying, files | more, tokens)

    def _task(self, task: Any, most: int) -> tuple[list[Any], dict[str, str]]:
        """The first request, and what is to be written; a preview of it where it is long."""
        if task is None or self._counting.message(task) <= most:
            return [] if task is None else [task], {}
        text = "\n".join(text_parts(task))
        path = path_of(OUTPUTS, FIRST_REQUEST, "", text)
        short = replacement(path, text, _TASK_LINES, most * _CHARACTERS)
        if replaced_by(text) is not None or len(short) >= len(text):
            return [task], {}
        return [with_text(task, short)], {path: text}

    async def _around(self, parts: _Parts, path: str, agent: Any) -> list[Any]:
        """The summary, with what stays in front of it and behind."""
        cut = parts.cut
        if not cut.is_worth_it:
            return [*cut.system, *cut.noted, *parts.task, *cut.notes, *parts.staying]
        said = [noted.summary for m in cut.noted if (noted := notes.noted_in(m)) is not None]
        previous = "\n\n".join(said) or None
        room = min(summarizing.Summaries.most(self._limit), self._most - parts.tokens)
        summaries = summarizing.Summaries(
            self._counting.counter, self._limit, max(room, _LEAST_SUMMARY)
        )
        try:
            summary, stayed = await summaries.make(cut.going, cut.staying, previous, agent)
        except ullage.MessageError:
            # The engine counted from where the summary begins; here they are the caller's numbers.
            self._counting.counter.count_messages(parts.messages)
            raise
        kept = [message for message in stayed if message is not cut.task]
        behind = [*parts.task, *cut.notes, *kept, *parts.staying]
        saved = notes.Saved(path, len(behind))
        role = notes.role_in(parts.messages)
        return [*cut.system, notes.message_of(summary, role, saved), *behind]

    async def _saved(self, messages: list[Any]) -> list[str]:
        """Writes the conversation as it was before all compaction; the JSON, and the Markdown."""
        files = await arun(self._files.read_all(history.paths_in(messages)))
        return await arun(self._files.write_all(await asyncio.to_thread(_told, messages, files)))

    def _too_long(self, parts: _Parts, floor: int) -> ullage.BudgetError:
        cut = parts.cut
        stays = {id(message) for message in (*cut.system, *cut.notes, *cut.staying, cut.task)}
        sizes = {
            n: self._counting.message(m) for n, m in enumerate(parts.messages) if id(m) in stays
        }
        error = ullage.BudgetError(
            f"the conversation cannot be made smaller than {floor:,} tokens, over its window of"
            f" {self._limit:,}: the system messages, the first request and the newest messages must"
            " stay; raise the window in model_context_limits or shorten them"
        )
        error.budget, error.floor = self._limit, floor
        error.messages = sorted(sizes, key=lambda place: -sizes[place])
        return error


def _told(messages: list[Any], files: dict[str, str]) -> dict[str, str]:
    """The whole history as JSON and as Markdown, by path."""
    whole = history.whole(messages, files)
    as_json = history.as_json(whole)
    # The number in front sorts the histories of a conversation.
    path = path_of(HISTORY, f"conversation_{len(whole):06}", "", as_json, ".json")
    return {path: as_json, path.removesuffix("json") + "md": history.as_markdown(whole)}
