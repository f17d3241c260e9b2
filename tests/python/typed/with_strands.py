"""A user's program: every name of ``ullage.strands``, as one would write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.models import BedrockModel
from typing_extensions import assert_type

import ullage
import ullage.strands as adapter
from ullage.strands import (
    CascadeSettings,
    CompressionMetadata,
    ContextPlugin,
    ContextView,
    EngineStrategy,
    LargeToolResultMapper,
    MappingConversationManager,
    PromptBudgetHook,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
    ToolRouterHook,
    retrieval_tool,
)


@tool
def shell(command: str) -> str:
    """Runs a command."""
    return command


def with_an_engine(engine: ullage.ContextManager, store: ullage.Store) -> list[Agent]:
    model = BedrockModel(model_id="us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    return [
        Agent(model=model, plugins=[ContextPlugin(engine, max_retries=3, shrink=False)]),
        Agent(model=model, plugins=[ContextView(engine=engine, retrieval=False)]),
        Agent(
            model=model,
            context_manager={"strategies": [EngineStrategy(engine)], "stash": False},
        ),
        Agent(
            model=model,
            tools=[shell, retrieval_tool(store, name="read_back")],
            conversation_manager=MappingConversationManager(engine=engine),
            hooks=[ToolRouterHook(shell, engine=engine)],
        ),
    ]


def with_what_makes_an_engine(policy: ullage.Policy, store: ullage.Store) -> list[Agent]:
    return [
        Agent(plugins=[ContextPlugin(policy=policy, store=store)]),
        Agent(plugins=[ContextView(model="gpt-4o", store=store)]),
        Agent(context_manager={"strategies": [EngineStrategy(policy=policy)]}),
    ]


async def ensured(agent: Any) -> None:
    adapter._ensure_prompt_within_budget(agent)


def as_the_cascade(store: ullage.FileStore) -> Agent:
    settings = CascadeSettings(context_limit=100_000)
    assert_type(settings.prompt_telemetry_threshold, float)
    manager = MappingConversationManager(
        window_size=50,
        tool_result_mapper=LargeToolResultMapper(max_tool_chars=5_000),
        store=store,
    )
    agent = Agent(
        conversation_manager=manager,
        hooks=[PromptBudgetHook(ensured), ToolRouterHook(artifacts_dir=Path("artifacts"))],
    )
    manager.reduce_context(agent)
    assert_type(manager.engine_for(agent), ullage.ContextManager)
    adapter.register_conversation_manager(manager)
    assert adapter.get_shared_conversation_manager() is manager
    adapter.clear_shared_conversation_manager()
    assert_type(adapter._estimate_prompt_tokens(agent), int)
    adapter._strip_reasoning_content(agent)
    assert_type(adapter.is_prompt_cached(agent), bool)
    return agent


def in_place_of_strands() -> list[Agent]:
    return [
        Agent(conversation_manager=SlidingWindowConversationManager(window_size=40, per_turn=True)),
        Agent(conversation_manager=SummarizingConversationManager(summary_ratio=0.5)),
    ]


def prompts(model: BedrockModel) -> None:
    assert_type(adapter.supports_prompt_cache(model), bool)
    Agent(model=model, system_prompt=adapter.system_prompt_for("Be careful.", model))
    metadata = CompressionMetadata(compressed=True, original_size=10)
    assert_type(metadata.compression_ratio, float)


def constants() -> list[float]:
    assert_type(adapter.CONTEXT_LIMIT, int)
    assert_type(adapter.PROMPT_TELEMETRY_THRESHOLD, float)
    return [
        adapter.DEFAULT_CHAR_TO_TOKEN_RATIO,
        adapter.ESCALATION_MAX_PASSES,
        adapter.ESCALATION_MAX_TIME_SECONDS,
        adapter.ESCALATION_THRESHOLD_RATIO,
        adapter.MAX_THRESHOLD_RATIO,
        adapter.MESSAGE_METADATA_OVERHEAD_TOKENS,
        adapter.NO_REDUCTION_WARNING_RATIO,
        adapter.PROACTIVE_COMPRESSION_THRESHOLD,
        adapter.PROMPT_CACHE_RELAX,
        adapter.PROMPT_TOKEN_FALLBACK_LIMIT,
        adapter.SMALL_CONVERSATION_THRESHOLD,
        adapter.SYSTEM_PROMPT_OVERHEAD_TOKENS,
        adapter.TOOL_COMPRESS_THRESHOLD,
        adapter.TOOL_COMPRESS_TRUNCATE,
        adapter.TOOL_DEFINITIONS_OVERHEAD_TOKENS,
        adapter.WINDOW_OVERFLOW_THRESHOLD,
    ]
