"""ullage in Google's Agent Development Kit: retrieval as a tool.

    agent = LlmAgent(tools=[retrieval_tool(store), ...], ...)

Needs ``google-adk`` (the extra ``ullage[adk]``).
"""

from ullage.adk.retrieval import retrieval_tool

__all__ = ["retrieval_tool"]
