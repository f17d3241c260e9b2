"""ullage in CrewAI.

    agent = Agent(role=..., goal=..., backstory=..., llm=ContextLLM("gpt-5-mini"), tools=tools)

Needs ``crewai`` (the extra ``ullage[crewai]``). See ``docs/crewai.md``.
"""

from ullage.crewai.hooks import compact_messages, shorten_result
from ullage.crewai.llm import ContextLLM
from ullage.crewai.tools import retrieval_tool

__all__ = ["ContextLLM", "compact_messages", "retrieval_tool", "shorten_result"]
