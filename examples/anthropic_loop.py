"""A loop of your own over Anthropic's SDK, kept inside the window: streaming and parallel calls.

Without a key: ``python examples/local_provider.py examples/anthropic_loop.py``.
"""

import tempfile
from typing import Any

import anthropic

import ullage

MODEL = "claude-sonnet-4-5"


def read_log(part: int) -> str:
    """Reads a part of the log of slow queries."""
    return "\n".join(f"{part}:{line:03} query took {line * 7 % 90} ms" for line in range(300))


client = anthropic.Anthropic(max_retries=0)
store = ullage.FileStore(tempfile.mkdtemp())
policy = ullage.Policy(window=16_000, reserve_output=2_000)  # small, to show compactions
engine = ullage.ContextManager(policy, model=MODEL, store=store)
view = engine.open()
retrieve = ullage.RetrievalTool(store)
tools: list[Any] = [
    {
        "name": "read_log",
        "description": read_log.__doc__,
        "input_schema": {"type": "object", "properties": {"part": {"type": "integer"}}},
    },
    retrieve.definition("anthropic"),
]


def send(messages: list[Any]) -> Any:
    """Prints the answer as it streams in, and returns the whole of it."""
    with client.messages.stream(
        model=MODEL, max_tokens=2_000, messages=messages, tools=tools
    ) as stream:
        for text in stream.text_stream:
            print(text, end="", flush=True)
        return stream.get_final_message()


def ask(history: list[Any]) -> Any:
    """Sends the history as the view shows it, and again, smaller, if it is refused."""
    messages = view.messages(history, tools=tools)
    while True:
        try:
            return send(messages)
        except anthropic.BadRequestError as error:
            if not ullage.is_overflow(error):
                raise
            messages = view.refused()


def run(call: Any) -> str:
    """Runs one tool call and shortens its output."""
    if call.name == retrieve.name:
        return retrieve.call(call.input)
    shortened: str = engine.shrink(call.name, read_log(**call.input))
    return shortened


history: list[Any] = [{"role": "user", "content": "Which query is slow?"}]
while True:
    answer = ask(history)
    usage = answer.usage
    cached = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    view.observe(usage.input_tokens + cached + written, cached)
    content = [block.model_dump(exclude_none=True) for block in answer.content]
    history.append({"role": "assistant", "content": content})
    calls = [block for block in answer.content if block.type == "tool_use"]
    if not calls:
        break
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": run(call)} for call in calls
    ]
    history.append({"role": "user", "content": results})

print(f"\n{len(history)} messages, {view.tokens:,} tokens in the last request")
