"""Supyagent's face on disk and on the screen: summaries, settings, the picture of the context."""

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import pytest

import ullage
from ullage.supyagent import ContextManager, ContextSettings, ContextSummary
from ullage.supyagent.summary import save

from .histories import Client, history

SUMMARY = {
    "content": "Previously discussed X",
    "messages_summarized": 5,
    "first_message_idx": 0,
    "last_message_idx": 4,
    "created_at": "2024-01-15T10:30:00",
    "token_count": 50,
}


def summary_in(path):
    summary = ContextManager("gpt-4o", summary_storage_path=path).summary
    assert summary is not None
    return summary


def test_a_summary_is_there_again_in_the_next_session(tmp_path):
    path = tmp_path / "sessions" / "summary.json"
    messages = history(20)
    messages[4] = {**messages[4], "metadata": {"custom": {"pinned": True}}}
    first = ContextManager("gpt-4o", Client("- the key is \ud800 ключ"), path)
    summary = first.generate_summary(messages)
    again = ContextManager("gpt-4o", summary_storage_path=str(path))
    assert again.summary == summary
    assert again.build_messages_for_llm("s", messages) == first.build_messages_for_llm(
        "s", messages
    )
    assert [file.name for file in path.parent.iterdir()] == ["summary.json"]


def test_a_file_of_supyagent_is_read(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(SUMMARY))
    made = ContextManager("gpt-4", summary_storage_path=path)
    assert summary_in(path).content == "Previously discussed X"
    messages = [{"role": "user", "content": f"Message {n}"} for n in range(10)]
    built = made.build_messages_for_llm("System", messages)
    assert "5 previous messages" in built[1]["content"]
    assert built[2:] == [messages[0], *messages[5:]]
    assert made.get_trigger_status(messages)["messages_since_summary"] == 5


def test_a_file_of_supyagent_is_about_the_first_conversation_that_it_is_used_for(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(SUMMARY))
    made = ContextManager("gpt-4", summary_storage_path=path)
    first, other = ([{"role": "user", "content": f"{n}{name}"} for n in range(9)] for name in "ab")
    assert made.build_messages_for_llm("System", first[:4])[1:] == first[:4]
    assert "5 previous" in str(made.build_messages_for_llm("System", first))
    assert made.build_messages_for_llm("System", other)[1:] == other
    assert "5 previous" in str(made.build_messages_for_llm("System", first))


def test_a_resumed_summary_is_used_for_its_own_conversation_alone(tmp_path):
    path = tmp_path / "summary.json"
    messages = history(20)
    ContextManager("gpt-4o", Client(), path).generate_summary(messages)
    again = ContextManager("gpt-4o", summary_storage_path=path)
    # As a host reads them from its own file: other objects, and marks beside what they say.
    read = [{**message, "id": n} for n, message in enumerate(json.loads(json.dumps(messages)))]
    other = [{"role": "user", "content": f"Something else {n}"} for n in range(len(messages))]
    assert again.build_messages_for_llm("s", other)[1:] == other
    assert "Context Summary" in again.build_messages_for_llm("s", read)[1]["content"]
    assert again.get_trigger_status(other)["messages_since_summary"] == len(other)
    assert again.get_trigger_status(read)["messages_since_summary"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "[" * 100_000,
        json.dumps({**SUMMARY, "content": None}),
        json.dumps({**SUMMARY, "created_at": "yesterday"}),
        json.dumps({**SUMMARY, "last_message_idx": "4"}),
        json.dumps({**SUMMARY, "kept": ["a"]}),
        json.dumps({**SUMMARY, "lines": 3}),
        json.dumps({**SUMMARY, "fingerprint": 3}),
        json.dumps({**SUMMARY, "seen": True}),
        json.dumps({**SUMMARY, "last_message_idx": -1}),
    ],
    ids=range(13),
)
def test_a_file_that_holds_no_summary_is_logged_and_ignored(text, tmp_path, caplog):
    path = tmp_path / "summary.json"
    path.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert ContextManager("gpt-4", summary_storage_path=path).summary is None
    assert "no valid summary" in caplog.text
    path.write_bytes(b"\xff")
    assert ContextManager("gpt-4", summary_storage_path=path).summary is None


