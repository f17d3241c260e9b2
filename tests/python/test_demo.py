"""The demo's provider rejects what a real one does, and the demo keeps its promises."""

import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from demo.rules import InvalidHistory, TaskLost, check_history, check_task, count_request


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def use(identifier):
    return {"toolUse": {"toolUseId": identifier, "name": "t", "input": {}}}


def result(identifier, text="x"):
    return {
        "toolResult": {"toolUseId": identifier, "status": "success", "content": [{"text": text}]}
    }


ASK, SAY = user({"text": "the task"}), assistant({"text": "well"})

VALID = [
    pytest.param([ASK], id="one-request"),
    pytest.param([ASK, SAY, ASK], id="talk"),
    pytest.param([ASK, assistant(use("a")), user(result("a"))], id="call"),
    pytest.param(
        [ASK, assistant(use("a"), use("b")), user(result("b"), result("a"))],
        id="parallel-in-any-order",
    ),
    pytest.param(
        [ASK, assistant(use("a")), user(result("a"), {"text": "and"})], id="words-beside-a-result"
    ),
    pytest.param(
        [ASK, assistant(use("a")), user(result("a")), assistant(use("b")), user(result("b"))],
        id="loop",
    ),
]
INVALID = [
    pytest.param([], "empty", id="empty"),
    pytest.param([SAY], "first message", id="assistant-first"),
    pytest.param([ASK, ASK], "both of role user", id="two-users"),
    pytest.param([ASK, SAY, SAY], "both of role assistant", id="two-assistants"),
    pytest.param([ASK, assistant()], "no content", id="no-content"),
    pytest.param([user(result("a"))], "no call before it", id="orphan-first"),
    pytest.param([ASK, SAY, user(result("a"))], "no call before it", id="orphan"),
    pytest.param([ASK, assistant(use("a")), ASK], "without results", id="call-without-result"),
    pytest.param(
        [ASK, assistant(use("a"), use("b")), user(result("a"))], "b", id="one-of-two-results"
    ),
    pytest.param([ASK, assistant(use("a"))], "without results", id="call-at-the-end"),
    pytest.param(
        [ASK, assistant(use("a")), user(result("a"), result("a"))], "two results", id="result-twice"
    ),
    pytest.param(
        [ASK, assistant(use("a"), use("a")), user(result("a"))], "second time", id="id-twice"
    ),
    pytest.param(
        [ASK, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
        "second time",
        id="id-again",
    ),
    pytest.param([user(use("a")), assistant(result("a"))], "from the user", id="roles-swapped"),
    pytest.param(
        [ASK, assistant(use("a")), user({"text": "wait"}), SAY, user(result("a"))],
        "without results",
        id="result-too-late",
    ),
]


@pytest.mark.parametrize("messages", VALID)
def test_valid_histories_are_taken(messages):
    check_history(messages)


@pytest.mark.parametrize(("messages", "says"), INVALID)
def test_invalid_histories_are_rejected_with_the_reason(messages, says):
    with pytest.raises(InvalidHistory, match=says):
        check_history(messages)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([ASK, SAY], id="where-it-was"),
        pytest.param(
            [user({"text": "note"}), SAY, user({"text": "as said: the task!"})], id="elsewhere"
        ),
    ],
)
def test_the_task_is_found_in_any_request(messages):
    check_task(messages, "the task")


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([user({"text": "the tas"})], id="cut-short"),
        pytest.param(
            [user({"text": "go on"}), assistant({"text": "the task"})],
            id="only-quoted-by-the-model",
        ),
        pytest.param([user(result("a", "the task"))], id="only-in-a-result"),
    ],
)
def test_a_lost_task_is_noticed(messages):
    with pytest.raises(TaskLost):
        check_task(messages, "the task")


def test_everything_in_a_request_is_counted():
    few = [ASK, assistant(use("a")), user(result("a"))]
    size = count_request(few, [], "")
    for more in (
        count_request(few, [{"name": "t"}], ""),
        count_request(few, [], "You are careful."),
        count_request([*few, SAY], [], ""),
        count_request([*few[:2], user(result("a", "x y z"))], [], ""),
    ):
        assert more > size


@pytest.mark.timeout(300)
def test_the_demo_keeps_its_promises(project, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--keep", str(tmp_path / "kept")],
        cwd=project,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "store",
        "no-management.csv",
        "sliding-window.csv",
        "ullage.csv",
        "ullage.jsonl",
        "report.html",
        "context.svg",
    }
    page = (tmp_path / "kept/report.html").read_text()
    ET.fromstring(page)
    assert "sliding window: over the window" in page
    assert 'href="./store/' in page
    picture = tmp_path / "kept/context.svg"
    ET.fromstring(picture.read_text())
    assert picture.stat().st_size < 100_000
    assert str(tmp_path / "kept/report.html") in done.stdout
    rows = (tmp_path / "kept/ullage.csv").read_text().splitlines()[1:]
    assert rows
    assert all(row.endswith("True") for row in rows), "no request was refused"
    assert list((tmp_path / "kept/store").glob("*.log"))
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.timeout(120)
def test_the_demo_in_adk_keeps_its_promises(project):
    done = subprocess.run(
        [sys.executable, "-m", "demo.adk"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    assert "BROKEN" not in done.stdout
    assert done.stdout.count("stopped: The input token count") == 2
