"""ullage in Pydantic AI.

    agent = Agent("openai:gpt-5-mini", capabilities=[ContextCapability()])

Needs ``pydantic-ai-slim`` (the extra ``ullage[pydantic-ai]``). See ``docs/pydantic-ai.md``.
"""

from ullage.pydantic_ai.capability import ContextCapability
from ullage.pydantic_ai.model import ContextModel, history_processor

__all__ = ["ContextCapability", "ContextModel", "history_processor"]