def test_a_summary_survives_json():
    summary = ContextSummary("text", 10, 0, 9, lines="1: x", kept=[4], seen=16, fingerprint="ab")
    assert summary.created_at.tzinfo is timezone.utc
    assert ContextSummary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary
    assert set(ContextSummary("text", 1, 0, 0).to_dict()) == set(SUMMARY)
    assert ContextSummary.from_dict(SUMMARY).created_at == datetime(2024, 1, 15, 10, 30)  # noqa: DTZ001
    zulu = ContextSummary.from_dict({**SUMMARY, "created_at": "2024-01-15T10:30:00Z"})
    assert zulu.created_at.tzinfo is not None


def test_a_folder_that_cannot_be_written_is_an_error_and_changes_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    made = ContextManager("gpt-4o", Client(), tmp_path / "file" / "summary.json")
    with pytest.raises(ullage.StoreError, match="cannot be written"):
        made.generate_summary(history(20))
    assert made.summary is None


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full_is_an_error_and_leaves_the_last_summary(tmp_path):
    import resource

    path = tmp_path / "summary.json"
    made = ContextManager("gpt-4o", Client("first", "second " * 400), path)
    first = made.generate_summary(history(20))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        with pytest.raises(ullage.StoreError, match="cannot be written"):
            made.generate_summary(history(30))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert made.summary is first
    assert summary_in(path) == first
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_the_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "summary.json", tmp_path / "latest.json"
    path.write_text(json.dumps(SUMMARY))
    path.chmod(0o640)
    link.symlink_to(path)
    ContextManager("gpt-4o", Client(), link).generate_summary(history(20))
    assert link.is_symlink()
    assert summary_in(path).messages_summarized == len(history(20)) - 6
    assert path.stat().st_mode & 0o777 == 0o640


def test_threads_that_write_one_file_leave_one_whole_summary(tmp_path):
    path = tmp_path / "summary.json"

    def work(number):
        made = ContextManager("gpt-4o", Client(f"by {number} " * 200), path)
        made.generate_summary(history(20))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert summary_in(path).content.startswith("by ")
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


WRITER = """
import sys
from pathlib import Path
from ullage.supyagent.summary import ContextSummary, save
for number in range(10**9):
    save(ContextSummary(f"{number} " * 20_000, 1, 0, 0), Path(sys.argv[1]))
    print(number, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_summary(tmp_path):
    path = tmp_path / "summary.json"
    for pause in (0.0, 0.001, 0.003, 0.007, 0.013, 0.02):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
            said = ["0", *process.stdout.read().split()]
        summary = summary_in(path)
        number = int(summary.content.split()[0])
        assert number >= int(said[-1])
        assert summary.content == f"{number} " * 20_000


# Settings.

AGENT = """
name: myagent
model:
  provider: anthropic/claude-sonnet-4-5-20250929

context:
  auto_summarize: true                  # Enable auto-summarization
  max_messages_before_summary: 20       # Trigger after N messages since last summary
  max_tokens_before_summary: 80000      # Trigger when total tokens exceed K
  min_recent_messages: 8
  response_reserve: 8192
