"""ullage in Google's Agent Development Kit.

    agent = LlmAgent(tools=[retrieval_tool(store), ...], ...)

Needs ``google-adk`` (the extra ``ullage[adk]``).
"""

from ullage.adk.analysis import analysis_tool
from ullage.adk.payload_limits import PayloadLimits
from ullage.adk.payloads import LargePayloadHandler
from ullage.adk.retrieval import retrieval_tool
from ullage.adk.sandbox import Sandbox, SandboxError
from ullage.adk.summarizer import EventsSummarizer
from ullage.adk.summary_text import SummarySettings

__all__ = [
    "EventsSummarizer",
    "LargePayloadHandler",
    "PayloadLimits",
    "Sandbox",
    "SandboxError",
    "SummarySettings",
    "analysis_tool",
    "retrieval_tool",
]
