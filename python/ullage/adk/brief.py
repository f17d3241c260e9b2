"""Results in a few words, whatever they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

# Characters of a piece of a line.
PIECE = 160

# Examples in a line.
EXAMPLES = 2

# Fields that say what a result comes to, whatever the tool: the most telling first.
_TELLING = (
    "error",
    "root_cause",
    "primary_root_cause",
    "root_cause_hypothesis",
    "bottleneck",
    "anomalies",
    "status",
    "summary",
    "message",
    "conclusion",
    "severity",
    "total",
    "total_count",
    "count",
    "span_count",
    "error_count",
    "error_rate",
    "error_rate_pct",
    "total_duration_ms",
    "duration_ms",
    "latency_ms",
    "p50",
    "p95",
    "p99",
    "p95_ms",
    "p99_ms",
)
_NAMED = 5

# What a status says that says nothing but that there is a result.
_FINE = frozenset({"success", "ok"})

# Frames around a result: an envelope of the tool's, MCP's, ADK's, and JSON in a text.
_MOST_FRAMES = 6


def frames(response: Any, longest: int | None = None) -> Iterator[Any]:
    """A result, and what is in each frame around it: the outermost first.

    Args:
        response: The result.
        longest: Characters of a text that is read as JSON; no limit if not given.
    """
    for _ in range(_MOST_FRAMES):
        response = plain(response)
        yield response
        if isinstance(response, str) and longest is not None and len(response) > longest:
            return
        inner = _inside(response)
        if inner is None:
            return
        response = inner


def plain(response: Any) -> Any:
    """An object with fields, as tools return that declare a model of pydantic's, as a dict."""
    dump = getattr(response, "model_dump", None)
    if callable(dump) and not isinstance(response, type):
        with suppress(Exception):
            return dump(mode="json")
    return response


def _inside(response: Any) -> Any:
    if isinstance(response, str):
        if not response.lstrip().startswith(("{", "[")):
            return None
        with suppress(ValueError, RecursionError):
            return json.loads(response)
        return None
    if not isinstance(response, Mapping):
        return None
    inner = response.get("result")
    if inner is None and isinstance(response.get("content"), (list, tuple)):
        texts = [part.get("text") for part in response["content"] if isinstance(part, Mapping)]
        inner = texts[0] if len(texts) == 1 else None
    if hasattr(inner, "model_dump"):
        return inner
    # A list is what the result consists of, and no frame.
    is_frame = isinstance(inner, Mapping) or (
        isinstance(inner, str) and inner.lstrip().startswith(("{", "["))
    )
    return inner if is_frame else None


def unwrapped(response: Any) -> Any:
    """A result without what only frames it: a text that is JSON is read."""
    for one in frames(response):
        response = one
        if isinstance(one, Mapping) and set(one) != {"result"} and "content" not in one:
            break
    return response


def fields(response: Any) -> Mapping[str, Any]:
    """The fields of a result, also of one in a frame: what is outside wins."""
    known: dict[str, Any] = {}
    for frame in frames(response):
        if isinstance(frame, Mapping):
            for key, value in frame.items():
                known.setdefault(str(key), value)
    inner = known.get("result")
    if isinstance(inner, (str, Mapping)) or hasattr(inner, "model_dump"):
        del known["result"]
    return known


def told(response: Any) -> str:
    """The telling fields of a result, or how it begins."""
    response = unwrapped(response)
    if isinstance(response, str):
        return cut(" ".join(response.split()), PIECE)
    if isinstance(response, (list, tuple)):
        return f"{len(response):,} items"
    named = fields(response)
    if not named:
        text = response.get("result") if isinstance(response, Mapping) else None
        return brief(text or response) if response else ""
    known = [(key, named[key]) for key in _TELLING if not is_none(named.get(key))]
    if all(key == "status" and str(value).lower() in _FINE for key, value in known):
        known = [(key, value) for key, value in named.items() if not is_none(value)]
    said = [f"{key}: {brief(value)}" for key, value in known[:_NAMED]]
    if all(key == "status" for key, _ in known):
        said += [f"no {key}" for key, value in named.items() if value in ([], {})]
    return ", ".join(said)


def is_none(value: Any) -> bool:
    """Whether a field says nothing."""
    return value in (None, "", [], {}) or str(value).strip().lower() in {"none", "null", "no error"}


def brief(value: Any) -> str:
    """A value of any kind in a few words."""
    if isinstance(value, str):
        return cut(" ".join(value.split()), PIECE)
    if isinstance(value, (list, tuple)) and len(value) > _NAMED:
        return f"{len(value):,} items"
    with suppress(TypeError, ValueError, RecursionError):
        return cut(json.dumps(value, ensure_ascii=False, default=str), PIECE)
    return type(value).__name__


def ranged(name: str, values: Any) -> str:
    """A range in words."""
    if not isinstance(values, Mapping) or values.get("min") is None:
        return ""
    said = f"{name} {values['min']} to {values['max']}, mean {values.get('mean')}"
    return f"{said}, p95 {values['p95']}" if "p95" in values else said


def listed(name: str, said: list[str]) -> str:
    """The first of some examples."""
    return f"{name}: {', '.join(said[:EXAMPLES])}" if said else ""


def joined(lines: list[str]) -> str:
    """What there is of the pieces of a line."""
    return "; ".join(line for line in lines if line)


def cut(text: str, longest: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
