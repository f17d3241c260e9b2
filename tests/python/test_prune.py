"""Superseded content is replaced by a line, and comes back from the store."""

# mypy: disable-error-code="arg-type,dict-item,index,union-attr"

import copy
import json

import pytest
from google.genai import types

import ullage

OLD = "".join(f"    old_value_{line} = compute({line})\n" for line in range(60))
NEW = "".join(f"    new_value_{line} = compute({line})\n" for line in range(60))
LONG = "".join(f"def written_{line}(): return {line}\n" for line in range(60))

# The low mark is out of reach, so the stage takes all that it finds.
POLICY = ullage.Policy(
    window=10_000, reserve_output=500, high=0.02, low=0.01, keep_recent=2, stages=["prune"]
)

STEPS = (
    ("read_file", {"path": "src/a.py"}, OLD),
    ("write_file", {"path": "src/long.py", "content": LONG, "n": [1, None, 2.5]}, "written"),
    ("read_file", {"path": "src/a.py"}, NEW),
    ("bash", {"command": "date"}, "today"),
    ("bash", {"command": "uptime"}, "a day"),
)


def bedrock():
    messages = [{"role": "user", "content": [{"text": "mend it"}]}]
    for n, (tool, arguments, output) in enumerate(STEPS):
        call = {"toolUseId": f"c{n}", "name": tool, "input": copy.deepcopy(arguments)}
        result = {"toolUseId": f"c{n}", "status": "success", "content": [{"text": output}]}
        messages.append({"role": "assistant", "content": [{"toolUse": call}]})
        messages.append({"role": "user", "content": [{"toolResult": result}]})
    return [*messages, {"role": "assistant", "content": [{"text": "done"}]}]


def openai():
    messages = [{"role": "user", "content": "mend it"}]
    for n, (tool, arguments, output) in enumerate(STEPS):
        function = {"name": tool, "arguments": json.dumps(arguments, indent=1)}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": output})
    return [*messages, {"role": "assistant", "content": "done"}]


def adk():
    contents = [types.Content(role="user", parts=[types.Part(text="mend it")])]
    for n, (tool, arguments, output) in enumerate(STEPS):
        call = types.FunctionCall(id=f"c{n}", name=tool, args=copy.deepcopy(arguments))
        response = types.FunctionResponse(id=f"c{n}", name=tool, response={"result": output})
        part = types.Part(function_call=call, thought_signature=b"signed")
        contents.append(types.Content(role="model", parts=[part]))
        contents.append(types.Content(role="user", parts=[types.Part(function_response=response)]))
    return [*contents, types.Content(role="model", parts=[types.Part(text="done")])]


def arguments_of(message):
    """The arguments of the call in a message of any of the formats above."""
    if isinstance(message, types.Content):
        return message.parts[0].function_call.args
    if calls := message.get("tool_calls"):
        return json.loads(calls[0]["function"]["arguments"])
    return message["content"][0]["toolUse"]["input"]


def output_of(message):
    if isinstance(message, types.Content):
        return message.parts[0].function_response.response["result"]
    if isinstance(message["content"], str):
        return message["content"]
    return message["content"][0]["toolResult"]["content"][0]["text"]


@pytest.mark.parametrize("make", [bedrock, openai, adk])
def test_what_was_pruned_comes_back_and_nothing_is_changed_in_place(make):
    messages = make()
    before, entries = copy.deepcopy(messages), list(messages)
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    report = engine.compact(messages)

    assert report.stages["prune"].edits == 2
    assert engine.stats.saved["prune"] == report.stages["prune"].saved > 0
    assert entries == before, "the host's own messages were changed"
    changed = [n for n, old in enumerate(entries) if messages[n] is not old]
    assert changed == [2, 3]

    mark = output_of(messages[2])
    assert mark.startswith("[ullage: superseded by a later read of src/a.py; ")
    assert "\n" not in mark
    assert output_of(messages[6]) == NEW
    arguments = arguments_of(messages[3])
    line = arguments.pop("content")
    assert arguments == {"path": "src/long.py", "n": [1, None, 2.5]}
    assert line.startswith(f"[ullage: {len(LONG):,} characters written to src/long.py; ")

    outputs, calls = sorted(report.references, key=lambda name: name.startswith("write_file"))
    assert outputs in mark
    assert calls in line
    assert store.get(outputs) == OLD.encode()
    assert json.loads(store.get(calls)) == STEPS[1][1]
    found = ullage.retrieve(store, calls, pointer="/content", limit=100_000)
    assert "def written_59(): return 59" in found
    assert engine.plan(messages).is_empty


def test_the_objects_of_adk_keep_their_kind_and_signature():
    contents = adk()
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    engine.compact(contents)
    part = contents[3].parts[0]
    assert isinstance(part, types.Part)
    assert part.thought_signature == b"signed"
    assert part.function_call.id == "c1"
    assert part.function_call.name == "write_file"


def test_a_plan_says_what_supersedes_what():
    messages = bedrock()
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    plan = engine.plan(messages)
    shortened, rewritten = plan.edits
    assert shortened["stage"] == rewritten["stage"] == "prune"
    assert (shortened["action"], rewritten["action"]) == ("shorten", "rewrite")
    assert shortened["why"] == "superseded by a later read of src/a.py"
    assert rewritten["place"] == {"message": 3, "part": 0}
    assert [text["at"] for text in rewritten["texts"]] == [["content"]]
    assert "superseded by a later read of src/a.py" in plan.explain()
    assert "message 3, block 0: arguments shortened" in plan.explain()
    json.dumps(plan.to_dict())


def test_an_argument_that_is_no_text_in_any_encoding_stays():
    messages = bedrock()
    messages[3]["content"][0]["toolUse"]["input"]["content"] = LONG + "\udcff"
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore())
    old = messages[3]
    engine.compact(messages)
    assert messages[3] is old


def test_a_lost_output_says_so():
    messages = bedrock()
    engine = ullage.ContextManager(POLICY)
    engine.compact(messages)
    assert output_of(messages[2]).endswith(" was removed to fit the context window]")
    assert arguments_of(messages[3])["content"].endswith("; read the file to see it as it is]")


@pytest.mark.parametrize("format", ["anthropic", "bedrock"])
def test_an_entry_of_which_nothing_is_left_goes(format):
    words = "word " * 400
    thinking, said = {
        "anthropic": (
            {"type": "thinking", "thinking": words, "signature": "s"},
            lambda text: {"type": "text", "text": text},
        ),
        "bedrock": (
            {"reasoningContent": {"reasoningText": {"text": words, "signature": "s"}}},
            lambda text: {"text": text},
        ),
    }[format]
    user = {"role": "user", "content": [said("Go on.")]}
    answered = [{"role": "assistant", "content": [said(text)]} for text in ("Found it.", "Fine.")]
    thought = {"role": "assistant", "content": [thinking]}
    messages = [user, thought, answered[0], dict(user), answered[1], dict(user)]
    size = ullage.TokenCounter().count_messages(messages, format)
    policy = ullage.Policy(window=size - 50, reserve_output=0, high=0.9, low=0.8)
    report = ullage.ContextManager(policy, format=format).compact(messages)
    assert messages == [user, answered[0], user, answered[1], user]
    assert report.tokens_after == ullage.TokenCounter().count_messages(messages, format)
