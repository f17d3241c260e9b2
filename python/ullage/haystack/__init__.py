"""ullage in Haystack.

    agent = Agent(chat_generator=ContextGenerator(OpenAIChatGenerator(), engine), tools=tools)

Needs ``haystack-ai`` (the extra ``ullage[haystack]``). See ``docs/haystack.md``.
"""

from ullage.haystack.compactor import EngineCompactor
from ullage.haystack.generator import ContextGenerator
from ullage.haystack.tools import ShortenHook, retrieval_tool

__all__ = ["ContextGenerator", "EngineCompactor", "ShortenHook", "retrieval_tool"]
