"""Reads the events of an ADK session: calls, answers, open calls, and places to cut."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event
    from google.genai import types


# The calls by which ADK asks the client for something. Their arguments are no part of the
# conversation: those of the first hold the user's credentials.
CREDENTIAL_CALL = "adk_request_credential"
CONFIRMATION_CALL = "adk_request_confirmation"
_CLIENT_CALLS = frozenset({CREDENTIAL_CALL, CONFIRMATION_CALL})

# States that a tool reports while it runs in the background.
_WAITING = frozenset({"pending", "waiting", "running", "in_progress", "queued", "submitted"})


def live_events(events: Sequence[Event]) -> list[Event]:
    """Returns the events that count, without those taken back and pieces of streamed answers."""
    kept: list[Event] = []
    for event in events:
        before = getattr(event.actions, "rewind_before_invocation_id", None)
        if before is not None:
            first = next((at for at, e in enumerate(kept) if e.invocation_id == before), len(kept))
            del kept[first:]
        elif not event.partial:
            kept.append(event)
    return kept


def is_private(event: Event) -> bool:
    """True if ADK uses the event to ask for a credential or a confirmation, or to get it."""
    names = {call.name for call in event.get_function_calls()}
    names |= {answer.name for answer in event.get_function_responses()}
    return bool(names & _CLIENT_CALLS)


def content_of(event: Event) -> types.Content | None:
    """Returns the content of an event. If it has no role, it gets the role of its author."""
    content = event.content
    if content is None or not content.parts:
        return None
    if content.role in {"user", "model"}:
        return content
    return content.model_copy(update={"role": "user" if event.author == "user" else "model"})


def is_request(event: Event) -> bool:
    """True if a user says something new with it: it has content other than an answer to a call."""
    content = event.content
    if event.author != "user" or content is None or event.get_function_responses():
        return False
    return any(
        (part.text and not part.thought) or part.inline_data or part.file_data
        for part in content.parts or []
    )


def seen_count(events: Sequence[Event]) -> int:
    """Counts the events at the front that a model has surely seen: up to its own last one.

    The events after it, a request or results, are the input of its next answer.
    """
    for place in range(len(events), 0, -1):
        event = events[place - 1]
        if event.author != "user" and event.content and not event.get_function_responses():
            return place
    return 0


def abandoned_calls(events: Sequence[Event]) -> set[str]:
    """Returns the ids of calls that nobody will answer.

    These are the unanswered calls of earlier invocations, except long-running ones. Otherwise a
    call whose process died would keep all later events for ever.
    """
    newest = next((event.invocation_id for event in reversed(events) if event.invocation_id), "")
    known: set[str] = set()
    spared: set[str] = set()
    for event in events:
        asked = {*event.actions.requested_tool_confirmations, *event.actions.requested_auth_configs}
        spared |= {answer.id or "" for answer in event.get_function_responses()} - asked
        for call in event.get_function_calls():
            asked.add(call.id or "")
            if call.id in (event.long_running_tool_ids or ()) and call.name not in _CLIENT_CALLS:
                spared.add(call.id or "")
        if event.invocation_id != newest:
            known |= asked
    return known - spared


def cut_points(events: Sequence[Event], ignored: frozenset[str] = frozenset()) -> list[int]:
    """Counts the events at the front that can be cut off without an open call.

    Calls and answers are matched by their ids, or by the names of their tools if they have no
    ids. Requests for confirmations and credentials are open until they are answered.

    Args:
        events: Events in their order.
        ignored: Ids of calls that do not count as open.
    """
    open_ids: set[str] = set()
    unnamed: Counter[str] = Counter()
    places = [0]
    for place, event in enumerate(events, start=1):
        for answer in event.get_function_responses():
            if answer.id:
                open_ids.discard(answer.id)
            elif unnamed[answer.name or ""] > 0:
                unnamed[answer.name or ""] -= 1
        for call in event.get_function_calls():
            if call.id:
                open_ids |= {call.id} - ignored
            else:
                unnamed[call.name or ""] += 1
        open_ids |= set(event.actions.requested_tool_confirmations) - ignored
        open_ids |= set(event.actions.requested_auth_configs) - ignored
        if not open_ids and not +unnamed:
            places.append(place)
    return places


def waiting_calls(events: Sequence[Event]) -> list[tuple[str, str, Any]]:
    """Returns long-running calls whose tool has only reported a state: the tool, id and report."""
    started = {id_ for event in events for id_ in event.long_running_tool_ids or ()}
    said: dict[str, tuple[str, str, Any]] = {}
    for event in events:
        for answer in event.get_function_responses():
            if answer.id in started:
                said[answer.id or ""] = (answer.name or "", answer.id or "", answer.response)
    return [one for one in said.values() if _goes_on(one[2])]


def _goes_on(response: Any) -> bool:
    if not isinstance(response, dict) or not response:
        return True
    inner = response.get("result")
    fields = {**(inner if isinstance(inner, dict) else {}), **response}
    status = next(
        (fields[key] for key in ("status", "state") if isinstance(fields.get(key), str)), ""
    )
    return status.strip().lower().replace(" ", "_").replace("-", "_") in _WAITING


def conversation_events(events: Sequence[Event]) -> list[Event]:
    """Returns the events of a conversation, without those of a task that has its own scope."""
    return [
        event for event in live_events(events) if getattr(event, "isolation_scope", None) is None
    ]


def contents_of(events: Sequence[Event]) -> list[Any]:
    """Returns the contents that a model may read: no credentials, and nothing that is empty."""
    contents = (None if is_private(event) else content_of(event) for event in events)
    return [content for content in contents if content is not None]


def older_count(raw: Sequence[Event], recent: int) -> int:
    """Counts the events that are older than ``recent`` ones, up to a place without an open call.

    Times tell the events in front from those behind there, since ADK takes away whatever lies
    between two times.
    """
    most = min(max(0, len(raw) - recent), seen_count(raw))
    least = [float("inf")] * (len(raw) + 1)
    for place in range(len(raw) - 1, -1, -1):
        least[place] = min(least[place + 1], raw[place].timestamp)
    places = cut_points(raw[:most], frozenset(abandoned_calls(raw)))
    latest = float("-inf")
    split = at = 0
    for place in places:
        latest = max([latest, *(event.timestamp for event in raw[at:place])])
        at = place
        split = place if latest < least[place] else split
    return split
