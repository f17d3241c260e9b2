"""What a summary is to stand for, and what stays behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ullage
from ullage.valis.messages import role_of, written
from ullage.valis.notes import PROMPTS, format_of, noted_in

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Cut:
    """A conversation in parts.

    Attributes:
        system: The system messages that it begins with.
        noted: The summaries among what goes.
        going: What a summary is to stand for; the first request too, so that it is in it.
        notes: System messages from among what goes that stay all the same.
        staying: The newest messages.
        task: The first request, where it is among those that go.
    """

    system: list[Any]
    noted: list[Any]
    going: list[Any]
    notes: list[Any]
    staying: list[Any]
    task: Any

    @property
    def is_worth_it(self) -> bool:
        """Whether anything goes but a summary and the first request."""
        return any(message is not self.task for message in self.going)


def system_end(messages: list[Any]) -> int:
    """How many system messages there are in front; a summary is none."""
    return next((n for n, message in enumerate(messages) if not _is_system(message)), len(messages))


def waiting_from(messages: list[Any]) -> int:
    """Returns the place of the first call whose result may still come; else the end."""
    if not messages:
        return 0
    calls = ullage.Conversation(messages, format_of(messages)).open_calls
    return min((call.message for call in calls if call.waits), default=len(messages))


def cut(messages: list[Any], recent: int, notes: int, count: Callable[[Any], int]) -> Cut:
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
    noted = [message for message in messages[begin:] if noted_in(message) is not None]
    going = [message for message in messages[begin:end] if noted_in(message) is None]
    staying = [message for message in messages[end:] if noted_in(message) is None]
    requests = (messages[begin + place] for place in conversation.requests if begin + place < end)
    task = next((message for message in requests if noted_in(message) is None), None)
    said, going = _notes_in(going, staying, notes, count)
    return Cut(messages[:begin], noted, going, said, staying, task)


def _notes_in(
    going: list[Any], staying: list[Any], most: int, count: Callable[[Any], int]
) -> tuple[list[Any], list[Any]]:
    """The system messages that stay, and the rest of what goes.

    A host may say the same in each turn: once is enough. What is too old goes into the summary, as
    somebody's words; the engine leaves out none that are a prompt.
    """
    known = {written(message) for message in staying if _is_system(message)}
    notes: list[Any] = []
    rest: list[Any] = []
    room = most
    for message in reversed(going):
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
    return role_of(message) in PROMPTS and noted_in(message) is None
