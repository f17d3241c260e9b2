"""A context engine for LLM agents.

It keeps a conversation inside its token budget and valid for its provider. It loses as little as
possible, and removed content can be read back. The decisions are made in Rust. This package has the
classes that a host calls.

    >>> import ullage
    >>> engine = ullage.ContextManager(store=ullage.MemoryStore())
    >>> messages = [{"role": "user", "content": [{"text": "What is in this folder?"}]}]
    >>> engine.compact(messages).tokens_before
    14

Importing ``ullage`` imports no host. ``ullage.strands`` and ``ullage.adk`` import theirs.
"""

import os
from importlib import import_module
from sys import modules
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
    from ullage._engine.background import BackgroundSummary
    from ullage._engine.summarizer import SummaryRequest
    from ullage._engine.warning import UllageWarning
    from ullage.compression import Compressed, CompressionMetadata, LeftOut, compress
    from ullage.manager import ContextManager
    from ullage.models.catalog import ModelCatalog, ModelLimits, model_limits
    from ullage.one_call import Compacted, acompact, compact
    from ullage.overflow import is_overflow
    from ullage.report.recorder import Recorder
    from ullage.report.reports import Report, StageReport, Stats, Status, SummaryReport
    from ullage.stores.protocol import FullStore, Store
    from ullage.stores.retrieval import aretrieve, asearch, retrieve, search
    from ullage.stores.tools import RetrievalTool
    from ullage.stores.transcript import Transcript
    from ullage.summary import Summary
    from ullage.usage.economics import Economics, PlanCost
    from ullage.usage.prices import Prices
    from ullage.usage.savings import Savings
    from ullage.usage.tokens import Usage
    from ullage.usage.tracker import UsageTracker
    from ullage.validity import Repair, Repaired, Violation, repair, validate
    from ullage.view import View

__all__ = [
    "BackgroundSummary",
    "BudgetError",
    "Compacted",
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
    "Savings",
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
    "UllageWarning",
    "Usage",
    "UsageTracker",
    "View",
    "Violation",
    "__version__",
    "acompact",
    "aretrieve",
    "asearch",
    "compact",
    "compress",
    "count_tokens",
    "detect_format",
    "is_overflow",
    "model_limits",
    "repair",
    "retrieve",
    "search",
    "tool_outcome",
    "validate",
]

# Names that are imported on first use, so that a program that only counts does not load the rest.
_PLACES = {
    "_engine.background": ("BackgroundSummary",),
    "compression": ("Compressed", "CompressionMetadata", "LeftOut", "compress"),
    "usage.economics": ("Economics", "PlanCost"),
    "usage.savings": ("Savings",),
    "manager": ("ContextManager",),
    "models.catalog": ("ModelCatalog", "ModelLimits", "model_limits"),
    "one_call": ("Compacted", "acompact", "compact"),
    "overflow": ("is_overflow",),
    "usage.prices": ("Prices",),
    "report.recorder": ("Recorder",),
    "report.reports": ("Report", "StageReport", "Stats", "Status", "SummaryReport"),
    "stores.retrieval": ("aretrieve", "asearch", "retrieve", "search"),
    "usage.tokens": ("Usage",),
    "stores.protocol": ("FullStore", "Store"),
    "_engine.summarizer": ("SummaryRequest",),
    "_engine.warning": ("UllageWarning",),
    "summary": ("Summary",),
    "stores.tools": ("RetrievalTool",),
    "stores.transcript": ("Transcript",),
    "usage.tracker": ("UsageTracker",),
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
        # With both, Python suggests the nearest name.
        module = modules[__name__]
        raise AttributeError(f"module 'ullage' has no attribute '{name}'", name=name, obj=module)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _import_all() -> None:
    """Imports the modules of all names.

    A child of a fork would wait for ever for a module that another thread was importing.
    """
    late: list[Any] = []
    register = os.register_at_fork

    def noted(**hooks: Any) -> None:
        register(**hooks)
        late.append(hooks.get("before"))

    os.register_at_fork = noted
    try:
        for module in _PLACES:
            import_module(f"ullage.{module}")
    finally:
        os.register_at_fork = register
    # Hooks that are registered during a fork, as logging does, run after it, but not before.
    for before in filter(None, late):
        before()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_import_all)
