"""The commands of `ullage`: every kind of file, JSON, codes, errors, terminals."""

import json
import os
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ullage

from .commands import (
    BEDROCK,
    COMMAND,
    MESSAGES,
    SMALL,
    bare,
    claude_code,
    every_kind,
    inside,
    lines,
    run,
)

# Opens a terminal of its own for a command, on systems that have such.
pty = pytest.importorskip("pty") if os.name == "posix" else None
ESCAPE = "\x1b"
READING = {
    "count": ("count",),
    "status": ("status", *SMALL),
    "plan": ("plan", *SMALL),
    "compact": ("compact", *SMALL),
    "lint": ("lint",),
    "repair": ("repair",),
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return every_kind(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(MESSAGES))
    return path


@pytest.mark.parametrize("name", READING)
def test_every_command_reads_every_kind_of_file_and_standard_input(name, kinds):
    command = READING[name]
    code = {"status": 1, "plan": 1}.get(name, 0)
    for kind, path in kinds.items():
        found = inside(*command, "--json", path)
        assert found[0] == code, (kind, found[2])
        values = [json.loads(line) for line in found[1].splitlines()]
        if name != "lint":
            assert len(values) == (2 if kind == "two.jsonl" else 1), kind
        if path.is_file() and path.suffix in {".json", ".jsonl"}:
            piped = inside(*command, "--json", "-", stdin=path.read_bytes())
            named = [{**value, "file": 0} for value in values]
            again = [{**json.loads(line), "file": 0} for line in piped[1].splitlines()]
            for value in (*named, *again):
                value.get("report", {}).pop("elapsed", None)
            # The sizes of marks and times differ by nothing: the same bytes give the same plan.
            assert (piped[0], again) == (code, named), kind


@pytest.mark.parametrize("name", READING)
def test_every_command_says_in_words_what_it_says_in_json(name, kinds):
    for kind, path in kinds.items():
        code, out, err = inside(*READING[name], path)
        assert code in {0, 1}, (kind, err)
        if name != "lint":
            assert out + err, kind
        assert "{" not in err


def test_counts_are_those_of_the_counter(file, tmp_path):
    text = tmp_path / "notes.md"
    text.write_text("Buy milk and bread.")
    for more, counter in (
        ((), ullage.TokenCounter()),
        (("--encoding", "cl100k_base"), ullage.TokenCounter("cl100k_base")),
        (("--model", "claude-sonnet-4-5"), ullage.TokenCounter.for_model("claude-sonnet-4-5")),
    ):
        code, out, _ = inside("count", file, text, *more, "--json")
        first, second = (json.loads(line) for line in out.splitlines())
        assert code == 0
        assert first["tokens"] == counter.count_messages(MESSAGES) == sum(first["parts"].values())
        assert first["format"] == "anthropic"
        assert second["parts"] == {"text": counter.count("Buy milk and bread.")}
    _, out, _ = inside("count", file, text)
    heads, *rows, below = out.splitlines()
    assert heads.split()[:2] == ["file", "messages"]
    assert [row.split()[0] for row in rows] == [str(file), str(text), "all"]
    assert below == "counted by o200k_base"


def test_a_conversation_can_be_counted_as_text(file):
    _, out, _ = inside("count", "--text", "--json", file)
    assert json.loads(out)["tokens"] == ullage.count_tokens(file.read_text())


def test_a_plan_is_short_and_explains_itself(file):
    short = inside("plan", file, *SMALL)
    full = inside("plan", file, *SMALL, "--explain")
    assert short[0] == full[0] == 1
    assert short[1].splitlines()[0] == full[1].splitlines()[0]
    assert short[1].splitlines()[-1] == full[1].splitlines()[-1]
    assert "why" not in short[1]
    assert "the oldest messages that may be removed" in full[1]
    plan = json.loads(inside("plan", file, *SMALL, "--json")[1])
    assert ullage.Plan.from_dict(plan).tokens_before == plan["tokens_before"]
    assert inside("plan", file) == (0, inside("plan", file)[1], "")
    assert "nothing to do" in inside("plan", file)[1]


def test_a_dry_run_stores_nothing(file, tmp_path):
    assert inside("plan", file, *SMALL, "--store", tmp_path / "store")[0] == 1
    assert not (tmp_path / "store").exists()


def test_status_says_what_takes_the_room(file):
    largest = json.loads(inside("status", file, *SMALL, "--json")[1])["largest"]
    _, out, _ = inside("status", file, *SMALL)
    assert largest.startswith("message ")
    assert "characters" in largest or "result" in largest
    assert out.rstrip().endswith(f"The largest: {largest}.")
    assert largest not in inside("status", file, *SMALL, "--tokens")[1]
    assert "most room" not in inside("status", file)[1], "no message takes a tenth of the budget"
    file.write_text("[]")
    assert json.loads(inside("status", file, "--json", "--format", "openai")[1])["largest"] is None
    assert "The largest" not in inside("status", file, "--format", "openai")[1]


def test_budget_pins_and_what_stands_beside_are_heeded(file, tmp_path):
    (tmp_path / "system.txt").write_text("Be brief. " * 500)
    (tmp_path / "tools.json").write_text('[{"name": "read", "input_schema": {}}]')
    beside = ("--system", tmp_path / "system.txt", "--tools", tmp_path / "tools.json")
    _, out, _ = inside("status", file, "--json", *beside)
    assert json.loads(out)["fixed"] > 1_000
    code, out, _ = inside("compact", file, "--budget", "3000", "--pin", "2", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["report"]["budget"] == 3000
    assert MESSAGES[2] in found["messages"]
    assert ullage.TokenCounter().count_messages(found["messages"]) <= 3000


def test_an_agents_file_is_a_policy_too(file, tmp_path):
    pytest.importorskip("yaml")
    agent = tmp_path / "agent.yaml"
    agent.write_text("name: a\nmodel: gpt-4o\ncontext:\n  max_messages_before_summary: 5\n")
    _, out, _ = inside("status", file, "--json", "--policy", agent)
    from ullage.supyagent import ContextSettings

    most = ContextSettings.load(agent).policy().max_messages
    assert most is not None
    assert json.loads(out)["max_messages"] == most


@pytest.mark.parametrize("name", [*READING, "retrieve", "replay", "policy", "completion", ""])
def test_the_help_says_what_the_codes_mean(name):
    code, out, _ = inside(*filter(None, [name]), "--help")
    assert code == 0
    if name != "policy":
        assert "exit codes: 0 for success" in " ".join(out.split())


def test_the_demo_finds_its_answer_within_its_window():
    code, out, err = inside("demo")
    assert (code, err) == (0, "")
    sizes = [int(line.split()[-1].replace(",", "")) for line in out.splitlines()[1:4]]
    whole, window, largest = sizes
    assert largest <= window < whole
    assert ", 0 invalid requests" in out
    assert out.count(": yes") == 2


def test_without_a_command_the_help_is_printed():
    code, out, err = run()
    assert (code, out) == (2, "")
    assert "compact" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "FILE", "--budget", "10"], "cannot be made smaller than"),
        (["plan", "FILE", "--budget", "ten"], "whole number"),
        (["plan", "FILE", "--budget", "0"], "at least 1"),
        (["plan", "FILE", "--pin", "999"], "names no message"),
        (["plan", "FILE", "--policy", "unheard-of"], "there is no preset 'unheard-of'"),
        (["plan", "FILE", "--policy", "nothing.toml"], "No such file"),
        (["plan", "FILE", "--policy", "FILE"], "list, not settings"),
        (["plan", "FILE", "--set", "window"], "setting=value"),
        (["plan", "FILE", "--set", "window=-1"], "window"),
        (["plan", "FILE", "--set", "hihg=1"], "hihg"),
        (["plan", "FILE", "--tools", "nothing.json"], "No such file"),
        (["plan", "FILE", "--tools", "README"], "not valid JSON"),
        (["plan", "FILE", "--format", "bedrock"], "in anthropic form"),
        (["plan", "FILE", "--format", "morse"], "unknown format 'morse'"),
        (["plan", "FILE", "--explain", "--json"], "not allowed with"),
        (["plan", "README"], "not valid JSON"),
        (["plan", "a" * 5_000], "too long"),
        (["plan"], "required"),
        (["plna", "FILE"], "unknown command 'plna'; did you mean 'plan'?"),
        (["compact", "FILE", "--set", 'summaries="required"'], "summarizer"),
        (["count", "nothing.txt"], "No such file"),
        (["compact", "FILE", "--budget", "3000", "--store", "README"], "readme"),
        (["retrieve", "--store", "README"], "folder not found"),
        (["count", "BINARY"], "neither a conversation nor text"),
        (["repair", "FILE", "--open-calls", "drop"], "invalid choice"),
        (["policy"], "required"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(arguments, says, file, tmp_path):
    (tmp_path / "readme").write_text("hello")
    (tmp_path / "binary").write_bytes(b"\xff\x00\xfe\xe9")
    places = {"FILE": file, "README": tmp_path / "readme", "BINARY": tmp_path / "binary"}
    code, out, err = inside(*(places.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert says in err


def test_an_invalid_history_is_repaired(tmp_path):
    file = tmp_path / "orphan.json"
    file.write_text(json.dumps([*MESSAGES[:1], *MESSAGES[2:]]))
    code, out, _ = inside("compact", file, "--budget", "3000", "-q")
    assert code == 0
    assert inside("lint", "-", stdin=out)[0] == 0
    mended = inside("repair", file)
    assert mended[0] == 0
    assert inside("lint", "-", stdin=mended[1])[0] == 0
    assert inside("compact", "-", "--budget", "3000", "-q", stdin=mended[1])[::2] == (0, "")


def test_an_open_call_is_answered_or_removed(tmp_path):
    file = tmp_path / "open.json"
    file.write_text(json.dumps(MESSAGES[:2]))
    assert len(json.loads(inside("repair", file)[1])) == 3
    code, out, err = inside("repair", file, "--open-calls", "remove")
    assert (code, len(json.loads(out))) == (0, 2)
    assert "was removed" in err
    found = json.loads(inside("repair", file, "--json")[1])
    assert found["repairs"][0]["rule"] == "call-has-result"
    assert len(found["messages"]) == 3


@pytest.mark.parametrize("name", READING)
def test_an_empty_conversation_needs_nothing(name):
    for empty in ("[]", '{"messages": []}'):
        code, out, err = inside(*READING[name], "--json", "-", stdin=empty)
        assert code == 0, err
        if name in {"compact", "repair"}:
            assert json.loads(out)["messages"] == []
            assert inside(name, "-q", "-", stdin=empty)[1].strip() == empty


def test_without_the_extras_all_but_other_forms_works(file, tmp_path):
    works = [
        ["count", file],
        ["status", file],
        ["plan", file],
        ["compact", file, "-o", tmp_path / "out.json", "--store", tmp_path, "--budget", "3000"],
        ["lint", file],
        ["repair", file],
        ["retrieve", "--store", tmp_path, "--pattern", "call-1"],
        ["policy", "show", "valis", "--json"],
        ["policy", "show", "valis"],
        ["policy", "presets"],
    ]
    needs = [
        ["policy", "show", "valis", "--yaml"],
        ["completion", "bash"],
    ]
    found = bare([*works, *needs])
    for arguments, (code, _, err) in zip(works, found, strict=False):
        assert code == 0, (arguments, err)
    for arguments, (code, out, err) in zip(needs, found[len(works) :], strict=True):
        assert (code, out) == (2, ""), arguments
        assert "pip install 'ullage[" in err


def test_a_fault_of_ullage_is_told_without_a_traceback(monkeypatch, file):
    def broken(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("ullage.cli.lint.read_all", broken)
    code, _, err = inside("lint", file)
    assert code == 2
    assert "ZeroDivisionError: division by zero; this is a bug in ullage" in err


NAMES = ["role", "content", "parts", "type", "text", "messages", "events", "uuid", "message", "parentUuid", "id", "tool_calls", "ullage", "of", "items"]  # fmt: skip
ATOMS = st.sampled_from([None, True, 3, 1.5, "", "user", "assistant", "tool_use", "\ud800", "view"])
TREES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
)


@given(values=st.lists(TREES, min_size=1, max_size=4), on_lines=st.booleans())
@settings(deadline=None)
def test_whatever_json_holds_no_command_is_at_fault(values, on_lines):
    text = lines(values) if on_lines else json.dumps(values)
    for command in READING.values():
        code, _, err = inside(*command, "--json", "-", stdin=text)
        assert code in {0, 1, 2, 3}, text
        assert "fault of ullage" not in err, text


@pytest.mark.parametrize("name", ["uuid", "parentUuid", "message", "type"])
@pytest.mark.parametrize("value", [None, 3, [], {}, {"id": []}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": []}]}])  # fmt: skip
def test_a_damaged_line_of_claude_code_is_no_fault(name, value):
    said = claude_code()[:6]
    said[3][name] = value
    for command in READING.values():
        code, _, err = inside(*command, "--json", "-", stdin=lines(said))
        assert code in {0, 1, 2, 3}
        assert "fault of ullage" not in err


def test_closed_streams_are_no_fault(file):
    # Not the first, of which test_lint.py says it.
    for number in (1, 2):
        command = ["/bin/sh", "-c", f'"$@" {number}>&-', "sh", *COMMAND, "plan", str(file)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode in {0, 2}
        assert b"Traceback" not in done.stderr


def on_terminal(*arguments, **environment):
    """The output of a command on a terminal."""
    assert pty is not None
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **environment}
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # So Linux says that it was closed.
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode in {0, 1, 2}
    return shown.decode()


@pytest.mark.skipif(pty is None, reason="terminals of POSIX")
def test_colours_are_for_terminals_that_want_them(file, tmp_path):
    pytest.importorskip("rich")
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(MESSAGES[:2]))
    for arguments in (["lint", broken], ["count", file], ["plan", tmp_path / "nothing.json"]):
        assert ESCAPE in on_terminal(*arguments)
        assert ESCAPE not in on_terminal(*arguments, NO_COLOR="1")
        assert ESCAPE not in "".join(map(str, inside(*arguments)))


@pytest.mark.skipif(pty is None, reason="terminals of POSIX")
def test_a_long_name_breaks_no_column(tmp_path):
    name = f"{'a-long-name-' * 15}é.json"
    for each in (name, "short.json"):
        (tmp_path / each).write_text(json.dumps(MESSAGES))
    lines = on_terminal("count", tmp_path, COLUMNS="100", NO_COLOR="1").splitlines()
    assert max(map(len, lines)) <= 100
    rows = [line.split() for line in lines]
    assert (
        "".join(row[0] for row in rows[1:-2]).replace(str(tmp_path), "").count("a-long-name-") == 15
    )
    # A file has the whole name in its line.
    assert name in inside("count", tmp_path)[1]


@pytest.mark.skipif(pty is None, reason="terminals of POSIX")
def test_a_conversation_cannot_steer_the_terminal(tmp_path):
    file = tmp_path / "bad.json"
    evil = f"{ESCAPE}]0;owned\x07{ESCAPE}[2J\x9b31m"
    call = {"type": "tool_use", "id": evil, "name": "a", "input": {}}
    file.write_text(json.dumps([{"role": "user", "content": "x"}, {"role": "assistant", "content": [call]}]))  # fmt: skip
    shown = on_terminal("lint", file, NO_COLOR="1")
    assert "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m" in shown
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x9b]", shown)


def test_what_is_piped_from_one_command_is_read_by_the_next():
    compacted = run("compact", "-", *SMALL, "--json", stdin=json.dumps(BEDROCK))[1]
    code, out, _ = run("count", "-", "--json", stdin=compacted)
    assert code == 0
    assert json.loads(out)["tokens"] == json.loads(compacted)["report"]["tokens_after"]
