"""`--dry-run` writes nothing; options that every planning command has; mistakes that are named."""

import json

import pytest

import ullage

from .commands import MESSAGES, inside, lines

SMALL = ("--window", "4000")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(MESSAGES))
    return path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("compact", "-o", "new.json", "--store", "store"), id="compact-output"),
        pytest.param(("compact", "-i", "--store", "store"), id="compact-in-place"),
        pytest.param(("compact", "--store", "store"), id="compact"),
        pytest.param(("report", "-o", "new.html", "--store", "store"), id="report"),
        pytest.param(
            ("replay", "--context", "6000", "--html", "new.html", "--jobs", "1"), id="replay"
        ),
    ],
)
def test_a_dry_run_reports_and_writes_nothing(command, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    code, out, errors = inside(*command, *SMALL, "--dry-run", file)
    assert (code, contents(tmp_path), list(tmp_path.iterdir())) == (0, before, [file]), errors
    assert "nothing was written" in errors
    assert not out
    assert inside(*command, *SMALL, file)[0] == 0
    written = command[0] != "compact" or "-o" in command or "--store" in command
    assert (contents(tmp_path) != before) is written


def test_a_dry_run_of_a_repair_leaves_the_file(tmp_path):
    broken = [*MESSAGES, {"role": "user", "content": " "}]
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(broken))
    code, _, errors = inside("repair", "-i", "--dry-run", "--force", path)
    assert code == 0
    assert "no-blank-text" in errors
    assert json.loads(path.read_text()) == broken


def test_a_dry_run_leaves_a_transcript(tmp_path):
    path = tmp_path / "transcript.jsonl"
    with ullage.Transcript(path) as transcript:
        transcript.extend(MESSAGES)
        transcript.hide(0, 1)
    before = path.read_bytes()
    command = ("compact", *SMALL, "-i", "--transcript", "--store", tmp_path / "store", path)
    code, _, errors = inside(*command, "--dry-run")
    assert (code, path.read_bytes()) == (0, before), errors
    assert "to be stored" in errors
    assert inside(*command)[0] == 0
    assert path.read_bytes() != before


def test_a_dry_run_says_the_same_as_the_run(file, tmp_path):
    command = ("compact", *SMALL, "--json", "--store", tmp_path / "store", file)
    reports = []
    for extra in ("--dry-run", "--quiet"):
        (found,) = inside(*command, extra)[1].splitlines()
        report = json.loads(found)["report"]
        report.pop("elapsed")
        reports.append(report)
    assert reports[0] == reports[1]


@pytest.mark.parametrize("command", ["status", "plan", "compact", "report", "replay"])
def test_every_command_that_plans_takes_a_window_and_a_model(command, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--window", "4000", "--model", "claude-sonnet-4-5")
    more = ("--context", "4000", "--jobs", "1") if command == "replay" else ()
    code, _, errors = inside(command, *options, *more, file)
    assert code in {0, 1}, errors
    code, _, errors = inside(command, "--window", "0", file)
    assert (code, "at least 1" in errors) == (2, True)


def test_a_window_is_that_of_the_plan(file):
    plan = json.loads(inside("plan", "--json", "--window", "4000", file)[1])
    again = json.loads(inside("plan", "--json", "--set", "window=4000", file)[1])
    assert plan == again
    assert plan["budget"]["limit"] == 3_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plann", "x"), "unknown command 'plann'; did you mean 'plan'?"),
        (("policy", "shwo"), "unknown command 'shwo'; did you mean 'show'?"),
        (("policy", "frobnicate"), "unknown command 'frobnicate'; use presets, show, check"),
        (("plan", "x", "--bugdet=3"), "unknown option '--bugdet'; did you mean '--budget'?"),
        (("compact", "x", "--dryrun"), "unknown option '--dryrun'; did you mean '--dry-run'?"),
        (("count", "x", "--frobnicate"), "unknown option '--frobnicate'"),
        (("plan", "x", "--set", "windw=3"), "windw: there is no such setting; the nearest: window"),
    ],
)
def test_a_misspelled_word_is_answered_with_the_nearest(arguments, said):
    code, _, errors = inside(*arguments)
    assert code == 2
    assert said in errors


def test_files_that_are_no_conversation_are_named_for_what_they_are(tmp_path):
    recording = tmp_path / "recording.jsonl"
    engine = ullage.ContextManager(ullage.Policy(window=4_000), recorder=ullage.Recorder(recording))
    engine.compact([*MESSAGES])
    code, _, errors = inside("plan", recording)
    assert code == 2
    assert "recording of `ullage.Recorder`; `ullage report` draws it" in errors
    for message in (
        {"type": "human", "data": {"content": "Hi", "type": "human"}},
        {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Hi"}},
    ):
        for stdin in (json.dumps([message]), lines([message])):
            code, _, errors = inside("plan", "-", stdin=stdin)
            assert (code, "`convert_to_openai_messages`" in errors) == (2, True), errors
