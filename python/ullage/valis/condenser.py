"""``Condenser`` replaces the older messages of a conversation with a summary."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import ullage
from ullage._engine.counting import count_messages
from ullage._engine.logger import Logger
from ullage._engine.roles import is_system, readable
from ullage._engine.steps import arun
from ullage.valis import history
from ullage.valis.files import OUTPUTS, Files, path_of
from ullage.valis.messages import text_parts, with_text, written
from ullage.valis.notes import SummaryNote, format_of, role_in, summary_note
from ullage.valis.offload import FIRST_REQUEST, file_of, replacement, shorten_results
from ullage.valis.summaries import longest, summarize

logger = Logger(__name__)

# The share of the window for the newest messages, which stay after the summary.
_RECENT_SHARE = 0.2
# The share of the window for the first request. A longer request becomes a file with a preview.
# Later system messages get the same share.
_TASK_SHARE = 0.05
# The tokens of the shortest useful summary: its frame, six headings and one line under each.
_LEAST_SUMMARY = 240
# The number of lines in the preview of a long first request.
_TASK_LINES = 10
# The characters per token of a preview. Most languages have more, so a preview is never too long.
_CHARACTERS = 2


class Condensation(NamedTuple):
    """The result of :meth:`Condenser.condense`.

    Attributes:
        left: The new messages, or None if the conversation should stay unchanged.
        files: The files that were written.
        newest: The number of messages at the end that were not summarized.
    """

    left: list[Any] | None
    files: list[str]
    newest: int = 0


@dataclass
class _Parts:
    """The parts of a conversation.

    Attributes:
        messages: The whole conversation, in a form that the engine can read.
        system: The system messages at the beginning.
        summaries: The earlier summaries.
        older: The messages that will be summarized. The first request is among them.
        newest: The newest messages, which are kept.
        task: The first request, if it is among the messages that will be removed.
        notes: Later system messages that are kept although the messages around them are removed.
        shown_newest: The newest messages. Long results may be shortened.
        shown_task: The first request, or its preview if it is long. Empty if ``task`` is None.
        files: The files that must be written before content is removed, by path.
        tokens: The tokens of all kept messages, without the summary.
    """

    messages: list[Any]
    system: list[Any]
    summaries: list[Any]
    older: list[Any]
    newest: list[Any]
    task: Any
    notes: list[Any] = field(default_factory=list)
    shown_newest: list[Any] = field(default_factory=list)
    shown_task: list[Any] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    tokens: int = 0

    @property
    def is_worth_it(self) -> bool:
        """True if other messages than a summary and the first request are removed."""
        return any(message is not self.task for message in self.older)


def system_end(messages: list[Any]) -> int:
    """Returns the number of system messages at the beginning. A summary is not counted."""
    return next((n for n, message in enumerate(messages) if not _is_prompt(message)), len(messages))


def waiting_from(messages: list[Any]) -> int:
    """Returns the index of the first call whose result may still come, or else the length."""
    if not messages:
        return 0
    calls = ullage.Conversation(messages, format_of(messages)).open_calls
    return min((call.message for call in calls if call.waits), default=len(messages))


class Condenser:
    """Summarizes a conversation that is above the threshold for summaries.

    Args:
        counter: Counts tokens.
        files: Stores the history.
        limit: The window of the model, in tokens.
        most: The largest size of the new conversation, in tokens.
        lines: The number of lines in a preview.
    """

    def __init__(
        self, counter: ullage.TokenCounter, files: Files, limit: int, most: int, lines: int
    ) -> None:
        self._counter, self._files = counter, files
        self._tokens = partial(count_messages, counter)
        self._limit, self._most, self._lines = limit, most, lines

    async def condense(self, messages: list[Any], agent: Any) -> Condensation:
        """Returns the new messages, and the files that were written.

        The conversation stays unchanged if it fits the window and a summary would not bring it
        below the threshold. Otherwise a summary would be made again on each turn.

        Args:
            messages: The conversation.
            agent: The host's agent that writes summaries, or None.

        Raises:
            StoreError: If the conversation cannot be written. Then nothing has changed.
            BudgetError: If the messages that must stay do not fit the window.
            MessageError: If a message cannot be read.
        """
        before = self._tokens(messages)
        parts = await asyncio.to_thread(self._parts, messages)
        least = _LEAST_SUMMARY if parts.is_worth_it else self._tokens(parts.summaries)
        if parts.tokens + least > self._most and before <= self._limit:
            logger.debug("tokens=<%d> | a summary would not help", before)
            return Condensation(None, [])
        if parts.tokens > self._limit:
            raise self._too_long(parts, parts.tokens)
        files = await arun(self._files.read_all(history.paths_in(messages)))
        contents = await asyncio.to_thread(history.histories, messages, files)
        written = await arun(self._files.write_all(contents))
        left = await self._with_summary(parts, written[0], agent)
        left, more = shorten_results(left, self._most, self._lines, self._tokens)
        after = self._tokens(left)
        if before <= self._limit and (after > self._most or after >= before):
            logger.warning("before=<%d>, after=<%d> | a summary did not help", before, after)
            return Condensation(None, written)
        if after > self._limit:
            raise self._too_long(parts, after)
        more_written = await arun(self._files.write_all(parts.files | more))
        return Condensation(left, [*written, *more_written], len(parts.newest))

    def _parts(self, messages: list[Any]) -> _Parts:
        listed = [readable(message) for message in messages]
        begin = system_end(listed)
        room = self._most - self._tokens(listed[:begin])
        share = int(self._limit * _TASK_SHARE)
        recent = room - 2 * share - longest(self._limit)
        recent = max(0, min(int(self._limit * _RECENT_SHARE), recent))
        parts = self._cut(listed, begin, recent)
        parts.notes, parts.older = self._notes(parts.older, parts.newest, share)
        self._show_task(parts, share)
        room -= self._tokens([*parts.shown_task, *parts.notes])
        parts.shown_newest = parts.newest
        if self._tokens(parts.newest) + _LEAST_SUMMARY > room:
            left = room - _LEAST_SUMMARY
            parts.shown_newest, files = shorten_results(
                parts.newest, left, self._lines, self._tokens
            )
            parts.files |= files
        stay = (*parts.system, *parts.shown_task, *parts.notes, *parts.shown_newest)
        parts.tokens = self._tokens(list(stay))
        return parts

    def _cut(self, messages: list[Any], begin: int, recent: int) -> _Parts:
        """Splits the conversation. The newest messages get about ``recent`` tokens.

        At least the newest message stays. If it is a result, its call and the other results of that
        message stay too. A summary at the beginning is not a system message, because the next
        summary continues it.
        """
        end, room = len(messages), recent
        while end > begin:
            room -= self._tokens([messages[end - 1]])
            if room < 0:
                break
            end -= 1
        end = min(max(end, begin), max(begin, len(messages) - 1))
        # Cut after the results, if messages follow them. Otherwise cut before their call.
        conversation = ullage.Conversation(messages[begin:], format_of(messages))
        cuts = [begin + cut for cut in conversation.cut_points]
        later = (cut for cut in cuts if end <= cut < len(messages))
        end = next(later, None) or max(cut for cut in cuts if cut <= end)
        # Earlier summaries are always replaced by the new one, so they are never kept as messages.
        summaries = {n for n, m in enumerate(messages) if n >= begin and summary_note(m)}
        requests = (begin + place for place in conversation.requests if begin + place < end)
        task = next((messages[place] for place in requests if place not in summaries), None)
        return _Parts(
            messages,
            messages[:begin],
            [messages[n] for n in sorted(summaries)],
            [messages[n] for n in range(begin, end) if n not in summaries],
            [messages[n] for n in range(end, len(messages)) if n not in summaries],
            task,
        )

    def _notes(self, older: list[Any], newest: list[Any], most: int) -> tuple[list[Any], list[Any]]:
        """Returns the later system messages that fit and stay, and the other older messages.

        A host may add the same system message on each turn, so repeated ones are kept once. Those
        that do not fit get the user's role, because the engine never summarizes a system message.
        """
        texts = {written(message) for message in newest if _is_prompt(message)}
        notes: list[Any] = []
        rest: list[Any] = []
        room = most
        for message in reversed(older):
            if not _is_prompt(message):
                rest.append(message)
            elif (key := written(message)) not in texts:
                texts.add(key)
                room -= self._tokens([message])
                if room >= 0:
                    notes.append(message)
                else:
                    rest.append({**message, "role": "user"})
        return notes[::-1], rest[::-1]

    def _show_task(self, parts: _Parts, most: int) -> None:
        """Keeps the first request, or a preview if it is long."""
        if parts.task is None:
            return
        parts.shown_task = [parts.task]
        if self._tokens([parts.task]) <= most:
            return
        text = "\n".join(text_parts(parts.task))
        path = path_of(OUTPUTS, FIRST_REQUEST, "", text)
        short = replacement(path, text, _TASK_LINES, most * _CHARACTERS)
        if file_of(text) is None and len(short) < len(text):
            parts.shown_task, parts.files = [with_text(parts.task, short)], {path: text}

    async def _with_summary(self, parts: _Parts, path: str, agent: Any) -> list[Any]:
        """Returns the summary, with the messages before it and after it."""
        behind = [*parts.shown_task, *parts.notes, *parts.shown_newest]
        if not parts.is_worth_it:
            return [*parts.system, *parts.summaries, *behind]
        previous = [note.summary for m in parts.summaries if (note := summary_note(m)) is not None]
        room = min(longest(self._limit), self._most - parts.tokens)
        try:
            summary, left_out = await summarize(
                parts.older,
                "\n\n".join(previous) or None,
                agent,
                form=format_of([*parts.older, *parts.newest]),
                counter=self._counter,
                limit=self._limit,
                room=max(room, _LEAST_SUMMARY),
            )
        except ullage.MessageError:
            # The error has indices in the summarized part. This call raises it with the caller's.
            self._counter.count_messages(parts.messages)
            raise
        pinned = [message for message in left_out if message is not parts.task]
        behind = [*parts.shown_task, *parts.notes, *pinned, *parts.shown_newest]
        note = SummaryNote(summary, path, len(behind))
        return [*parts.system, note.message(role_in(parts.messages)), *behind]

    def _too_long(self, parts: _Parts, floor: int) -> ullage.BudgetError:
        stays = {
            id(message) for message in (*parts.system, *parts.notes, *parts.newest, parts.task)
        }
        sizes = {n: self._tokens([m]) for n, m in enumerate(parts.messages) if id(m) in stays}
        error = ullage.BudgetError(
            f"the conversation cannot be made smaller than {floor:,} tokens, over its window of"
            f" {self._limit:,}: the system messages, the first request and the newest messages must"
            " stay; raise the window in model_context_limits or shorten them"
        )
        error.budget, error.floor = self._limit, floor
        error.messages = sorted(sizes, key=lambda place: -sizes[place])
        return error


def _is_prompt(message: Any) -> bool:
    return is_system(message) and summary_note(message) is None
