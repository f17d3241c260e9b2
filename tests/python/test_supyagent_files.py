"""Supyagent's face on disk and on the screen: summaries, settings, the picture of the context."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone

import pytest

import ullage
from ullage.supyagent import ContextManager, ContextSummary

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


def test_a_summary_of_another_history_is_not_used(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(SUMMARY))
    made = ContextManager("gpt-4", summary_storage_path=path)
    messages = [{"role": "user", "content": "Hi"}] * 4
    assert made.build_messages_for_llm("System", messages)[1:] == messages


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
    ],
    ids=range(10),
)
def test_a_file_that_holds_no_summary_is_said_and_passed_over(text, tmp_path, caplog):
    path = tmp_path / "summary.json"
    path.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert ContextManager("gpt-4", summary_storage_path=path).summary is None
    assert "no summary" in caplog.text
    path.write_bytes(b"\xff")
    assert ContextManager("gpt-4", summary_storage_path=path).summary is None


def test_a_summary_survives_json():
    summary = ContextSummary("text", 10, 0, 9, token_count=3, lines="1: x", kept=[4])
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


def test_threads_that_write_one_file_leave_one_whole_summary(tmp_path):
    path = tmp_path / "summary.json"

    def work(number):
        made = ContextManager("gpt-4o", Client(f"by {number} " * 200), path)
        made._summary = None
        made.generate_summary(history(20))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
