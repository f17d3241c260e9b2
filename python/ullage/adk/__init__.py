"""ullage in Google's Agent Development Kit: a plugin, callbacks, and retrieval as a tool.

    app = App(name="sre", root_agent=agent, plugins=[ContextPlugin()])
    agent = LlmAgent(tools=[retrieval_tool(store), ...], ...)

Needs ``google-adk`` (the extra ``ullage[adk]``).
"""

from ullage.adk.callbacks import ContextCallbacks
from ullage.adk.conversations import session_key
from ullage.adk.engines import sre_agent
from ullage.adk.guard import Guard
from ullage.adk.plugin import ContextPlugin
from ullage.adk.retrieval import retrieval_tool

__all__ = [
    "ContextCallbacks",
    "ContextPlugin",
    "Guard",
    "retrieval_tool",
    "session_key",
    "sre_agent",
]
