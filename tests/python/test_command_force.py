"""No command writes over what it cannot give back, unless it is forced to."""

import json
import os

import pytest

import ullage

from .commands import MESSAGES, SMALL, inside, lines
from .test_replay import long_session

SESSION = long_session().messages


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SESSION))
    return path


# Every command that writes a file, and the option that names it.
WRITING = {
    "compact": ("compact", *SMALL, "-q", "-o"),
    "repair": ("repair", "-q", "-o"),
    "report": ("report", "-o"),
    "replay": ("replay", "--context", "4000", "--html"),
}


@pytest.mark.parametrize("name", WRITING)
def test_a_file_that_exists_is_written_over_only_with_force(name, file, tmp_path):
    command, *more = WRITING[name]
    target = tmp_path / "mine.txt"
    target.write_text("my notes")
    code, out, err = inside(command, file, *more, target)
    assert (code, out, target.read_text()) == (2, "", "my notes")
    assert f"{target} exists" in err
    assert "--force" in err
    assert inside(command, file, *more, target, "--force")[0] == 0
    assert target.read_text() != "my notes"
    # A new file, a pipe and a device need no force.
    assert inside(command, file, *more, tmp_path / "new.txt")[0] == 0
    assert inside(command, file, *more, os.devnull)[0] == 0


def test_a_second_report_does_not_write_over_the_first(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert inside("report", file)[0] == 0
    page = tmp_path / "report.html"
    page.write_text("mine")
    code, _, err = inside("report", file)
    assert (code, page.read_text()) == (2, "mine")
    assert "report.html exists" in err
    code, out, _ = inside("report", file, "--force")
    assert (code, out.splitlines()[0]) == (0, "report.html")
    assert page.read_text() != "mine"


@pytest.mark.parametrize("form", ["list", "lines"])
def test_messages_are_not_lost_in_place_without_force(form, tmp_path):
    path = tmp_path / "a.jsonl"
    before = json.dumps(MESSAGES) if form == "list" else lines(MESSAGES)
    path.write_text(before)
    code, out, err = inside("compact", "-i", path, *SMALL)
    assert (code, out, path.read_text()) == (2, "", before)
    assert f" of {len(MESSAGES)} messages would be lost or shortened for good" in err
    assert "--store" in err
    assert inside("compact", "-i", path, *SMALL, "--force", "-q") == (0, "", "")
    assert len(path.read_text()) < len(before)


def test_with_a_store_or_a_transcript_nothing_is_lost_and_no_force_is_needed(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(MESSAGES))
    assert inside("compact", "-i", path, *SMALL, "--store", tmp_path / "s", "-q") == (0, "", "")
    transcript = tmp_path / "t.jsonl"
    with ullage.Transcript(transcript) as opened:
        opened.extend(MESSAGES)
    assert inside("compact", "-i", "--transcript", transcript, *SMALL, "-q") == (0, "", "")


def test_a_repair_in_place_needs_force_only_where_it_removes_something(tmp_path):
    path = tmp_path / "a.json"
    # An open call gets an answer: nothing is lost.
    path.write_text(json.dumps(MESSAGES[:2]))
    assert inside("repair", "-i", path)[0] == 0
    assert len(json.loads(path.read_text())) == 3
    # A call that is removed is lost.
    before = json.dumps(MESSAGES[:2])
    path.write_text(before)
    remove = ("repair", "-i", path, "--open-calls", "remove")
    code, _, err = inside(*remove)
    assert (code, path.read_text()) == (2, before)
    assert "1 of 2 messages would be lost" in err
    assert "--store" not in err
    assert inside(*remove, "--force")[0] == 0
    assert json.loads(path.read_text()) != json.loads(before)
