"""A loop of your own over OpenAI's SDK, kept inside the window: streaming and parallel calls.

Without a key: ``python examples/local_provider.py examples/openai_loop.py``.
"""

import json
import tempfile
from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion

import ullage

MODEL = "gpt-5-mini"


def read_log(part: int) -> str:
    """Reads a part of the log of slow queries."""
    return "\n".join(f"{part}:{line:03} query took {line * 7 % 90} ms" for line in range(300))


client = openai.OpenAI(max_retries=0)
store = ullage.FileStore(tempfile.mkdtemp())
policy = ullage.Policy(window=16_000, reserve_output=2_000)  # small, to show compactions
engine = ullage.ContextManager(policy, model=MODEL, store=store)
view = engine.open()
retrieve = ullage.RetrievalTool(store)
tools: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "read_log",
            "description": read_log.__doc__,
            "parameters": {"type": "object", "properties": {"part": {"type": "integer"}}},
        },
    },
    retrieve.definition("openai"),
]


def send(messages: list[Any]) -> ChatCompletion:
    """Prints the answer as it streams in, and returns the whole of it."""
    state: Any = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(
        model=MODEL,
        messages=messages,
        tools=tools,
        stream=True,
        stream_options={"include_usage": True},
    ):
        state.handle_chunk(chunk)
        for choice in chunk.choices:
            print(choice.delta.content or "", end="", flush=True)
    return state.get_final_completion()  # type: ignore[no-any-return]


def ask(history: list[Any]) -> ChatCompletion:
    """Sends the history as the view shows it, and again, smaller, if it is refused."""
    messages = view.messages(history, tools=tools)
    while True:
        try:
            return send(messages)
        except openai.BadRequestError as error:
            if not ullage.is_overflow(error):
                raise
            messages = view.refused()


def run(call: Any) -> str:
    """Runs one tool call and shortens its output."""
    if call.function.name == retrieve.name:
        return retrieve.call(call.function.arguments)
    output = read_log(**json.loads(call.function.arguments))
    shortened: str = engine.shrink(call.function.name, output)
    return shortened


history: list[Any] = [{"role": "user", "content": "Which query is slow?"}]
while True:
    answer = ask(history)
    if answer.usage is not None:
        details = answer.usage.prompt_tokens_details
        cached = None if details is None else details.cached_tokens
        view.observe(answer.usage.prompt_tokens, cached)
    message = answer.choices[0].message
    said: Any = {"role": "assistant", "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [call.model_dump(exclude_none=True) for call in message.tool_calls]
    history.append(said)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        history.append({"role": "tool", "tool_call_id": call.id, "content": run(call)})

print(f"\n{len(history)} messages, {view.tokens:,} tokens in the last request")
