"""One line or file that cannot be read stops no command: the rest is read, and it is listed."""

import gzip
import json

import pytest

import ullage
from ullage import replay
from ullage.sessions import UnreadableSessionError, read_sessions

from .commands import BEDROCK, MESSAGES, SMALL, inside, lines
from .test_replay import long_session

GOOD = {"role": "user", "content": "Hello"}
TWICE = json.dumps(GOOD) + json.dumps(GOOD)
# Lines as a crash, a second writer or an editor may leave them, and what is said of each.
DAMAGED = {
    "torn": ('{"role": "user", "con', "not valid JSON"),
    "a word": ("hello", "not valid JSON"),
    "a number": ("12", "it holds a int, not an object"),
    "no message": ('{"model": "x"}', "it holds no message"),
    "torn twice": (json.dumps(GOOD) + ' {"role"', "not valid JSON"),
    "deep": ("[" * 100_000, "nested too deeply"),
}
COMMANDS = {
    "count": ("count",),
    "status": ("status",),
    "plan": ("plan", "--budget", "100000"),
    "compact": ("compact", "--budget", "100000"),
    "lint": ("lint",),
    "repair": ("repair",),
}


@pytest.fixture
def folder(tmp_path):
    """A folder in which one file and one line of another are damaged."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "good.json").write_text(json.dumps(MESSAGES))
    (folder / "package.json").write_text('{"name": "x"}')
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(lines(MESSAGES).encode())[:-9])
    (folder / "lines.jsonl").write_text(lines([GOOD]) + "\n" + "{\n" + lines([GOOD]))
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_what_can_be_read_is_read_and_the_rest_is_listed(name, folder):
    code, out, err = inside(*COMMANDS[name], folder, "--json")
    assert code == 3
    if name != "lint":
        read = [json.loads(line)["file"] for line in out.splitlines()]
        assert read == [str(folder / "good.json"), str(folder / "lines.jsonl")]
    listed = [line for line in err.splitlines() if line.startswith("ullage: ")]
    assert [line.split(": ")[1] for line in listed] == [
        str(folder / "cut.jsonl.gz"),
        f"{folder / 'lines.jsonl'}:3",
        str(folder / "package.json"),
    ]
    assert "not valid JSON" in listed[1]
    assert "no list of messages" in listed[2]


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_line_is_named_and_the_others_are_counted(name, tmp_path):
    line, says = DAMAGED[name]
    file = tmp_path / "a.jsonl"
    file.write_text(lines([GOOD]) + line + "\n" + lines([GOOD]))
    code, out, err = inside("count", "--json", file)
    assert (code, json.loads(out)["messages"]) == (3, 2)
    assert f"{file}:2: " in err
    assert says in err


def test_all_values_on_one_line_are_read_and_the_line_is_named(tmp_path):
    file = tmp_path / "a.jsonl"
    for text, number in ((TWICE, 1), (lines([GOOD]) + TWICE + "\n", 2)):
        file.write_text(text)
        code, out, err = inside("count", "--json", file)
        assert (code, json.loads(out)["messages"]) == (3, number + 1)
        assert f"{file}:{number}: 2 JSON values are on one line" in err


def test_a_replay_measures_the_sessions_that_can_be_read(tmp_path):
    messages = long_session().messages
    (tmp_path / "a.jsonl").write_text(lines(messages))
    first, second, *others = lines(messages).splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_text(first.rstrip() + second + "".join(others))
    (tmp_path / "c.json").write_text("[{}")
    (tmp_path / "d.json").write_text('[{"role": "user", "content": 5}]')
    code, out, err = inside("replay", tmp_path, "--context", "4000", "--budget", ".5", "--json")
    assert code == 3
    cuts = [cut for cut in json.loads(out)["cuts"] if cut["context"] == 4_000]
    assert {cut["session"] for cut in cuts} == {str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")}  # fmt: skip
    assert f"{tmp_path / 'b.jsonl'}:1: 2 JSON values" in err
    assert f"{tmp_path / 'c.json'}: " in err
    assert f"{tmp_path / 'd.json'}: " in err


def test_a_replay_lists_a_session_whose_messages_cannot_be_read():
    bad = replay.Session("bad", [{"role": "user", "content": 5}])
    sweep = replay.Sweep([replay.read_policy("default")], contexts=[4_000])
    found = replay.replay([bad, long_session()], sweep)
    assert found.cuts
    assert [session.name for session in found.unreadable] == ["bad"]
    assert found.to_dict()["unreadable"][0]["problem"] == found.unreadable[0].problem


def test_a_conversation_that_fails_stops_no_other(tmp_path):
    file = tmp_path / "two.jsonl"
    bad = [5]
    file.write_text(lines([{"messages": bad}, {"messages": MESSAGES}, {"messages": BEDROCK}]))
    for name, command in COMMANDS.items():
        code, out, err = inside(*command, file, "--json")
        named = [json.loads(line)["file"] for line in out.splitlines()]
        if name == "lint":
            # It finds what is wrong with the conversation.
            assert (code, named) == (1, [f"{file}:1"])
            continue
        assert (code, named) == (3, [f"{file}:2", f"{file}:3"]), name
        assert f"{file}:1: " in err
        assert "ullage repair" not in err
    other = tmp_path / "other.jsonl"
    assert inside("compact", file, *SMALL, "-q", "-o", other)[0] == 3
    assert len(read_sessions(other)) == 2


def test_what_cannot_be_read_is_never_written_over(tmp_path):
    file = tmp_path / "a.jsonl"
    before = lines(MESSAGES) + "{\n"
    file.write_text(before)
    for where in (["-i", "--force"], ["-o", file, "--force"]):
        code, _, err = inside("compact", file, *SMALL, *where)
        assert (code, file.read_text()) == (2, before)
        assert "a.jsonl:42: " in err
        assert "is unchanged" in err
    other = tmp_path / "b.jsonl"
    assert inside("compact", file, *SMALL, "-q", "-o", other)[0] == 3
    assert read_sessions(other)


def test_files_of_policies_and_of_strands_are_read_one_by_one(tmp_path):
    (tmp_path / "good.json").write_text("{}")
    code, _, err = inside("policy", "check", tmp_path / "none.json", tmp_path / "good.json")
    assert (code, "none.json" in err) == (3, True)
    messages = tmp_path / "agents" / "agent_a" / "messages"
    messages.mkdir(parents=True)
    for number, message in enumerate(BEDROCK[:3]):
        text = json.dumps({"message": message}) if number != 1 else "{"
        (messages / f"message_{number}.json").write_text(text)
    code, out, err = inside("count", "--json", tmp_path)
    assert (code, json.loads(out)["messages"]) == (3, 2)
    assert f"{messages / 'message_1.json'}: " in err


def test_where_nothing_can_be_read_the_command_failed(tmp_path):
    (tmp_path / "a.json").write_text("{")
    for name in (*COMMANDS, "replay", "report"):
        code, out, err = inside(*COMMANDS.get(name, (name,)), tmp_path)
        assert (code, out) == (2, "")
        assert "a.json: it is not valid JSON" in err
    code, _, err = inside("count", tmp_path / "none.txt", tmp_path / "a.json", "--json")
    assert (code, err.count("ullage: ")) == (2, 2)


def test_lines_that_a_crash_left_in_a_transcript_are_listed(tmp_path):
    file = tmp_path / "a.jsonl"
    with ullage.Transcript(file) as transcript:
        transcript.extend(MESSAGES)
        transcript.hide(0, 1)
    with file.open("a") as opened:
        opened.write('{"role"')
    code, out, err = inside("count", "--json", file)
    assert (code, json.loads(out)["messages"]) == (3, len(MESSAGES) - 1)
    assert f"{file}: " in err


def test_a_program_may_collect_what_cannot_be_read(folder):
    with pytest.raises(UnreadableSessionError) as refused:
        read_sessions(folder)
    found: list[UnreadableSessionError] = []
    assert len(read_sessions(folder, found.append)) == 2
    assert str(found[0]) == str(refused.value)
    assert (found[1].file, found[1].line) == (str(folder / "lines.jsonl"), 3)
    assert found[1].problem in str(found[1])
