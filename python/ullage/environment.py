"""``Policy.from_env``: settings from environment variables."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Cyber-AutoAgent's sizes are characters; its own ratio makes tokens of them.
_CHARACTERS_PER_TOKEN = 3.7


def _tokens(text: str) -> int:
    return max(1, round(int(text) / _CHARACTERS_PER_TOKEN))


def _clamped(least: float, most: float) -> Callable[[str], float]:
    return lambda text: min(max(float(text), least), most)


# The variables of Cyber-AutoAgent's document, with its bounds, and the settings that each is.
_NAMED: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "CONTEXT_LIMIT": (("window",), int),
    "PROMPT_TELEMETRY_THRESHOLD": (("high",), _clamped(0.1, 0.95)),
    "PROMPT_CACHE_RELAX": (("cache_relax",), _clamped(0.0, 0.3)),
    "TOOL_COMPRESS_TRUNCATE": (("shrink_to", "compress_to"), _tokens),
    "TOOL_RESULT_ARTIFACT_THRESHOLD": (("shrink_above", "offload_above"), _tokens),
    "CONVERSATION_WINDOW": (("max_messages",), int),
    "CONVERSATION_PRESERVE_FIRST": (("keep_first",), int),
    "CONVERSATION_PRESERVE_LAST": (("keep_recent",), int),
}

# The prefix whose variables are Cyber-AutoAgent's.
_CYBER = "CYBER_"

# What is left of a text can be no more than the size above which it is shortened.
_BOUNDED = (
    ("shrink_to", "shrink_above"),
    ("offload_preview", "offload_above"),
    ("low", "high"),
)


def policy_from_env(prefix: str, environ: Mapping[str, str] | None = None) -> Policy:
    """See ``Policy.from_env``."""
    environ = os.environ if environ is None else environ
    preset = environ.get(prefix + "PRESET") or (
        "cyber-autoagent" if prefix == _CYBER else "default"
    )
    settings = Policy.preset(preset).to_dict()
    given: dict[str, Any] = {}
    for name, (targets, read) in _NAMED.items():
        if text := environ.get(prefix + name, "").strip():
            given.update(dict.fromkeys(targets, _read(prefix + name, text, read)))
    for setting, now in settings.items():
        if text := environ.get(prefix + setting.upper(), "").strip():
            given[setting] = _read(prefix + setting.upper(), text, _reader(now))
    settings.update(given)
    for smaller, larger in _BOUNDED:
        if smaller not in given and settings[smaller] > settings[larger]:
            settings[smaller] = settings[larger]
    return Policy.from_dict(settings)


def _reader(now: Any) -> Callable[[str], Any]:
    """How the text of a setting is read, by what it is now."""
    if isinstance(now, (int, float)):
        return type(now)
    if isinstance(now, str):
        return str
    return json.loads


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise PolicyError(f"the variable {name} is {text!r}: {error}") from error
