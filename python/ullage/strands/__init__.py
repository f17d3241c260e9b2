"""ullage in Strands Agents: conversation managers, hooks and tools, one line each.

    agent = Agent(
        tools=[*tools, retrieval_tool(store)],
        conversation_manager=MappingConversationManager(store=store),
        hooks=[ToolRouterHook(store=store)],
    )

The cascade of Cyber-AutoAgent is here under its own names, see ``docs/strands.md``.

Needs ``strands-agents`` (the extra ``ullage[strands]``).
"""

from ullage.compression import CompressionMetadata
from ullage.strands.agents import is_prompt_cached, supports_prompt_cache, system_prompt_for
from ullage.strands.budget import (
    PromptBudgetHook,
    _ensure_prompt_within_budget,
    _strip_reasoning_content,
    clear_shared_conversation_manager,
    get_shared_conversation_manager,
    register_conversation_manager,
)
from ullage.strands.conversation import MappingConversationManager
from ullage.strands.drop_in import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from ullage.strands.engines import retrieval_tool
from ullage.strands.estimate import _estimate_prompt_tokens
from ullage.strands.mapper import LargeToolResultMapper
from ullage.strands.plugin import ContextPlugin, ContextView, EngineStrategy
from ullage.strands.router import ToolRouterHook
from ullage.strands.settings import (
    CONTEXT_LIMIT,
    DEFAULT_CHAR_TO_TOKEN_RATIO,
    ESCALATION_MAX_PASSES,
    ESCALATION_MAX_TIME_SECONDS,
    ESCALATION_THRESHOLD_RATIO,
    MAX_THRESHOLD_RATIO,
    MESSAGE_METADATA_OVERHEAD_TOKENS,
    NO_REDUCTION_WARNING_RATIO,
    PROACTIVE_COMPRESSION_THRESHOLD,
    PROMPT_CACHE_RELAX,
    PROMPT_TELEMETRY_THRESHOLD,
    PROMPT_TOKEN_FALLBACK_LIMIT,
    SMALL_CONVERSATION_THRESHOLD,
    SYSTEM_PROMPT_OVERHEAD_TOKENS,
    TOOL_COMPRESS_THRESHOLD,
    TOOL_COMPRESS_TRUNCATE,
    TOOL_DEFINITIONS_OVERHEAD_TOKENS,
    WINDOW_OVERFLOW_THRESHOLD,
    CascadeSettings,
)

__all__ = [
    "CONTEXT_LIMIT",
    "DEFAULT_CHAR_TO_TOKEN_RATIO",
    "ESCALATION_MAX_PASSES",
    "ESCALATION_MAX_TIME_SECONDS",
    "ESCALATION_THRESHOLD_RATIO",
    "MAX_THRESHOLD_RATIO",
    "MESSAGE_METADATA_OVERHEAD_TOKENS",
    "NO_REDUCTION_WARNING_RATIO",
    "PROACTIVE_COMPRESSION_THRESHOLD",
    "PROMPT_CACHE_RELAX",
    "PROMPT_TELEMETRY_THRESHOLD",
    "PROMPT_TOKEN_FALLBACK_LIMIT",
    "SMALL_CONVERSATION_THRESHOLD",
    "SYSTEM_PROMPT_OVERHEAD_TOKENS",
    "TOOL_COMPRESS_THRESHOLD",
    "TOOL_COMPRESS_TRUNCATE",
    "TOOL_DEFINITIONS_OVERHEAD_TOKENS",
    "WINDOW_OVERFLOW_THRESHOLD",
    "CascadeSettings",
    "CompressionMetadata",
    "ContextPlugin",
    "ContextView",
    "EngineStrategy",
    "LargeToolResultMapper",
    "MappingConversationManager",
    "PromptBudgetHook",
    "SlidingWindowConversationManager",
    "SummarizingConversationManager",
    "ToolRouterHook",
    "_ensure_prompt_within_budget",
    "_estimate_prompt_tokens",
    "_strip_reasoning_content",
    "clear_shared_conversation_manager",
    "get_shared_conversation_manager",
    "is_prompt_cached",
    "register_conversation_manager",
    "retrieval_tool",
    "supports_prompt_cache",
    "system_prompt_for",
]