"""


def test_an_agents_yaml_is_read(tmp_path):
    file = tmp_path / "myagent.yaml"
    file.write_text(AGENT)
    settings = ContextSettings.load(file)
    model = "anthropic/claude-sonnet-4-5-20250929"
    assert settings == ContextSettings(
        max_messages_before_summary=20,
        max_tokens_before_summary=80_000,
        min_recent_messages=8,
        response_reserve=8_192,
        model=model,
    )
    made = settings.manager(Client())
    assert (made.model, made.max_messages_before_summary, made.min_recent_messages) == (
        model,
        20,
        8,
    )
    assert (made.max_tokens_before_summary, made.response_reserve) == (80_000, 8_192)
    policy = settings.policy()
    assert (policy.window, policy.reserve_output, policy.keep_recent) == (200_000, 8_192, 8)
    assert (policy.max_messages, policy.summary_prompt) == (20, "supyagent")
    assert round(policy.high * (200_000 - 8_192)) == 80_000


def test_settings_are_supyagents_where_nothing_is_said(tmp_path):
    file = tmp_path / "agent.json"
    for said in ({}, {"name": "a"}, {"context": None}, {"name": "a", "model": {"provider": "x"}}):
        file.write_text(json.dumps(said))
        settings = ContextSettings.load(file)
        assert (settings.auto_summarize, settings.max_messages_before_summary) == (True, 30)
        assert settings.policy().keep_recent == 6
    assert ContextSettings.from_dict({"min_recent_messages": 4}).min_recent_messages == 4


def test_without_automatic_summaries_the_policy_makes_none():
    policy = ContextSettings(auto_summarize=False).policy("gpt-4o")
    assert "summarize" not in policy.stages
    assert policy.max_messages is None
    assert policy.low == ullage.Policy.preset("supyagent").low
    settings = ContextSettings.from_dict({"context": {"auto_summarize": False}, "model": "gpt-4o"})
    messages = [{"role": "user", "content": "word"}] * 40
    assert not settings.manager().should_summarize(messages)
    assert ContextSettings(model="gpt-4o").manager().should_summarize(messages)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_tokens_before_summary": 20_000, "max_messages_before_summary": 1_000},
        {"max_tokens_before_summary": 60_000},
        {"max_messages_before_summary": 12},
        {"max_messages_before_summary": 4},
        {"max_messages_before_summary": 1, "min_recent_messages": 12},
        {"response_reserve": 500_000},
    ],
    ids=str,
)
def test_an_engine_with_the_settings_goes_down_so_far_that_the_next_turns_pass(settings):
    policy = ContextSettings(**settings).policy("gpt-4o")
    assert policy.low <= 0.6 * policy.high
    assert policy.max_messages is not None
    assert policy.max_messages * (1 - policy.low_messages) >= 4
    engine = ullage.ContextManager(policy, summarizer=lambda _: "so far so good")
    messages, compactions = [], []
    for number in range(200):
        role = "assistant" if number % 2 else "user"
        messages.append({"role": role, "content": f"word{number} " * 400})
        if engine.compact(messages).stages:
            compactions.append(number)
    assert all(b - a >= 4 for a, b in itertools.pairwise(compactions))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("context: [", "agent.yaml"),
        ("context: 3", "must be a mapping"),
        ("- 3", "not settings"),
        ("context: {max_mesages: 3}", "max_mesages"),
        ("context: {min_recent_messages: many}", "min_recent_messages"),
        ("context: {min_recent_messages: 0}", "min_recent_messages"),
        ("context: {auto_summarize: 1}", "auto_summarize"),
        ("model: {provider: [1]}", "model"),
        ("a: !!python/object/apply:os.getcwd []", "agent.yaml"),
    ],
)
def test_settings_that_cannot_be_read_are_said(text, says, tmp_path):
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    with pytest.raises(ullage.PolicyError, match=says):
        ContextSettings.load(file)
    with pytest.raises(ullage.PolicyError):
        ContextSettings.load(tmp_path / "missing.yaml")
    with pytest.raises(ullage.PolicyError, match="do not name a model"):
        ContextSettings().manager()


def test_lines_behind_a_summary_give_way_before_its_words(tmp_path):
    words = "Keep the service on port 8080. " * 8
    lines = "a line that the summary leaves out\n" * 600
    save(ContextSummary(words, 50, 0, 49, lines=lines), tmp_path / "summary.json")
    manager = ContextManager("gpt-4", summary_storage_path=tmp_path / "summary.json")
    messages = [{"role": "user", "content": f"step {n}"} for n in range(60)]
    sent = manager.build_messages_for_llm("You are an agent.", messages)
    assert any(words.strip() in str(message["content"]) for message in sent)
