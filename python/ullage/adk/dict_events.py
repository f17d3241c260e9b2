"""Converts the events of an SRE agent, which are dicts, to events of ADK.

Such a dict has a ``type`` ("user_message", "model_thought", "tool_call", "tool_output"), a
``content`` and, for a tool, a ``tool_name``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from google.adk.events.event import Event
from google.genai import types

AnyEvent: TypeAlias = "Event | Mapping[str, Any]"
"""An event of ADK, or a dict of an SRE agent."""


def as_events(events: Sequence[AnyEvent]) -> list[Event]:
    """Returns events of ADK unchanged, and each dict as an event. O(length)."""
    turn = 0
    made: list[Event] = []
    waiting: dict[str, list[str]] = {}
    for place, event in enumerate(events):
        if isinstance(event, Event):
            made.append(event)
            continue
        kind, said = str(event.get("type", "")), event.get("content", "")
        tool = str(event.get("tool_name") or "tool")
        # The same content at the same place is the same event, because dicts have no ids.
        name = f"{place}:{hash(said if isinstance(said, str) else repr(said)):x}"
        if kind == "tool_call":
            call = types.FunctionCall(id=name, name=tool, args=_fields(said) or {})
            waiting.setdefault(tool, []).append(name)
            author, role, part = "agent", "model", types.Part(function_call=call)
        elif kind == "tool_output":
            # Results come in the order of their calls.
            id_ = waiting[tool].pop(0) if waiting.get(tool) else name
            response = _fields(said)
            answer = types.FunctionResponse(
                id=id_, name=tool, response={"result": said} if response is None else response
            )
            author, role, part = "agent", "user", types.Part(function_response=answer)
        elif kind == "user_message":
            # A call without an answer at this point will never get one.
            turn, waiting = turn + 1, {}
            author, role, part = "user", "user", types.Part(text=_text(said))
        else:
            author = "agent" if kind in {"model_thought", ""} else kind
            role, part = "model", types.Part(text=_text(said))
        made.append(
            Event(
                id=name,
                author=author,
                invocation_id=str(turn),
                timestamp=float(place),
                content=types.Content(role=role, parts=[part]),
            )
        )
    return made


def _fields(said: Any) -> dict[str, Any] | None:
    """Returns the fields of a content that is a dict, in JSON or in Python's notation."""
    if isinstance(said, str) and said.lstrip().startswith("{"):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                said = read(said)
                break
    return dict(said) if isinstance(said, Mapping) else None


def _text(said: Any) -> str:
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
