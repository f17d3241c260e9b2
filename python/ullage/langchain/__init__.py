"""ullage in LangChain agents, LangGraph and deepagents.

    agent = create_agent(model, tools, middleware=[ContextMiddleware()])

Needs ``langchain`` (the extra ``ullage[langchain]``). See ``docs/langchain.md``.
"""

from ullage.langchain.edit import EngineEdit, token_counter
from ullage.langchain.middleware import ContextMiddleware

__all__ = ["ContextMiddleware", "EngineEdit", "token_counter"]
