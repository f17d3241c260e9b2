"""Histories in OpenAI's format that interruptions, edits and hosts have broken."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .histories import history


def _without_a_result(messages: list[Any], place: int) -> None:
    results = [n for n, message in enumerate(messages) if message["role"] == "tool"]
    if results:
        del messages[results[place % len(results)]]


def _with_a_pair_split(messages: list[Any], place: int) -> None:
    calls = [n for n, message in enumerate(messages) if message.get("tool_calls")]
    if calls:
        messages.insert(calls[place % len(calls)] + 1, {"role": "user", "content": "Wait."})


def _with_a_role_twice(messages: list[Any], place: int) -> None:
    place %= len(messages)
    role = messages[place]["role"]
    messages.insert(place, {"role": "user" if role == "tool" else role, "content": "And so on."})


def _with_an_empty_message(messages: list[Any], place: int) -> None:
    role = ("user", "assistant")[place % 2]
    messages.insert(place % len(messages), {"role": role, "content": ""})


def _cut_off(messages: list[Any], place: int) -> None:
    """Begins or ends anywhere, so that calls wait and results have no call."""
    if place % 2:
        del messages[1 + place % len(messages) :]
    else:
        del messages[: place % len(messages)]


_BREAKS = (
    _without_a_result,
    _with_a_pair_split,
    _with_a_role_twice,
    _with_an_empty_message,
    _cut_off,
)


@st.composite
def broken_histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Histories of some turns of parallel calls, broken in up to five places."""
    turns = draw(st.integers(1, 24))
    messages = history(
        turns, words=draw(st.sampled_from((1, 60))), parallel=draw(st.integers(1, 3))
    )
    breaks = st.tuples(st.sampled_from(_BREAKS), st.integers(0, 200))
    for change, place in draw(st.lists(breaks, min_size=1, max_size=5)):
        change(messages, place)
    return messages
