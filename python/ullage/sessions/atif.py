"""Reads trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor and Terminal-Bench.

https://harborframework.com/docs/trajectory-format
"""

from __future__ import annotations

import json
from typing import Any

_VERSION = "ATIF-v1"
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def is_trajectory(value: dict[str, Any]) -> bool:
    """True if the value is a trajectory with its steps."""
    version = value.get("schema_version")
    is_atif = isinstance(version, str) and version.startswith(_VERSION)
    return is_atif and isinstance(value.get("steps"), list)


def messages(trajectory: dict[str, Any]) -> list[Any]:
    """Returns the messages of a trajectory, in OpenAI's chat form.

    An observation that names no call is the result of the step's first call without one, or else a
    message of the user. Trajectories of subagents and reasoning are left out.

    Raises:
        ValueError: If a step is not one.
    """
    found: list[Any] = []
    for number, step in enumerate(trajectory["steps"], 1):
        if not isinstance(step, dict) or step.get("source") not in _ROLES:
            raise ValueError(f"step {number} of the trajectory has no source")
        found += _of_step(step)
    return found


def _of_step(step: dict[str, Any]) -> list[Any]:
    role, content = _ROLES[step["source"]], _text(step.get("message"))
    calls = [call for call in _dicts(step.get("tool_calls")) if role == "assistant"]
    ids = [str(call.get("tool_call_id")) for call in calls]
    found: list[Any] = []
    if calls:
        rows = [_call(call) for call in calls]
        found.append({"role": role, "content": content or None, "tool_calls": rows})
    elif content:
        found.append({"role": role, "content": content})
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    answers: dict[str, list[str]] = {}
    others: list[str] = []
    for result in _dicts(results):
        text = _text(result.get("content"))
        source = result.get("source_call_id")
        if source is None:
            source = next((call for call in ids if call not in answers), None)
        if source in ids:
            answers.setdefault(str(source), []).append(text)
        elif text:
            others.append(text)
    for call_id in ids:
        if call_id in answers:
            text = "\n".join(answers[call_id])
            found.append({"role": "tool", "tool_call_id": call_id, "content": text})
    found += [{"role": "user", "content": text} for text in others]
    return found


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call.get("arguments") or {}, ensure_ascii=False)
    function = {"name": str(call.get("function_name")), "arguments": arguments}
    return {"id": str(call.get("tool_call_id")), "type": "function", "function": function}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    """Returns the text of some content. An image, which is another file, is named by its path."""
    if isinstance(value, list):
        return "\n".join(_part(part) for part in _dicts(value))
    return value if isinstance(value, str) else ""


def _part(part: dict[str, Any]) -> str:
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict):
        return f"[image: {source.get('path')}]"
    return str(part.get("text") or "")
