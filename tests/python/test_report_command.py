"""`ullage report`: its page, its exit codes and its errors."""

import json
import re
from functools import partial
from xml.etree import ElementTree as ET

import pytest

import ullage

from .commands import inside
from .recorded_sessions import record
from .test_replay import long_session


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sessions") / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, long_session().messages)))
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(inside, "report")


def test_a_recorded_session_is_followed_with_a_policy(run, file, tmp_path):
    code, out, err = run(file, "--window", "9000")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"report.html\n\d+ requests: [\d,]+ new tokens \w+, .+\n", out)
    page = (tmp_path / "report.html").read_text()
    ET.fromstring(page)
    assert "window of 9,000 tokens" in page
    assert 'id="compaction-1"' in page
    assert '<details class="piece"' in page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_file_of_a_recorder_is_drawn_with_its_store(run, tmp_path):
    recorder = ullage.Recorder(tmp_path / "run.jsonl", name="a real run")
    record(recorder, ullage.FileStore(tmp_path / "outputs"))
    assert run("run.jsonl", "--store", "outputs", "-o", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert page == recorder.html(folder=tmp_path)
    before = (tmp_path / "run.jsonl").read_bytes()
    code, out, _ = run("run.jsonl", "-o", "-")
    assert code == 0
    assert "No store was given" in out
    assert (tmp_path / "run.jsonl").read_bytes() == before


def test_what_leaves_a_recorded_session_is_stored_where_asked(run, file, tmp_path):
    assert run(file, "--window", "9000", "--store", "out", "-o", "page.html")[0] == 0
    assert list((tmp_path / "out").glob("*.log"))
    assert 'href="./out/' in (tmp_path / "page.html").read_text()


def test_a_model_brings_its_window_and_its_prices(run, file):
    code, out, _ = run(file, "--model", "claude-sonnet-4-5", "-o", "-")
    assert code == 0
    assert "claude-sonnet-4-5 · window of 200,000 tokens" in out
    assert "($)" in out


def test_one_of_several_sessions_is_chosen(run, file, tmp_path):
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    both = tmp_path / "both.jsonl"
    both.write_text("\n".join(json.dumps({"messages": part}) for part in (messages[:5], messages)))
    code, out, err = run(both, "-o", "-")
    assert (code, err) == (0, "ullage: session 1 of 2; --session chooses another\n")
    assert out != run(both, "-o", "-", "--session", "2")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.json"], "none.json"),
        (["SESSION", "--policy", "unheard-of"], "there is no preset 'unheard-of'"),
        (["SESSION", "--window", "0"], "window"),
        (["SESSION", "--session", "2"], "choose one with --session"),
        (["SESSION", "-o", "no/folder/page.html"], "cannot write the page"),
        (["SESSION", "-o", "."], "cannot write the page"),
        (["damaged.jsonl"], "line 2"),
        (["SESSION", "--store", "SESSION", "--window", "9000"], "ullage: "),
    ],
)
def test_what_is_wrong_is_said_and_leaves_no_page(arguments, says, run, file, tmp_path):
    (tmp_path / "damaged.jsonl").write_text('{"failure":{"why":"a"}}\n{"role": "user"}\n')
    code, out, err = run(*(str(file) if one == "SESSION" else one for one in arguments))
    assert (code, out) == (2, "")
    assert says in err
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.jsonl"]
