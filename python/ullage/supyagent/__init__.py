"""Supyagent's context management: the host keeps the whole history, and each request fits.

The classes and functions have Supyagent's names, so a host only has to change its imports.
"""

from ullage.supyagent.manager import ContextManager
from ullage.supyagent.settings import ContextSettings
from ullage.supyagent.status import ContextStatus
from ullage.supyagent.summary import ContextSummary
from ullage.supyagent.tokens import (
    CONTEXT_LIMITS,
    MODEL_ENCODINGS,
    count_message_tokens,
    count_messages_tokens,
    count_tokens,
    count_tools_tokens,
    get_context_limit,
    get_encoding,
)

__all__ = [
    "CONTEXT_LIMITS",
    "MODEL_ENCODINGS",
    "ContextManager",
    "ContextSettings",
    "ContextStatus",
    "ContextSummary",
    "count_message_tokens",
    "count_messages_tokens",
    "count_tokens",
    "count_tools_tokens",
    "get_context_limit",
    "get_encoding",
]
