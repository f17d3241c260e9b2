"""``Plan.to_dict`` is JSON and can be replayed by ``Plan.from_dict``, in another process too."""

import copy
import json
import pickle
import subprocess
import sys

import pytest

import ullage

OTHER_PROCESS = """
import json, sys
import ullage
data, messages = json.load(sys.stdin)
plan = ullage.Plan.from_dict(data)
stored = [[name, tool, content.decode()] for name, tool, content in plan.artifacts(messages)]
out = [plan.apply(messages), stored, plan.report(), plan.explain(), plan.to_dict()]
json.dump(out, sys.stdout)
"""


def conversation():
    messages = [{"role": "user", "content": [{"text": "Look into every part. é"}]}]
    for step in range(12):
        use = {"toolUseId": f"c{step}", "name": "read_file", "input": {"path": f"é/{step}"}}
        text = f"{step}: " + "the quick brown fox jumps over the lazy dog; " * (20 + step)
        result = {"toolUseId": f"c{step}", "status": "success", "content": [{"text": text}]}
        messages.append({"role": "assistant", "content": [{"toolUse": use}]})
        messages.append({"role": "user", "content": [{"toolResult": result}]})
    return [*messages, {"role": "assistant", "content": [{"text": "All is well."}]}]


@pytest.fixture
def messages():
    return conversation()


@pytest.fixture
def plan(messages, tmp_path):
    manager = ullage.ContextManager(
        ullage.Policy(window=4_000, reserve_output=500), store=ullage.FileStore(tmp_path)
    )
    plan = manager.plan(messages, budget=1_500, hard=True)
    assert plan.edits
    return plan


def test_a_plan_goes_through_json_and_is_equal(plan, messages):
    again = ullage.Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert again.to_dict() == plan.to_dict()
    assert again.apply(messages) == plan.apply(messages)
    assert again.apply(messages)[-1] is messages[-1]


def test_a_plan_is_replayed_in_another_process(plan, messages):
    given = json.dumps([plan.to_dict(), messages])
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    applied, stored, report, explained, data = json.loads(done.stdout)
    assert applied == plan.apply(messages)
    assert [(name, tool, text.encode()) for name, tool, text in stored] == plan.artifacts(messages)
    assert report == json.loads(json.dumps(plan.report()))
    assert explained == plan.explain()
    assert data == plan.to_dict()


def test_other_messages_are_refused_as_ever(plan, messages):
    again = ullage.Plan.from_dict(plan.to_dict())
    messages[0]["content"][0]["text"] = "Something else."
    for replay in (again.apply, again.artifacts):
        with pytest.raises(ullage.MessagesChangedError):
            replay(messages)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "morse"),
        ("fingerprint", "12"),
        ("tokens_after", 10**30),
        ("tokens_after", True),
        ("tokens_before", float("nan")),
        ("edits", None),
        ("edits", [{"stage": "window"}]),
        ("spans", []),
        ("budget", object()),
        ("warnings", "none"),
    ],
)
def test_what_is_no_plan_is_refused_by_its_key(plan, key, value):
    data = plan.to_dict()
    data["replay"][key] = value
    with pytest.raises(ullage.UllageError):
        ullage.Plan.from_dict(data)
    del data["replay"][key]
    with pytest.raises(ullage.PolicyError, match=f"replay.{key}: it is missing"):
        ullage.Plan.from_dict(data)


@pytest.mark.parametrize("data", [{}, [], None, 3, "plan", {"replay": []}])
def test_what_is_nothing_like_a_plan_is_refused(data):
    with pytest.raises(ullage.PolicyError, match="replay"):
        ullage.Plan.from_dict(data)


def test_what_is_nested_without_end_is_refused():
    data: dict[str, object] = {}
    data["replay"] = data
    with pytest.raises(ullage.UllageError):
        ullage.Plan.from_dict(data)


def test_a_forged_place_is_refused(plan, messages):
    data = plan.to_dict()
    forged = 0
    for artifact in data["replay"]["artifacts"]:
        for source in artifact["source"].values():
            if "part" in source:
                source["part"] = 10**6
                forged += 1
            elif "messages" in source:
                source["messages"]["end"] = 10**6
                forged += 1
    assert forged
    with pytest.raises(ullage.UllageError):
        ullage.Plan.from_dict(data).artifacts(messages)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["deepcopy", "pickle"],
)
def test_a_plan_and_a_report_are_copied_as_any_value(plan, messages, copied):
    assert copied(plan).apply(messages) == plan.apply(messages)
    report = ullage.ContextManager().compact(conversation(), 1_500)
    assert copied(report) == report


def test_a_plan_and_a_report_are_shown_in_notebooks_without_markup_of_the_conversation(messages):
    messages[1]["content"][0]["toolUse"]["name"] = "<script>"
    messages[2]["content"][0]["toolResult"]["content"][0]["text"] += "<b>" * 2_000
    manager = ullage.ContextManager(store=ullage.MemoryStore())
    shown = manager.plan(messages, 1_500)._repr_html_()
    assert shown.startswith("<pre>")
    report = manager.compact(messages, 1_500)
    table = report._repr_html_()
    assert f"{report.tokens_before:,}" in table
    assert "<script>" not in shown + table
