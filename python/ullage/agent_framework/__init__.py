"""ullage in Microsoft's Agent Framework.

    agent = Agent(client=client, tools=tools, middleware=[ContextMiddleware(engine)])

Needs ``agent-framework-core`` (the extra ``ullage[agent-framework]``). See
``docs/agent-framework.md``.
"""

from ullage.agent_framework.compaction import EngineStrategy, EngineTokenizer
from ullage.agent_framework.middleware import (
    ContextMiddleware,
    ShortenMiddleware,
    retrieval_tool,
)

__all__ = [
    "ContextMiddleware",
    "EngineStrategy",
    "EngineTokenizer",
    "ShortenMiddleware",
    "retrieval_tool",
]
