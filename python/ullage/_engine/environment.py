"""``Policy.from_env``: settings from environment variables."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError, policy_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Cyber-AutoAgent's sizes are characters; its own ratio converts them to tokens.
_CHARACTERS_PER_TOKEN = 3.7


def _tokens(text: str) -> int:
    return max(1, round(int(text) / _CHARACTERS_PER_TOKEN))


def _number_between(least: float, most: float) -> Callable[[str], float]:
    return lambda text: min(max(float(text), least), most)


def _optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: None if text.lower() in _NONE else read(text)


# Values that stand for None.
_NONE = ("none", "null")

# The variables of Cyber-AutoAgent's document, with its bounds, and their settings.
_NAMED: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "CONTEXT_LIMIT": (("window",), int),
    "PROMPT_TELEMETRY_THRESHOLD": (("high",), _number_between(0.1, 0.95)),
    "PROMPT_CACHE_RELAX": (("cache_relax",), _number_between(0.0, 0.3)),
    "TOOL_COMPRESS_TRUNCATE": (("shrink_to", "compress_to"), _tokens),
    "TOOL_RESULT_ARTIFACT_THRESHOLD": (("shrink_above", "offload_above"), _tokens),
    "CONVERSATION_WINDOW": (("max_messages",), _optional(int)),
    "CONVERSATION_PRESERVE_FIRST": (("keep_first",), int),
    "CONVERSATION_PRESERVE_LAST": (("keep_recent",), int),
}

# The prefix whose variables are Cyber-AutoAgent's.
_CYBER = "CYBER_"

# A shortened size above the threshold is not an error: texts up to it stay whole.
_CLAMPED = "TOOL_COMPRESS_TRUNCATE"

# A shortened text can be no larger than the size above which texts are shortened.
_BOUNDED = (("shrink_to", "shrink_above"), ("offload_preview", "offload_above"))

# The settings that may be None in any preset, and their other type.
_OPTIONAL: dict[str, Callable[[str], Any]] = {"escalate": float, "max_messages": int}


def policy_from_env(prefix: str, environ: Mapping[str, str] | None = None) -> Policy:
    """See ``Policy.from_env``."""
    environ = os.environ if environ is None else environ
    preset = environ.get(prefix + "PRESET") or (
        "cyber-autoagent" if prefix == _CYBER else "default"
    )
    try:
        policy = Policy.preset(preset)
    except PolicyError as error:
        problems = [(prefix + "PRESET", problem) for _, problem in error.problems]
        raise policy_error(problems) from None
    ground = policy.to_dict()
    own = {setting.upper(): ((setting,), _reader(setting, now)) for setting, now in ground.items()}
    given: dict[str, Any] = {}
    # The variable that each setting comes from.
    sources: dict[str, str] = {}
    for name, (targets, read) in (*_NAMED.items(), *own.items()):
        if text := environ.get(prefix + name, "").strip():
            given.update(dict.fromkeys(targets, _read(text, read)))
            sources.update(dict.fromkeys(targets, prefix + name))
    firm = {setting for setting in given if sources[setting] != prefix + _CLAMPED}
    try:
        return policy.replace(**_resolve_conflicts(ground, given, firm))
    except PolicyError as error:
        raise policy_error(_problems_by_variable(error.problems, sources)) from None


def _resolve_conflicts(
    ground: dict[str, Any], given: dict[str, Any], firm: set[str]
) -> dict[str, Any]:
    """Returns the settings. If two contradict each other, the one that was not set adapts."""
    settings = {**ground, **given}

    def is_above(one: str, other: str) -> bool:
        pair = (settings[one], settings[other])
        # Content that is not a list of messages is still text.
        return not any(isinstance(value, str) for value in pair) and pair[0] > pair[1]

    for smaller, larger in _BOUNDED:
        if smaller not in firm and is_above(smaller, larger):
            settings[smaller] = settings[larger]
    if (
        "compress_to" not in firm
        and "compress_to" in given
        and is_above("compress_to", "shrink_above")
    ):
        # One variable gives both.
        settings["compress_to"] = settings["shrink_above"]
    if "low" not in firm and is_above("low", "high"):
        # At the high mark itself, every turn would compact.
        settings["low"] = settings["high"] * (ground["low"] / ground["high"])
    # Settings that were not given follow the policy's defaults beside the given ones.
    return {
        name: value for name, value in settings.items() if name in given or value != ground[name]
    }


def _problems_by_variable(
    problems: Iterable[tuple[str, str]], sources: dict[str, str]
) -> list[tuple[str, str]]:
    """Returns the problems by variable; once if a variable gives several settings."""
    names = ", ".join(dict.fromkeys(sources.values()))
    named = {}
    for path, problem in problems:
        setting, at, rest = path.partition("[")
        if setting in sources:
            named[sources[setting] + at + rest] = problem
        else:
            # A setting of the preset that contradicts one of a variable.
            named[path] = f"{problem} (variables that are set: {names})"
    return list(named.items())


def _reader(setting: str, now: Any) -> Callable[[str], Any]:
    """Returns the parser of a setting, by the type of its current value."""
    if setting in _OPTIONAL:
        return _optional(_OPTIONAL[setting])
    if isinstance(now, (int, float)):
        return type(now)
    if isinstance(now, str):
        return str
    return json.loads


def _read(text: str, read: Callable[[str], Any]) -> Any:
    """Returns the value; if it cannot be read, the text itself, which the policy refuses."""
    try:
        return read(text)
    except (ValueError, OverflowError, RecursionError):
        return text
