"""A user's program: every name of ``ullage.adk``, as one would write it."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.adk.sessions.session import Session
from typing_extensions import assert_type

import ullage
from ullage.adk import (
    CompactionConfig,
    ContextCallbacks,
    ContextCompactor,
    ContextFilterPlugin,
    ContextPlugin,
    EventsSummarizer,
    EventSummary,
    Guard,
    LargePayloadHandler,
    PayloadLimits,
    Sandbox,
    SandboxError,
    SessionCompactor,
    SessionSummary,
    Summarizer,
    SummarySettings,
    WorkingContext,
    analysis_tool,
    get_context_compactor,
    retrieval_tool,
    session_key,
    sre_agent,
)


def list_log_entries(service: str) -> dict[str, Any]:
    """Lists log entries."""
    return {"service": service}


async def summarize(request: ullage.SummaryRequest) -> str:
    return str(request)


def engine_for(model: str) -> ullage.ContextManager:
    return ullage.ContextManager(model=model, format="gemini", append_only=True)


def apps(store: ullage.Store) -> list[App]:
    tracker = ullage.UsageTracker(budget=1_000_000)
    sandbox = Sandbox(UnsafeLocalCodeExecutor(), seconds=10)
    payloads = LargePayloadHandler(store, limits=PayloadLimits(items=100), sandbox=sandbox)
    agent = LlmAgent(
        name="sre",
        model="gemini-2.5-pro",
        tools=[
            list_log_entries,
            retrieval_tool(store),
            analysis_tool(store, sandbox),
            *payloads.tools(),
        ],
    )
    callbacks = ContextCallbacks(engine=sre_agent(store=store, summarizer=summarize))
    guarded = LlmAgent(name="guarded", model="gemini-2.5-pro", **callbacks.fields())
    compactor = ContextCompactor(
        CompactionConfig(token_budget=32_000),
        summarize,
        settings=SummarySettings(fallback="sections"),
    )
    plugins = [
        ContextFilterPlugin(num_invocations_to_keep=5),
        ContextPlugin(engine=engine_for, usage=tracker, payloads=payloads, guard=Guard(1_000)),
        SessionCompactor(compactor, store=store),
        SessionCompactor(CompactionConfig(), name="second"),
    ]
    return [
        App(name="one", root_agent=agent, plugins=[payloads, *plugins]),
        App(
            name="two",
            root_agent=guarded,
            events_compaction_config=EventsCompactionConfig(
                summarizer=EventsSummarizer("gemini-2.5-flash"),
                token_threshold=24_000,
                event_retention_size=5,
            ),
        ),
    ]


def seen(compactor: ContextCompactor, session: Session) -> int:
    context = compactor.get_working_context(session.id, session.events)
    assert_type(context, WorkingContext)
    assert_type(context.summary, SessionSummary)
    assert_type(session_key(session), str)
    dicts: list[dict[str, Any]] = [{"type": "user_message", "content": "Look."}]
    assert_type(get_context_compactor().get_working_context(session.id, dicts), WorkingContext)
    summary = Summarizer(tokens=1_000).summarize_events(session.events)
    assert_type(summary, EventSummary)
    assert_type(summary.tools_used, list[str])
    return context.total_token_estimate


def failed(error: Exception) -> bool:
    return isinstance(error, SandboxError | ullage.UllageError)
