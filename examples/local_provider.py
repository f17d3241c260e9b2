"""Runs a script against a local stand-in for OpenAI, Anthropic and Gemini: no key and no network.

    python examples/local_provider.py examples/openai_loop.py

The stand-in calls the first tool of each request, twice in parallel, for twenty requests. Then it
answers "done". Like a provider, it refuses a call without its result and a result without its call,
and a request of more than 32,000 tokens, or of as many as the second argument says. It estimates
tokens by bytes.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROUNDS = 20
# Of OpenAI's Responses API.
ITEMS = ("function_call", "function_call_output")
Json = dict[str, Any]


def found(value: Any, key: str) -> list[Any]:
    """Returns all values of this key, at any depth."""
    if isinstance(value, list):
        return [one for item in value for one in found(item, key)]
    if not isinstance(value, dict):
        return []
    here = [value[key]] if key in value else []
    return here + [one for item in value.values() for one in found(item, key)]


def refusal(body: Json, size: int, window: int) -> str | None:
    """Returns the reason why a provider would refuse this request."""
    if size > window:
        return f"context_length_exceeded: prompt is too long: {size} tokens > {window} maximum"
    history = body.get("messages") or body.get("input") or body["contents"]
    if isinstance(history, str):
        return None
    calls = [call["id"] for calls in found(history, "tool_calls") for call in calls]
    calls += [block["id"] for block in blocks(history) if block.get("type") == "tool_use"]
    results = found(history, "tool_call_id") + found(history, "tool_use_id")
    if sorted(calls) != sorted(results):
        return "tool_use ids and tool_result ids do not match"
    items = {
        kind: [item["call_id"] for item in history if item.get("type") == kind] for kind in ITEMS
    }
    if sorted(items["function_call"]) != sorted(items["function_call_output"]):
        return "No tool output found for function call, or no function call for a tool output"
    if len(found(history, "functionCall")) != len(found(history, "functionResponse")):
        return "the number of function responses is not the number of function calls"
    return None


def blocks(history: list[Json]) -> list[Json]:
    """Returns the content blocks of all messages that have blocks."""
    contents = [message.get("content") for message in history]
    return [block for content in contents if isinstance(content, list) for block in content]


def tool_of(body: Json) -> tuple[str, str]:
    """Returns the name of the first tool and of its first argument."""
    (first, *_), is_gemini = body["tools"], "contents" in body
    tool = first["functionDeclarations"][0] if is_gemini else first.get("function", first)
    return tool["name"], next(iter(found(tool, "properties")[0]))


class Provider(BaseHTTPRequestHandler):
    """Answers the requests of one conversation."""

    requests = 0
    window = 32_000

    def do_POST(self) -> None:
        """Answers one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        size = len(json.dumps(body, ensure_ascii=False)) // 4
        if reason := refusal(body, size, self.window):
            self.send(400, json.dumps({"type": "error", "error": {"message": reason}}))
            return
        number, Provider.requests = Provider.requests, Provider.requests + 1
        name, argument = tool_of(body)
        parts = (2 * number, 2 * number + 1) if number < ROUNDS else ()
        calls = [(f"call-{part}", name, {argument: part}) for part in parts]
        if "contents" in body:
            self.gemini(calls, size)
        elif self.path.endswith("/responses"):
            self.openai_responses(calls, size, number, is_streamed=body.get("stream", False))
        elif self.path.endswith("/chat/completions"):
            self.openai(calls, size, is_streamed=body.get("stream", False))
        else:
            self.anthropic(calls, size, is_streamed=body.get("stream", False))

    def openai(self, calls: list[Any], size: int, *, is_streamed: bool) -> None:
        """Sends a chat completion."""
        said: list[Json] = [
            {
                "index": index,
                "id": call,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (call, name, arguments) in enumerate(calls)
        ]
        message: Json = {"role": "assistant", "content": None if said else "done"}
        message |= {"tool_calls": said} if said else {}
        finish = "tool_calls" if said else "stop"
        usage = {"prompt_tokens": size, "completion_tokens": 9, "total_tokens": size + 9}
        known: Json = {"id": "chatcmpl-1", "created": 0, "model": "local"}
        if not is_streamed:
            choice = {"index": 0, "finish_reason": finish, "message": message}
            whole = {"object": "chat.completion", "choices": [choice], "usage": usage}
            self.send(200, json.dumps(known | whole))
            return
        choices = [
            [{"index": 0, "delta": message, "finish_reason": None}],
            [{"index": 0, "delta": {}, "finish_reason": finish}],
        ]
        known["object"] = "chat.completion.chunk"
        chunks = [known | {"choices": choice} for choice in choices]
        chunks.append(known | {"choices": [], "usage": usage})
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self.send(200, "".join(lines) + "data: [DONE]\n\n", "text/event-stream")

    def openai_responses(
        self, calls: list[Any], size: int, number: int, *, is_streamed: bool
    ) -> None:
        """Sends a response of OpenAI's Responses API."""
        output: list[Json] = [
            {
                "type": "function_call",
                "id": f"fc_{call}",
                "call_id": call,
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
            for call, name, arguments in calls
        ]
        text = {"type": "output_text", "text": "done", "annotations": []}
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        output = output or [message | {"status": "completed", "content": [text]}]
        response: Json = {"id": f"resp_{number}", "object": "response", "created_at": 0}
        response |= {"model": "local", "status": "completed", "output": output, "tools": []}
        response |= {"parallel_tool_calls": True, "tool_choice": "auto"}
        usage: Json = {"input_tokens": size, "output_tokens": 9, "total_tokens": size + 9}
        usage["input_tokens_details"] = {"cached_tokens": 0, "cache_write_tokens": 0}
        usage["output_tokens_details"] = {"reasoning_tokens": 0}
        response["usage"] = usage
        if not is_streamed:
            self.send(200, json.dumps(response))
            return
        events: list[Json] = [{"type": "response.created", "response": response | {"output": []}}]
        for index, item in enumerate(output):
            known = {"output_index": index, "item": item}
            events += [{"type": f"response.output_item.{end}"} | known for end in ("added", "done")]
        events.append({"type": "response.completed", "response": response})
        lines = [
            f"event: {event['type']}\ndata: {json.dumps(event | {'sequence_number': place})}\n\n"
            for place, event in enumerate(events)
        ]
        self.send(200, "".join(lines), "text/event-stream")

    def anthropic(self, calls: list[Any], size: int, *, is_streamed: bool) -> None:
        """Sends a message."""
        content: list[Json] = [
            {"type": "tool_use", "id": call, "name": name, "input": arguments}
            for call, name, arguments in calls
        ]
        message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "local"}
        message |= {"content": content or [{"type": "text", "text": "done"}]}
        message |= {"stop_reason": "tool_use" if content else "end_turn", "stop_sequence": None}
        message |= {"usage": {"input_tokens": size, "output_tokens": 9}}
        if not is_streamed:
            self.send(200, json.dumps(message))
            return
        events: list[Json] = [{"type": "message_start", "message": message | {"content": []}}]
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                start = block | {"text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                start = block | {"input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": start},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 9}})
        events.append({"type": "message_stop"})
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self.send(200, "".join(lines), "text/event-stream")

    def gemini(self, calls: list[Any], size: int) -> None:
        """Sends a candidate, streamed if the path says so."""
        parts: list[Json] = [
            {"functionCall": {"name": name, "args": args}} for _, name, args in calls
        ]
        candidate: Json = {
            "content": {"role": "model", "parts": parts or [{"text": "done"}]},
            "finishReason": "STOP",
            "index": 0,
        }
        usage = {"promptTokenCount": size, "candidatesTokenCount": 9, "totalTokenCount": size + 9}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        if "streamGenerateContent" in self.path:
            self.send(200, f"data: {answer}\n\n", "text/event-stream")
        else:
            self.send(200, answer)

    def send(self, status: int, text: str, kind: str = "application/json") -> None:
        """Sends a whole answer."""
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Stays silent."""


def main(script: str) -> None:
    """Runs the script with its SDK pointed at the stand-in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    os.environ |= {
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_BASE_URL": address,
        "GOOGLE_GEMINI_BASE_URL": address,
    }
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        os.environ[key] = "local"
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")
    server.shutdown()
    if 0 < Provider.requests <= ROUNDS:
        sys.exit(f"{script} stopped after {Provider.requests} requests; it needs {ROUNDS + 1}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Provider.window = int(sys.argv[2])
    main(sys.argv[1])
