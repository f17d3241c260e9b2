"""ullage in Strands Agents: a conversation manager and a hook, one line each.

    agent = Agent(
        conversation_manager=MappingConversationManager(engine=engine),
        hooks=[ToolRouterHook(engine=engine)],
    )

Needs ``strands-agents`` (the extra ``ullage[strands]``).
"""

from ullage.strands.conversation import MappingConversationManager
from ullage.strands.router import ToolRouterHook

__all__ = ["MappingConversationManager", "ToolRouterHook"]
