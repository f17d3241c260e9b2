"""ullage in Strands Agents: a conversation manager, a hook and a tool, one line each.

    agent = Agent(
        tools=[*tools, retrieval_tool(store)],
        conversation_manager=MappingConversationManager(engine=engine),
        hooks=[ToolRouterHook(engine=engine)],
    )

Needs ``strands-agents`` (the extra ``ullage[strands]``).
"""

from ullage.strands.conversation import MappingConversationManager
from ullage.strands.plugin import ContextPlugin
from ullage.strands.retrieval import retrieval_tool
from ullage.strands.router import ToolRouterHook
from ullage.strands.strategy import EngineStrategy

__all__ = [
    "ContextPlugin",
    "EngineStrategy",
    "MappingConversationManager",
    "ToolRouterHook",
    "retrieval_tool",
]
