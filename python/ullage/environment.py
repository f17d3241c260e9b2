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


def _optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: None if text.lower() in _NONE else read(text)


# What stands for None.
_NONE = ("none", "null")

# The variables of Cyber-AutoAgent's document, with its bounds, and the settings that each is.
_NAMED: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "CONTEXT_LIMIT": (("window",), int),
    "PROMPT_TELEMETRY_THRESHOLD": (("high",), _clamped(0.1, 0.95)),
    "PROMPT_CACHE_RELAX": (("cache_relax",), _clamped(0.0, 0.3)),
    "TOOL_COMPRESS_TRUNCATE": (("shrink_to", "compress_to"), _tokens),
    "TOOL_RESULT_ARTIFACT_THRESHOLD": (("shrink_above", "offload_above"), _tokens),
    "CONVERSATION_WINDOW": (("max_messages",), _optional(int)),
    "CONVERSATION_PRESERVE_FIRST": (("keep_first",), int),
    "CONVERSATION_PRESERVE_LAST": (("keep_recent",), int),
}

# The prefix whose variables are Cyber-AutoAgent's.
_CYBER = "CYBER_"

# The size that texts are shortened to is no error above the threshold: they stay whole up to that.
_CLAMPED = "TOOL_COMPRESS_TRUNCATE"

# What is left of a text can be no more than the size above which it is shortened.
_BOUNDED = (("shrink_to", "shrink_above"), ("offload_preview", "offload_above"))

# The settings that may be None, whatever a preset says, and what else they are.
_OPTIONAL: dict[str, Callable[[str], Any]] = {"escalate": float, "max_messages": int}

# Characters of a variable that an error repeats.
_LONGEST_VALUE = 100


def policy_from_env(prefix: str, environ: Mapping[str, str] | None = None) -> Policy:
    """See ``Policy.from_env``."""
    environ = os.environ if environ is None else environ
    preset = environ.get(prefix + "PRESET") or (
        "cyber-autoagent" if prefix == _CYBER else "default"
    )
    ground = _read(prefix + "PRESET", preset, Policy.preset).to_dict()
    own = {setting.upper(): ((setting,), _reader(setting, now)) for setting, now in ground.items()}
    given: dict[str, Any] = {}
    # The variable that each setting comes from, and its text.
    sources: dict[str, tuple[str, str]] = {}
    for name, (targets, read) in (*_NAMED.items(), *own.items()):
        if text := environ.get(prefix + name, "").strip():
            given.update(dict.fromkeys(targets, _read(prefix + name, text, read)))
            sources.update(dict.fromkeys(targets, (prefix + name, text)))
    firm = {setting for setting in given if sources[setting][0] != prefix + _CLAMPED}
    try:
        return Policy.from_dict(_agreeing(ground, given, firm))
    except PolicyError as error:
        # It begins with the setting.
        source = sources.get(str(error).partition(":")[0])
        if source is not None:
            raise _unreadable(*source, error) from error
        # A setting of the preset that does not go with one of a variable.
        names = ", ".join(dict.fromkeys(name for name, _ in sources.values()))
        raise PolicyError(f"{error} (variables that are set: {names})") from error


def _agreeing(ground: dict[str, Any], given: dict[str, Any], firm: set[str]) -> dict[str, Any]:
    """The settings, of which those that are not firm give way where two contradict each other."""
    settings = {**ground, **given}
    for smaller, larger in _BOUNDED:
        if smaller not in firm and settings[smaller] > settings[larger]:
            settings[smaller] = settings[larger]
    if "compress_to" in given and "compress_to" not in firm:
        # One variable gives both.
        settings["compress_to"] = min(settings["compress_to"], settings["shrink_above"])
    if "low" not in firm and settings["low"] > settings["high"]:
        # At the high mark itself, every turn would compact.
        settings["low"] = settings["high"] * (ground["low"] / ground["high"])
    return settings


def _reader(setting: str, now: Any) -> Callable[[str], Any]:
    """How the text of a setting is read, by what it is now."""
    if setting in _OPTIONAL:
        return _optional(_OPTIONAL[setting])
    if isinstance(now, (int, float)):
        return type(now)
    if isinstance(now, str):
        return str
    return _json


def _json(text: str) -> Any:
    value = json.loads(text)
    _refuse_booleans(value)
    return value


def _refuse_booleans(value: Any) -> None:
    """Python takes them for numbers."""
    if isinstance(value, bool):
        raise ValueError(f"it holds {json.dumps(value)}; no setting is true or false")  # noqa: TRY004
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            _refuse_booleans(part)


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except (ValueError, OverflowError, RecursionError, PolicyError) as error:
        raise _unreadable(name, text, error) from error


def _unreadable(name: str, text: str, error: Exception) -> PolicyError:
    shown = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
    return PolicyError(f"the variable {name} is {shown!r}: {error}")
