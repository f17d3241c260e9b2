"""Sessions by chance, in all forms, over restarts: valid, within the window, stable, and whole."""

import json
import random
from typing import Any

import pytest

import ullage

from .lengths import first
from .test_valis_history import histories
from .valis_sessions import Agent, middleware, run

OUTCOMES = ("ok", "wrote it", "Error: no", "data 7 " * 700, "@@ -1 +1 @@\n+x\n" + "+line\n" * 200)


def exchange(form, calls):
    """A message with calls and those with their results, in a form."""
    if form == "openai":
        asked = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for i, name, args, _ in calls
        ]
        results = [{"role": "tool", "tool_call_id": i, "content": said} for i, _, _, said in calls]
        return [{"role": "assistant", "content": None, "tool_calls": asked}, *results]
    if form == "anthropic":
        asked = [
            {"type": "tool_use", "id": i, "name": name, "input": args} for i, name, args, _ in calls
        ]
        results = [
            {"type": "tool_result", "tool_use_id": i, "content": [{"type": "text", "text": said}]}
            for i, _, _, said in calls
        ]
        return [{"role": "assistant", "content": asked}, {"role": "user", "content": results}]
    asked = [
        {"type": "tool-call", "toolCallId": i, "toolName": name, "args": args}
        for i, name, args, _ in calls
    ]
    results = [
        {"type": "tool-result", "toolCallId": i, "toolName": name, "result": {"said": [said]}}
        for i, name, _, said in calls
    ]
    return [{"role": "assistant", "content": asked}, {"role": "tool", "content": results}]


def turns(form, rng, count):
    """A session as a list of steps; a request may come behind each of them."""
    task = {"role": "user", "content": "Task " + "t " * rng.choice([1, 20, 900])}
    prompt = {"role": "system", "content": "You are an agent"}
    steps = [[task] if form == "anthropic" else [prompt, task]]
    for turn in range(count):
        calls = [
            (
                f"c{turn}-{n}" if rng.random() < 0.9 else f"again-{n}",
                rng.choice(["write_file", "edit_file", "run"]),
                {"path": f"f{n}", "content": f"code {turn} " * rng.choice([1, 50, 400])},
                rng.choice(OUTCOMES),
            )
            for n in range(rng.choice([1, 1, 2, 3]))
        ]
        steps.append(exchange(form, calls))
        steps.append([{"role": "assistant", "content": "done " * rng.choice([1, 5, 80])}])
        steps.append([{"role": "user", "content": rng.choice(["go on", "go on", "more " * 200])}])
    return steps


@pytest.mark.parametrize("form", ["ai-sdk", "openai", "anthropic"])
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_any_session_is_valid_within_its_window_stable_and_whole_on_disk(form, seed, tmp_path):
    rng = random.Random(f"{form} {seed}")
    steps = turns(form, rng, 14)
    full = [message for step in steps for message in step]
    limit, takes_over = rng.choice([1_000, 2_000, 4_000]), rng.random() < 0.6
    restarts, agent = rng.choice([0, 0.1, 1]), rng.choice([None, Agent("word " * 3_000)])
    made, left, given = middleware(tmp_path, limit), list[Any](), list[Any]()
    for step in steps:
        given = [*given, *step]
        state = [*left, *step] if takes_over else given
        if rng.random() < restarts:
            made = middleware(tmp_path, limit)
        before = made.count_message_tokens(state)
        try:
            left = run(made.manage_context(state, "small", agent))
        except ullage.BudgetError:
            assert before > limit
            left = state
            continue
        assert made.count_message_tokens(left) <= limit
        assert ullage.validate(left, form) == []
        if left is not state:
            assert run(made.manage_context(left, "small", agent)) is left
    saved = histories(made.filesystem)
    assert saved
    assert all(history == full[: len(history)] for history in saved)
