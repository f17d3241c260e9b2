"""ullage in Google's Agent Development Kit: plugins, callbacks, compaction, large results, tools.

    app = App(name="sre", root_agent=agent, plugins=[ContextPlugin()])
    agent = LlmAgent(tools=[retrieval_tool(store), ...], ...)

Needs ``google-adk`` (the extra ``ullage[adk]``).
"""

from ullage.adk.compactor import (
    CompactionConfig,
    ContextCompactor,
    SessionSummary,
    WorkingContext,
    get_context_compactor,
)
from ullage.adk.context_filter import ContextFilterPlugin
from ullage.adk.conversations import session_key
from ullage.adk.event_lines import EventSummary, Summarizer
from ullage.adk.guard import Guard
from ullage.adk.payload_limits import PayloadLimits
from ullage.adk.payloads import LargePayloadHandler
from ullage.adk.plugin import ContextCallbacks, ContextPlugin
from ullage.adk.retrieval import retrieval_tool
from ullage.adk.sandbox import Sandbox, SandboxError, analysis_tool
from ullage.adk.session_compactor import SessionCompactor
from ullage.adk.sre_agent import sre_agent
from ullage.adk.summarizer import EventsSummarizer, SummarySettings

__all__ = [
    "CompactionConfig",
    "ContextCallbacks",
    "ContextCompactor",
    "ContextFilterPlugin",
    "ContextPlugin",
    "EventSummary",
    "EventsSummarizer",
    "Guard",
    "LargePayloadHandler",
    "PayloadLimits",
    "Sandbox",
    "SandboxError",
    "SessionCompactor",
    "SessionSummary",
    "Summarizer",
    "SummarySettings",
    "WorkingContext",
    "analysis_tool",
    "get_context_compactor",
    "retrieval_tool",
    "session_key",
    "sre_agent",
]
