"""A pointer stands only where the write is known to have succeeded, whatever form says so."""

import copy
import json

import pytest

from ullage.valis.pointers import successful_writes

from .valis_sessions import middleware

TEXT = "line of code\n" * 400


def ai_sdk(**told):
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "write_file"}
    part = {**call, "args": {"path": "src/error.py", "content": TEXT}}
    result = {"type": "tool-result", "toolCallId": "1", "toolName": "write_file", **told}
    answer = [{"role": "tool", "content": [result]}] if told else []
    return [{"role": "assistant", "content": [part]}, *answer]


def openai(content, identifier="1"):
    arguments = json.dumps({"path": "a", "content": TEXT})
    function = {"name": "write_file", "arguments": arguments}
    call = {"id": identifier, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identifier, "content": content},
    ]


def anthropic(content, **told):
    call = {"type": "tool_use", "id": "1", "name": "write_file"}
    result = {"type": "tool_result", "tool_use_id": "1", "content": content, **told}
    return [
        {"role": "assistant", "content": [{**call, "input": {"path": "a", "content": TEXT}}]},
        {"role": "user", "content": [result]},
    ]


def pointers_in(messages, tmp_path):
    go = {"role": "user", "content": "Go"}
    before = copy.deepcopy(messages)
    compacted = middleware(tmp_path, 1_000).compact_messages([go, *messages], "small")
    assert messages == before
    return json.dumps(compacted).count("[Content written to ")


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(ai_sdk(), id="pending"),
        pytest.param(ai_sdk(output={"type": "error-text", "value": "x"}), id="error-text"),
        pytest.param(ai_sdk(output={"type": "error-json", "value": {"a": 1}}), id="error-json"),
        pytest.param(ai_sdk(output={"type": "execution-denied"}), id="execution-denied"),
        pytest.param(ai_sdk(output={"type": "json", "value": {"success": False}}), id="json"),
        pytest.param(ai_sdk(result={"success": False}), id="success-false"),
        pytest.param(ai_sdk(result='{"success": false}'), id="success-false-as-text"),
        pytest.param(ai_sdk(result={"result": {"success": False}}), id="success-false-inside"),
        pytest.param(ai_sdk(result={"error": "disk full", "message": "written"}), id="error"),
        pytest.param(ai_sdk(result={"exit_code": 1, "stdout": "written"}), id="exit-code"),
        pytest.param(ai_sdk(result={"status": "failed"}), id="status"),
        pytest.param(ai_sdk(result="ok", isError=True), id="flag"),
        pytest.param(anthropic("ok", is_error="true"), id="flag-as-text"),
        pytest.param(anthropic([{"type": "text", "text": "Error: x"}]), id="list"),
        pytest.param(openai("Permission denied"), id="denied"),
        pytest.param(openai("ENOSPC: written 0 bytes"), id="errno"),
        pytest.param(openai("old_text not found in a"), id="not-found"),
        pytest.param(openai("The user doesn't want it written"), id="declined"),
        pytest.param(openai("Written to temp\nError: rename failed"), id="second-line"),
        pytest.param(openai(None), id="nothing"),
        pytest.param(openai(""), id="empty"),
        pytest.param(openai("hm"), id="unknown"),
    ],
)
def test_what_is_not_known_to_be_written_stays(messages, tmp_path):
    assert pointers_in(messages, tmp_path) == 0


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(ai_sdk(result="ok"), id="ok"),
        pytest.param(ai_sdk(result="File src/error.py written"), id="path-with-a-bad-word"),
        pytest.param(ai_sdk(result={"success": True}), id="success"),
        pytest.param(ai_sdk(result=True), id="true"),
        pytest.param(ai_sdk(output={"type": "text", "value": "File written"}), id="output"),
        pytest.param(ai_sdk(output={"type": "json", "value": {"ok": True}}), id="json"),
        pytest.param(ai_sdk(result={"message": "Saved 3 lines"}), id="message"),
        pytest.param(anthropic([{"type": "text", "text": "The file has been updated"}]), id="list"),
        pytest.param(anthropic("x", is_error=False), id="flag"),
        pytest.param(openai("Wrote 300 bytes, 0 errors"), id="no-errors"),
        pytest.param(openai("@@ -1 +1 @@\n-a\n+raise Error('not found')"), id="diff"),
    ],
)
def test_what_is_known_to_be_written_gives_way(messages, tmp_path):
    assert pointers_in(messages, tmp_path) == 1


def test_ids_that_come_again_are_told_apart():
    outcomes = ("ok", "Error: disk full", "ok")
    messages = [message for said in outcomes for message in openai(said, "call_0")]
    good, _ = successful_writes([*messages, messages[0]])
    assert sorted(good) == [0, 4], "failed is the second, pending the last"


def test_each_of_parallel_calls_has_its_own_outcome():
    calls = [openai("", str(n))[0]["tool_calls"][0] for n in range(3)]
    said = (("2", "ok"), ("0", "Permission denied"), ("1", "ok"), ("1", "Error: late"))
    results = [{"role": "tool", "tool_call_id": n, "content": text} for n, text in said]
    good, _ = successful_writes(
        [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
    )
    assert [call.id for call in good[0].values()] == ["2"]


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        "-" * 1_000_000,
        "[Large output saved to /tool_outputs/a.txt]\n\n" + 'Use read_file("x\n\n' * 60_000,
        "[See a for content] " + "[As it was: /tool_inputs/" * 40_000,
        "[" * 1_000_000,
    ],
    ids=["blank lines", "dashes", "previews", "pointers", "brackets"],
)
def test_what_a_tool_says_is_read_at_once(text, tmp_path):
    """Expressions that go back took minutes for some of these."""
    messages = [{"role": "system", "content": text}, *openai(text), *ai_sdk(result=text)]
    assert pointers_in(messages, tmp_path) == 0
