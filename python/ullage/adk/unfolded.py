"""A session as its last summary and the events behind it, and where those may be cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ullage.adk.events import abandoned, closed, live, seen
from ullage.adk.written_summary import Earlier, read_back

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.events.event import Event


class Unfolded(NamedTuple):
    """A session.

    Attributes:
        earlier: The last summary in it.
        end: The time of the last event that the summary stands for.
        raw: The events that it does not stand for.
    """

    earlier: Earlier | None
    end: float
    raw: list[Event]


def unfolded(events: Sequence[Event]) -> Unfolded:
    """The last summary in a session, and the events that it does not stand for."""
    # What a task of its own does is no part of the conversation.
    counted = [event for event in live(events) if getattr(event, "isolation_scope", None) is None]
    raw = [event for event in counted if not event.actions.compaction]
    made = [(event.actions.compaction, event) for event in counted]
    ends = [(one.end_timestamp, place) for place, (one, _) in enumerate(made) if one is not None]
    if not ends:
        return Unfolded(None, float("-inf"), raw)
    end, place = max(ends)
    return Unfolded(read_back(made[place][1]), end, [one for one in raw if one.timestamp > end])


def older(raw: Sequence[Event], recent: int) -> int:
    """How many events are older than so many recent ones: up to a place where no call is open.

    Times tell the events in front from those behind there, since ADK takes away whatever lies
    between two times.
    """
    most = min(max(0, len(raw) - recent), seen(raw))
    least = [float("inf")] * (len(raw) + 1)
    for place in range(len(raw) - 1, -1, -1):
        least[place] = min(least[place + 1], raw[place].timestamp)
    places = closed(raw[:most], frozenset(abandoned(raw)))
    latest = float("-inf")
    split = at = 0
    for place in places:
        latest = max([latest, *(event.timestamp for event in raw[at:place])])
        at = place
        split = place if latest < least[place] else split
    return split


def further(new: Sequence[Event], fits: Callable[[Sequence[Event]], bool]) -> int:
    """How many of the events must go so that the others fit; 0 where none can."""
    # Also those that may still be answered: a late answer finds its call again.
    answered = {one.id for event in new for one in event.get_function_responses()}
    called = {one.id for event in new for one in event.get_function_calls() if one.id}
    places = closed(new[: seen(new)] or new, frozenset(called - answered))[1:]
    return next((place for place in places if fits(new[place:])), places[-1] if places else 0)
