"""The history on disk is whole, in both forms, after whatever happened in between."""

import contextlib
import json
from typing import Any

import pytest

import ullage
from ullage.valis import ContextConfig, ContextManagementMiddleware

from .histories import broken_pairs, random_history
from .valis_sessions import Kept, conversation, middleware, parted, run


def histories(backend):
    """The histories on disk, from the shortest to the longest."""
    paths = [path for path in backend.ls("/conversation_history") if path.endswith(".json")]
    return [json.loads(backend.read_file(path)) for path in paths]


def grown(made, messages, state=(), faults=parted, agent=None):
    """The messages of a session that goes on from the messages that it is given back."""
    left = list(state)
    for message in messages:
        left = [*left, message]
        if not faults(left):
            # A message that is longer than the window is in a file as soon as it is not the newest.
            with contextlib.suppress(ullage.BudgetError):
                one = made() if callable(made) else made
                left = run(one.manage_context(left, "small", agent))
    return left


def with_reminders(messages):
    """The messages, with system messages among them that came later."""
    for place in range(len(messages) - 1, 0, -10):
        if messages[place]["role"] == "user":
            messages.insert(place, {"role": "system", "content": f"Reminder {place}"})
    return messages


SAME = [{"role": "user", "content": "go " * 80}, {"role": "assistant", "content": "ok " * 80}]


@pytest.mark.parametrize("restarts", [False, True], ids=["one process", "a process a request"])
@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        pytest.param(conversation(40, lines=20), parted, id="ai-sdk"),
        pytest.param(random_history(3, 90), broken_pairs, id="openai"),
        pytest.param(with_reminders(conversation(40, lines=20)), parted, id="reminders"),
        pytest.param(SAME * 100, parted, id="the same each time"),
    ],
)
def test_every_history_is_the_conversation_up_to_then(messages, faults, restarts, tmp_path):
    once = middleware(tmp_path, 4_000)
    grown((lambda: middleware(tmp_path, 4_000)) if restarts else once, messages, faults=faults)
    saved = histories(once.filesystem)
    assert len(saved) > 2
    assert all(history == messages[: len(history)] for history in saved)
    newest = max(once.filesystem.ls("/conversation_history"))
    assert newest.endswith(".md")
    assert once.filesystem.read_file(newest).count("## Message ") == len(saved[-1])


def test_a_system_prompt_that_changes_is_in_it_each_time_that_it_is_another(tmp_path):
    made, messages = middleware(tmp_path, 4_000), conversation(40, lines=20)
    state: list[Any] = []
    for n, message in enumerate(messages[1:]):
        state = [{"role": "system", "content": f"It is day {n // 30}"}, *state[n > 0 :], message]
        if not parted(state):
            state = run(made.manage_context(state, "small"))
            assert state[0]["content"] == f"It is day {n // 30}"
    saved = histories(made.filesystem)[-1]
    talk = [message for message in saved if message["role"] != "system"]
    assert talk == messages[1 : len(talk) + 1]
    days = [message["content"] for message in saved if message["role"] == "system"]
    assert days == sorted(set(days))
    assert len(days) > 2


def test_more_conversations_than_anybody_remembers_keep_their_history(tmp_path):
    made = middleware(tmp_path, 1_500)
    talks = [conversation(4, lines=20 + n) for n in range(70)]
    begun = [run(made.manage_context(talk, "small")) for talk in talks]
    first = [*begun[0], *conversation(8, lines=60)[2:]]
    run(made.manage_context(first, "small"))
    saved = histories(made.filesystem)
    assert [*talks[0], *conversation(8, lines=60)[2:]] in saved


def test_over_a_backend_that_only_writes_the_histories_together_are_whole():
    backend = Kept()
    config = ContextConfig(model_context_limits={"small": 3_000})
    state: list[Any] = []
    for half in (conversation(20, lines=20), conversation(40, lines=20)[62:]):
        # A middleware each, as after a restart.
        state = grown(ContextManagementMiddleware(config, backend), half, state)
    paths = sorted(path for path in backend.files if path.endswith("json"))
    begun = [json.loads(backend.files[path]) for path in paths]
    assert max(map(len, begun)) < 122
    named = [path for path in paths if any(path in text for text in backend.files.values())]
    assert named, "what a history goes on from is named in it"


def test_a_first_request_that_became_a_file_stays_that_file(tmp_path):
    made = middleware(tmp_path, 3_000)
    messages = [{"role": "user", "content": f"demand {'x' * 40}\n" * 60}]
    for n in range(60):
        messages.append({"role": "assistant", "content": f"step {n} " * 30})
        messages.append({"role": "user", "content": f"on {n}"})
    left = grown(made, messages, faults=lambda _: False)
    paths = made.filesystem.ls("/tool_outputs")
    assert len(paths) == 1
    assert sum(paths[0] in json.dumps(message) for message in left) == 1
    saved = histories(made.filesystem)
    assert len(saved) > 2
    assert all(history == messages[: len(history)] for history in saved)


def test_no_summary_is_told_as_a_message_of_the_conversation(tmp_path):
    for seed in (7, 41):
        made = middleware(tmp_path / str(seed), 2_000)
        left = grown(made, random_history(seed, 80), faults=broken_pairs)
        for message in [*left, *(m for history in histories(made.filesystem) for m in history)]:
            if message["role"] != "system":
                assert "[ullage: " not in json.dumps(message)
        assert "SUMMARY]" not in json.dumps(histories(made.filesystem))


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"picture": b"\x00\xff"}, id="bytes"),
        pytest.param({"at": {1, 2}, 3: "x", "z": float("nan")}, id="keys"),
        pytest.param({"text": "half \ud83d"}, id="half a character"),
        pytest.param({"when": object()}, id="object"),
    ],
)
def test_what_is_no_json_is_told(odd, tmp_path):
    made = middleware(tmp_path, 5_000)
    messages = conversation(20)
    messages.insert(5, {"role": "user", "content": "see", "extra": odd})
    run(made.manage_context(messages, "small"))
    (history,) = histories(made.filesystem)
    assert len(history) == len(messages)
    assert history[5]["content"] == "see"
    (as_markdown,) = [path for path in made.filesystem.ls() if path.endswith("md")]
    made.filesystem.read_file(as_markdown).encode()
