"""A worker of a service: answers turns of conversations whose state is in a store.

As a program it reads turns as lines of JSON, and writes what it found of each request.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import ullage
import ullage.stores
from ullage._core import references_in

POLICY = ullage.Policy(window=3_000, reserve_output=300)


def history_of(conversation: str, turns: int) -> list[dict[str, Any]]:
    """The messages of a conversation before the answer of so many turns."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        name = f"{conversation}-{turn}"
        messages.append({"role": "user", "content": f"Look into {name} of {conversation}."})
        function = {"name": "read_file", "arguments": json.dumps({"path": f"/logs/{name}.log"})}
        call = {"id": f"call-{turn}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        lines = "".join(f"{name} step {step}: took {step * turn} ms\n" for step in range(60))
        messages.append({"role": "tool", "tool_call_id": f"call-{turn}", "content": lines})
        if turn < turns - 1:
            messages.append({"role": "assistant", "content": f"{name} is done."})
    return messages


def found_of(view: ullage.View, store: Any, history: list[Any]) -> dict[str, Any]:
    """Returns the facts about the request for a history."""
    request = view.messages(history)
    stored = set(store.list())
    return {
        "digest": hashlib.sha256(json.dumps(request).encode()).hexdigest(),
        "problems": [str(problem) for problem in ullage.validate(request)],
        "tokens": view.tokens,
        "missing": [name for name in references_in(request) if name not in stored],
        "is_compacted": len(request) < len(history),
    }


def main(code: str) -> None:
    store = eval(code)
    for line in sys.stdin:
        conversation, turns = json.loads(line)
        # As in a service without memory: each turn begins with nothing.
        engine = ullage.ContextManager(POLICY, store=store)
        view = engine.open(session=conversation)
        found = found_of(view, store, history_of(conversation, turns))
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
