"""ullage in Google's Agent Development Kit.

    agent = LlmAgent(tools=[retrieval_tool(store), ...], ...)

Needs ``google-adk`` (the extra ``ullage[adk]``).
"""

from ullage.adk.analysis import analysis_tool
from ullage.adk.compactor import ContextCompactor
from ullage.adk.event_summary import EventSummary, Summarizer
from ullage.adk.payload_limits import PayloadLimits
from ullage.adk.payloads import LargePayloadHandler
from ullage.adk.retrieval import retrieval_tool
from ullage.adk.sandbox import Sandbox, SandboxError
from ullage.adk.session_compactor import SessionCompactor
from ullage.adk.summarizer import EventsSummarizer
from ullage.adk.summary_text import SummarySettings
from ullage.adk.working_context import CompactionConfig, SessionSummary, WorkingContext

__all__ = [
    "CompactionConfig",
    "ContextCompactor",
    "EventSummary",
    "EventsSummarizer",
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
    "retrieval_tool",
]
