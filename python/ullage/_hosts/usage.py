"""Reads what hosts report of the usage of a request."""

from __future__ import annotations

from functools import reduce
from typing import Any

_INPUT = ("prompt_tokens", "input_tokens", "input_token_count")
_CACHED = (
    # OpenAI's Chat Completions and Responses
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    # LangChain, Pydantic AI and Agent Framework
    "input_token_details.cache_read",
    "cache_read_tokens",
    "cache_read_input_token_count",
)


def field_of(value: Any, name: str) -> Any:
    """Returns a value of a dict or an object; None if it is not there."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def input_tokens(usage: Any) -> tuple[int | None, int | None]:
    """Returns the input tokens, and those of them that were cached; None if not reported.

    Args:
        usage: A dict or an object, with the names of any host.
    """
    tokens, cached = _first(usage, _INPUT), _first(usage, _CACHED)
    read = field_of(usage, "cache_read_input_tokens")
    if cached is None and tokens is not None and isinstance(read, int):
        # Anthropic counts only the other tokens as input.
        return tokens + read + (field_of(usage, "cache_creation_input_tokens") or 0), read
    return tokens, cached


def _first(usage: Any, paths: tuple[str, ...]) -> int | None:
    values = (reduce(field_of, path.split("."), usage) for path in paths)
    return next((value for value in values if isinstance(value, int)), None)
