"""Histories in OpenAI's format that interruptions, edits and hosts have broken."""

from __future__ import annotations

import copy
import json
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


def _with_a_blank_message(messages: list[Any], place: int) -> None:
    messages[place % len(messages)]["content"] = " \n"


def _with_two_in_each_others_place(messages: list[Any], place: int) -> None:
    one, other = place % len(messages), place * 7 % len(messages)
    messages[one], messages[other] = messages[other], messages[one]


def _with_a_message_twice(messages: list[Any], place: int) -> None:
    place %= len(messages)
    messages.insert(place * 3 % len(messages), copy.deepcopy(messages[place]))


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
    _with_a_blank_message,
    _with_two_in_each_others_place,
    _with_a_message_twice,
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


def in_format(messages: list[dict[str, Any]], format: str) -> list[dict[str, Any]]:
    """Messages of OpenAI's format in another one."""
    if format in {"openai", "openai-responses"}:
        return messages if format == "openai" else [e for m in messages for e in _items(m)]
    tools = {c["id"]: c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
    said = {"bedrock": _bedrock, "anthropic": _anthropic, "gemini": _gemini, "ai-sdk": _ai_sdk}
    written = []
    for message in messages:
        role = {"tool": "tool" if format == "ai-sdk" else "user"}.get(message["role"])
        if format == "gemini" and message["role"] == "assistant":
            role = "model"
        blocks = list(said[format](message, tools))
        key = "parts" if format == "gemini" else "content"
        written.append({"role": role or message["role"], key: blocks})
    return written


def _calls(message: dict[str, Any]) -> Any:
    for call in message.get("tool_calls") or ():
        yield call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])


def _items(message: dict[str, Any]) -> Any:
    if message["role"] == "tool":
        answer = {"call_id": message["tool_call_id"], "output": message["content"]}
        yield {"type": "function_call_output", **answer}
        return
    if message["content"] is not None:
        yield {"type": "message", "role": message["role"], "content": message["content"]}
    for id_, name, given in _calls(message):
        call = {"call_id": id_, "name": name, "arguments": json.dumps(given)}
        yield {"type": "function_call", **call}


def _bedrock(message: dict[str, Any], _: Any) -> Any:
    text = message["content"]
    if message["role"] == "tool":
        result = {"toolUseId": message["tool_call_id"], "content": [{"text": text}]}
        yield {"toolResult": {**result, "status": "success"}}
    elif text is not None:
        yield {"text": text}
    for id_, name, given in _calls(message):
        yield {"toolUse": {"toolUseId": id_, "name": name, "input": given}}


def _anthropic(message: dict[str, Any], _: Any) -> Any:
    text = message["content"]
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
    elif text is not None:
        yield {"type": "text", "text": text}
    for id_, name, given in _calls(message):
        yield {"type": "tool_use", "id": id_, "name": name, "input": given}


def _gemini(message: dict[str, Any], tools: dict[str, str]) -> Any:
    text = message["content"]
    if message["role"] == "tool":
        id_ = message["tool_call_id"]
        answer = {"id": id_, "name": tools.get(id_, "read_file"), "response": {"result": text}}
        yield {"function_response": answer}
    elif text is not None:
        yield {"text": text}
    for id_, name, given in _calls(message):
        yield {"function_call": {"id": id_, "name": name, "args": given}}


def _ai_sdk(message: dict[str, Any], tools: dict[str, str]) -> Any:
    text = message["content"]
    if message["role"] == "tool":
        id_ = message["tool_call_id"]
        named = {"toolCallId": id_, "toolName": tools.get(id_, "read_file")}
        yield {"type": "tool-result", **named, "output": {"type": "text", "value": text}}
    elif text is not None:
        yield {"type": "text", "text": text}
    for id_, name, given in _calls(message):
        yield {"type": "tool-call", "toolCallId": id_, "toolName": name, "input": given}
