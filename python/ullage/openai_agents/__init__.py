"""ullage in the OpenAI Agents SDK.

    run_config = RunConfig(model_provider=ContextProvider())
    await Runner.run(agent, "Which query is slow?", run_config=run_config)

Needs ``openai-agents`` (the extra ``ullage[openai-agents]``). See ``docs/openai-agents.md``.
"""

from ullage.openai_agents.model import ContextModel, ContextProvider, input_filter
from ullage.openai_agents.session import ContextSession
from ullage.openai_agents.tools import retrieval_tool, shorten_output

__all__ = [
    "ContextModel",
    "ContextProvider",
    "ContextSession",
    "input_filter",
    "retrieval_tool",
    "shorten_output",
]
