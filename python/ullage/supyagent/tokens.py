"""Counting tokens and looking up windows under Supyagent's names.

Supyagent counts every model in ``cl100k_base``; here each is counted by its own family, so a
Japanese text for GPT-4o no longer counts a third too much. Texts of special tokens, such as
``<|endoftext|>``, are ordinary text, and no vocabulary is fetched.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage import ModelCatalog
from ullage._engine.counting import count_messages, counter_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage import TokenCounter

# The public encodings, by what an id holds; the first that matches counts. Claude's and Gemini's
# tokenizers are not public: for them the name is what Supyagent took, and the counts are estimates.
MODEL_ENCODINGS = {
    "gpt-4o": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-5": "o200k_base",
    "gpt-4": "cl100k_base",
    "gpt-3.5": "cl100k_base",
    "claude": "cl100k_base",
    "default": "cl100k_base",
}

# Supyagent's windows, by what an id holds, for models that no table knows.
CONTEXT_LIMITS = {
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-3.5-turbo": 16_384,
    "claude-3-5-sonnet": 200_000,
    "claude-3-opus": 200_000,
    "claude-3-haiku": 200_000,
    "claude-4": 200_000,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "gemini-1.5": 1_048_576,
    "gemini-pro": 32_768,
    "llama": 128_000,
    "mistral": 128_000,
    "qwen": 128_000,
    "kimi": 128_000,
    "deepseek": 64_000,
    "default": 128_000,
}

DEFAULT_MODEL = "default"
# Supyagent adds this to the messages of a request.
CONVERSATION_TOKENS = 3
# The format of Supyagent's messages.
FORMAT = "openai"
_CATALOG = ModelCatalog(litellm="auto")


def _matching(table: Mapping[str, Any], model: str) -> Any:
    matches = (value for name, value in table.items() if name in model.lower())
    return next(matches, table["default"])


def counter_of(model: str = DEFAULT_MODEL) -> TokenCounter:
    """Returns the counter for a model. All callers share it and its memory."""
    return counter_for(MODEL_ENCODINGS["default"] if model == DEFAULT_MODEL else model)


def get_encoding(model: str = DEFAULT_MODEL) -> TokenCounter:
    """The public encoding that comes nearest to a model: a counter with a ``name``."""
    return counter_for(_matching(MODEL_ENCODINGS, model))


def count_tokens(text: str, model: str = DEFAULT_MODEL) -> int:
    """Tokens of a text, as :meth:`TokenCounter.for_model` counts them. O(length)."""
    return counter_of(model).count(text) if text else 0


def count_message_tokens(message: Mapping[str, Any], model: str = DEFAULT_MODEL) -> int:
    """Tokens of a message and its frame; pictures count by their size."""
    return count_messages(counter_of(model), [message], FORMAT)


def count_messages_tokens(messages: Iterable[Mapping[str, Any]], model: str = DEFAULT_MODEL) -> int:
    """Tokens of the messages of a request."""
    return count_messages(counter_of(model), list(messages), FORMAT) + CONVERSATION_TOKENS


def count_tools_tokens(tools: list[dict[str, Any]] | None, model: str = DEFAULT_MODEL) -> int:
    """Tokens of tool definitions, as JSON."""
    return count_tokens(json.dumps(tools, default=str), model) if tools else 0


def get_context_limit(model: str) -> int:
    """The most that a request to a model may take.

    By litellm's table where litellm is installed, else by the built-in one; for models that neither
    knows by ``CONTEXT_LIMITS``, 128,000 at the end.
    """
    limits = _CATALOG.limits(model)
    if limits.source == "default":
        return int(_matching(CONTEXT_LIMITS, model))
    return limits.max_input
