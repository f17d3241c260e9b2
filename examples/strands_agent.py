"""An agent of Strands, kept inside the window: Strands streams and runs calls in parallel.

Without a key: ``python examples/local_provider.py examples/strands_agent.py``.
"""

import tempfile

from strands import Agent, tool
from strands.models.openai import OpenAIModel

import ullage
from ullage.strands import ContextPlugin

MODEL = "gpt-5-mini"


@tool
def read_log(part: int) -> str:
    """Reads a part of the log of slow queries."""
    return "\n".join(f"{part}:{line:03} query took {line * 7 % 90} ms" for line in range(300))


store = ullage.FileStore(tempfile.mkdtemp())
policy = ullage.Policy(window=16_000, reserve_output=2_000)  # small, to show compactions
engine = ullage.ContextManager(policy, model=MODEL, store=store, append_only=True)

# The plugin shortens results, compacts the history and adds the tool `retrieve`.
agent = Agent(model=OpenAIModel(model_id=MODEL), tools=[read_log], plugins=[ContextPlugin(engine)])
agent("Which query is slow?")

tokens = engine.status(agent.messages).tokens
print(f"\n{len(agent.messages)} messages, {tokens:,} tokens at the end")
