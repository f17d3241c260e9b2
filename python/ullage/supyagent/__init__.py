"""Supyagent's context management: the whole history stays, a request holds what fits.

``ContextManager`` and the functions beside it have Supyagent's names; change the import.
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
