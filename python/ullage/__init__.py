"""A context engine for LLM agents.

It keeps a conversation inside its token budget, always valid for the provider, losing as little as
possible, with everything recoverable. The decisions are made in Rust; this package gives them the
shape that a host calls.

    >>> import ullage
    >>> engine = ullage.ContextManager(store=ullage.MemoryStore())
    >>> messages = [{"role": "user", "content": [{"text": "What is in this folder?"}]}]
    >>> engine.compact(messages).tokens_before
    14

Importing ullage imports no host; ``ullage.strands`` and ``ullage.adk`` do.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ullage._core import (
    BudgetError,
    Conversation,
    FileStore,
    MemoryStore,
    MessageError,
    MessagesChangedError,
    Plan,
    Policy,
    PolicyError,
    ReferenceTakenError,
    StoreError,
    SummaryError,
    TokenCounter,
    ToolCall,
    ToolResult,
    UllageError,
    __version__,
    count_tokens,
    detect_format,
    tool_outcome,
)

if TYPE_CHECKING:
    from ullage.ahead import BackgroundSummary
    from ullage.compression import Compressed, CompressionMetadata, LeftOut, compress
    from ullage.economics import Economics, PlanCost
    from ullage.manager import ContextManager
    from ullage.models import ModelCatalog, ModelLimits, model_limits
    from ullage.prices import Prices
    from ullage.recorder import Recorder
    from ullage.report import Report, StageReport, Stats, Status, SummaryReport
    from ullage.retrieval import aretrieve, asearch, retrieve, search
    from ullage.spent import Usage
    from ullage.store import FullStore, Store
    from ullage.summarizer import SummaryRequest
    from ullage.summary import Summary
    from ullage.tools import RetrievalTool
    from ullage.transcript import Transcript
    from ullage.usage import UsageTracker
    from ullage.validity import Repair, Repaired, Violation, repair, validate
    from ullage.view import View

__all__ = [
    "BackgroundSummary",
    "BudgetError",
    "Compressed",
    "CompressionMetadata",
    "ContextManager",
    "Conversation",
    "Economics",
    "FileStore",
    "FullStore",
    "LeftOut",
    "MemoryStore",
    "MessageError",
    "MessagesChangedError",
    "ModelCatalog",
    "ModelLimits",
    "Plan",
    "PlanCost",
    "Policy",
    "PolicyError",
    "Prices",
    "Recorder",
    "ReferenceTakenError",
    "Repair",
    "Repaired",
    "Report",
    "RetrievalTool",
    "StageReport",
    "Stats",
    "Status",
    "Store",
    "StoreError",
    "Summary",
    "SummaryError",
    "SummaryReport",
    "SummaryRequest",
    "TokenCounter",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "UllageError",
    "Usage",
    "UsageTracker",
    "View",
    "Violation",
    "__version__",
    "aretrieve",
    "asearch",
    "compress",
    "count_tokens",
    "detect_format",
    "model_limits",
    "repair",
    "retrieve",
    "search",
    "tool_outcome",
    "validate",
]

# Where the names are that are imported when they are first asked for: a program that only counts
# does not wait for the rest.
_PLACES = {
    "ahead": ("BackgroundSummary",),
    "compression": ("Compressed", "CompressionMetadata", "LeftOut", "compress"),
    "economics": ("Economics", "PlanCost"),
    "manager": ("ContextManager",),
    "models": ("ModelCatalog", "ModelLimits", "model_limits"),
    "prices": ("Prices",),
    "recorder": ("Recorder",),
    "report": ("Report", "StageReport", "Stats", "Status", "SummaryReport"),
    "retrieval": ("aretrieve", "asearch", "retrieve", "search"),
    "spent": ("Usage",),
    "store": ("FullStore", "Store"),
    "summarizer": ("SummaryRequest",),
    "summary": ("Summary",),
    "tools": ("RetrievalTool",),
    "transcript": ("Transcript",),
    "usage": ("UsageTracker",),
    "validity": ("Repair", "Repaired", "Violation", "repair", "validate"),
    "view": ("View",),
}
_HOMES = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"ullage.{_HOMES[name]}"), name)
    elif name in _PLACES:
        value = import_module(f"ullage.{name}")
    else:
        raise AttributeError(f"module 'ullage' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
