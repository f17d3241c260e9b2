"""``Condenser``: a conversation with a summary in front of the newest messages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import ullage
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage.valis import history, notes
from ullage.valis.files import HISTORY, OUTPUTS, Files, path_of
from ullage.valis.messages import readable, role_of, text_parts, with_text, written
from ullage.valis.notes import PROMPTS, format_of, summary_note
from ullage.valis.offload import FIRST_REQUEST, replaced_by, replacement, shortened
from ullage.valis.summaries import Summaries

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.valis.messages import Counting


@dataclass(frozen=True)
class Cut:
    """A conversation in parts.

    Attributes:
        system: The system messages that it begins with.
        summaries: The summaries among what goes.
        older: What a summary is to stand for; the first request too, so that it is in it.
        notes: System messages from among what goes that stay all the same.
        newest: The newest messages.
        task: The first request, where it is among those that go.
    """

    system: list[Any]
    summaries: list[Any]
    older: list[Any]
    notes: list[Any]
    newest: list[Any]
    task: Any

    @property
    def is_worth_it(self) -> bool:
        """True if anything is removed but a summary and the first request."""
        return any(message is not self.task for message in self.older)


def system_end(messages: list[Any]) -> int:
    """Counts the system messages in front; a summary is none."""
    return next((n for n, message in enumerate(messages) if not _is_system(message)), len(messages))


def waiting_from(messages: list[Any]) -> int:
    """Returns the place of the first call whose result may still come; else the end."""
    if not messages:
        return 0
    calls = ullage.Conversation(messages, format_of(messages)).open_calls
    return min((call.message for call in calls if call.waits), default=len(messages))


def cut_conversation(
    messages: list[Any], recent: int, notes: int, count: Callable[[Any], int]
) -> Cut:
    """The conversation in parts: what is newest takes about ``recent`` tokens.

    At least the newest message stays, with the call that it answers and the results beside it. A
    summary at the beginning is no system message: the next goes on from it. Of system messages
    that came later the newest stay, as many as ``notes`` tokens take.
    """
    begin = system_end(messages)
    end, room = len(messages), recent
    while end > begin:
        room -= count(messages[end - 1])
        if room < 0:
            break
        end -= 1
    end = min(max(end, begin), max(begin, len(messages) - 1))
    # After the results, if something is left there; else before their call.
    conversation = ullage.Conversation(messages[begin:], format_of(messages))
    cuts = [begin + cut for cut in conversation.cut_points]
    later = (cut for cut in cuts if end <= cut < len(messages))
    end = next(later, None) or max(cut for cut in cuts if cut <= end)
    # A summary is newer than what it stands for, and never among what stays as it is.
    noted = [message for message in messages[begin:] if summary_note(message) is not None]
    older = [message for message in messages[begin:end] if summary_note(message) is None]
    staying = [message for message in messages[end:] if summary_note(message) is None]
    requests = (messages[begin + place] for place in conversation.requests if begin + place < end)
    task = next((message for message in requests if summary_note(message) is None), None)
    said, older = _notes_in(older, staying, notes, count)
    return Cut(messages[:begin], noted, older, said, staying, task)


def _notes_in(
    older: list[Any], staying: list[Any], most: int, count: Callable[[Any], int]
) -> tuple[list[Any], list[Any]]:
    """The system messages that stay, and the rest of what goes.

    A host may say the same in each turn: once is enough. What is too old goes into the summary, as
    somebody's words; the engine leaves out none that are a prompt.
    """
    known = {written(message) for message in staying if _is_system(message)}
    notes: list[Any] = []
    rest: list[Any] = []
    room = most
    for message in reversed(older):
        if not _is_system(message):
            rest.append(message)
        elif (key := written(message)) not in known:
            known.add(key)
            room -= count(message)
            if room >= 0:
                notes.append(message)
            else:
                rest.append({**message, "role": "user"})
    return notes[::-1], rest[::-1]


def _is_system(message: Any) -> bool:
    return role_of(message) in PROMPTS and summary_note(message) is None


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
    """The messages that stay of a conversation, beside its summary.

    Attributes:
        messages: The conversation, as it can be read.
        cut: The conversation in parts.
        task: The first request, if it is among what goes; a preview where it is long.
        newest: The newest messages.
        files: What is to be written first.
        tokens: What all of it takes, with the system messages.
    """

    messages: list[Any]
    cut: Cut
    task: list[Any]
    newest: list[Any]
    files: dict[str, str]
    tokens: int


class Condensation(NamedTuple):
    """The result of a condensing.

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

    async def condensed(self, messages: list[Any], lines: int, agent: Any) -> Condensation:
        """Returns the messages that stay, and the files that were written.

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
        least = _LEAST_SUMMARY if parts.cut.is_worth_it else self._tokens(parts.cut.summaries)
        if parts.tokens + least > self._most and before <= self._limit:
            logger.debug("tokens=<%d> | a summary would not help", before)
            return Condensation(None, [])
        if parts.tokens > self._limit:
            raise self._too_long(parts, parts.tokens)
        written = await self._saved(messages)
        left = await self._around(parts, written[0], agent)
        left, more = shortened(left, self._most, lines, self._tokens)
        after = self._tokens(left)
        if before <= self._limit and (after > self._most or after >= before):
            logger.warning("before=<%d>, after=<%d> | a summary did not help", before, after)
            return Condensation(None, written)
        if after > self._limit:
            raise self._too_long(parts, after)
        files = [*written, *await arun(self._files.write_all(parts.files | more))]
        return Condensation(left, files, len(parts.newest))

    def _parts(self, messages: list[Any], lines: int) -> _Parts:
        listed = [readable(message) for message in messages]
        begin = system_end(listed)
        room = self._most - self._tokens(listed[:begin])
        share = int(self._limit * _TASK_SHARE)
        recent = room - 2 * share - Summaries.most(self._limit)
        recent = max(0, min(int(self._limit * _RECENT_SHARE), recent))
        cut = cut_conversation(listed, recent, share, self._counting.message)
        task, files = self._task(cut.task, share)
        room -= self._tokens([*task, *cut.notes])
        if self._tokens(cut.newest) + _LEAST_SUMMARY > room:
            staying, more = shortened(cut.newest, room - _LEAST_SUMMARY, lines, self._tokens)
        else:
            staying, more = cut.newest, {}
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
            return [*cut.system, *cut.summaries, *parts.task, *cut.notes, *parts.newest]
        said = [
            noted.summary for m in cut.summaries if (noted := notes.summary_note(m)) is not None
        ]
        previous = "\n\n".join(said) or None
        room = min(Summaries.most(self._limit), self._most - parts.tokens)
        summaries = Summaries(self._counting.counter, self._limit, max(room, _LEAST_SUMMARY))
        try:
            summary, stayed = await summaries.make(cut.older, cut.newest, previous, agent)
        except ullage.MessageError:
            # The engine counted from where the summary begins; here they are the caller's numbers.
            self._counting.counter.count_messages(parts.messages)
            raise
        kept = [message for message in stayed if message is not cut.task]
        behind = [*parts.task, *cut.notes, *kept, *parts.newest]
        saved = notes.SavedHistory(path, len(behind))
        role = notes.role_in(parts.messages)
        return [*cut.system, notes.message_of(summary, role, saved), *behind]

    async def _saved(self, messages: list[Any]) -> list[str]:
        """Writes the conversation as it was before all compaction; the JSON, and the Markdown."""
        files = await arun(self._files.read_all(history.paths_in(messages)))
        return await arun(self._files.write_all(await asyncio.to_thread(_told, messages, files)))

    def _too_long(self, parts: _Parts, floor: int) -> ullage.BudgetError:
        cut = parts.cut
        stays = {id(message) for message in (*cut.system, *cut.notes, *cut.newest, cut.task)}
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
