"""`ullage policy`, `ullage retrieve` and `ullage completion`."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import ullage
from ullage.cli.options import policy_of
from ullage.cli.policy import PRESETS
from ullage.cli.program import parser_of_commands

from .commands import COMMAND, MESSAGES, SMALL, inside

FORMS = ["toml", "yaml", "json"]


def needs(form):
    """TOML is written by the command itself, and read by Python from 3.11 on."""
    if form == "toml" and sys.version_info < (3, 11):
        pytest.importorskip("tomli")
    if form == "yaml":
        pytest.importorskip("yaml")


def test_all_presets_are_listed():
    with pytest.raises(ullage.PolicyError) as refused:
        ullage.Policy.preset("")
    assert str(refused.value).endswith(f"known are: {', '.join(PRESETS)}")
    found = json.loads(inside("policy", "presets", "--json")[1])
    assert found == {name: ullage.Policy.preset(name).to_dict() for name in PRESETS}
    code, out, _ = inside("policy", "presets")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:-1]] == list(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_shown_can_be_read_again(preset, form, tmp_path):
    needs(form)
    code, out, err = inside("policy", "show", preset, f"--{form}")
    assert (code, err) == (0, "")
    file = tmp_path / f"mine.{form}"
    file.write_text(out)
    assert inside("policy", "check", file) == (0, "", "")
    shown = json.loads(inside("policy", "show", file, "--json")[1])
    assert shown == ullage.Policy.preset(preset).to_dict()


@pytest.mark.parametrize("window", [2_000, 8_192, 16_000, 64_000])
def test_a_window_without_a_reserve_has_one_reserve_everywhere(window, tmp_path, monkeypatch):
    conversation, file = tmp_path / "list.json", tmp_path / "policy.json"
    conversation.write_text(json.dumps(MESSAGES))
    file.write_text(json.dumps({"window": window}))
    monkeypatch.setenv("ULLAGE_WINDOW", str(window))
    catalog = ullage.ModelCatalog(overrides={"mine": {"window": window}})
    policies = [
        ullage.Policy(window=window),
        ullage.Policy.preset("default").replace(window=window),
        ullage.Policy.from_dict({"window": window}),
        ullage.Policy.from_env(),
        ullage.model_limits("claude-sonnet-4-5").policy(window=window),
        catalog.limits("mine").policy(),
    ]
    for options in (["--window", str(window)], ["--window", str(window), "--model", "gpt-4"]):
        asked = parser_of_commands().parse_args(["report", str(conversation), *options])
        policy, _ = policy_of(asked)
        assert policy is not None
        policies.append(policy)
    assert {policy.reserve_output for policy in policies} == {min(8_000, window // 4)}
    for options in (["--set", f"window={window}"], ["--policy", str(file)]):
        for model in ([], ["--model", "gpt-4"]):
            status = json.loads(inside("status", conversation, "--json", *options, *model)[1])
            assert status["available"] == window - min(8_000, window // 4), (options, model)


def test_toml_is_what_is_shown_where_nothing_is_asked_for():
    needs("toml")
    assert inside("policy", "show", "valis")[1] == inside("policy", "show", "valis", "--toml")[1]


# The same faults in each form, and the lines that they stand on.
FAULTS = {
    "toml": 'window = 9_000\n# high = 0.1\nhigh = 2.0\nhihg = 1\nstages = [\n  "window",\n  "x",\n]\n'
    '[[levels]]\nstages = ["window"]\n\n[[levels]]\nrecent = 0.5\nresults = 7\n',
    "yaml": "window: 9000\n# high: 0.1\nhigh: 2.0\nhihg: 1\nstages:\n  - window\n  - x\n\n"
    "levels:\n  - stages: [window]\n\n  - recent: 0.5\n\n    results: 7\n",
    "json": '{"window": 9000,\n\n"high": 2.0,\n"hihg": {"a": [1, {}]},\n"stages": [\n"window",\n"x"\n],\n'
    '"levels": [\n{"stages": ["window"]},\n\n{"recent": 0.5,\n\n"results": 7}]}',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_fault_is_named_with_its_line(form, tmp_path):
    if form == "yaml":
        needs(form)
    file = tmp_path / f"mine.{form}"
    file.write_text(FAULTS[form])
    code, out, err = inside("policy", "check", file)
    assert (code, err) == (1, "")
    found = [line.removeprefix(f"{file}:") for line in out.splitlines()]
    expected = [(3, "high: must be above 0"), (4, "hihg: there is no such setting; the nearest: high"), (5, "stages[1]: "), (14, "levels[1].results: must be from 0 to 1; got 7")]  # fmt: skip
    assert len(found) == len(expected)
    for line, (number, says) in zip(found, expected, strict=True):
        assert line.startswith(f"{number}: {says}")
    _, out, _ = inside("policy", "check", file, "--json")
    values = [json.loads(line) for line in out.splitlines()]
    assert [value["line"] for value in values] == [3, 4, 5, 14]
    assert [value["setting"] for value in values] == ["high", "hihg", "stages", "levels"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.toml", "high = 0.5\nlow =\n", "2: not valid TOML"),
        ("a.json", '{"high": 0.5,\n"low" 1}', "2: not valid JSON"),
        ("a.yaml", "high: 0.5\nlow: [1\n", "3: not valid YAML"),
        ("a.json", '{"low": 0.9}', "1: low: must be above 0 and at most `high` (0.85); got 0.9"),
        (
            "a.json",
            '{"stages": ["window"],\n"high": 0.1}',
            "2: low: must be above 0 and at most `high` (0.1); got 0.25",
        ),
        ("a.json", '{"levels": [{}, {}, {"a": 1}]}', "1: levels[2].a: there is no such setting"),
        ("a.json", '{"levels": [3]}', "1: levels[0]: must hold the settings of a level"),
        ("a.json", '{"levels": []}', "1: levels: must have at least one level"),
        ("a.json", '{"window": "many"}', "1: window"),
        ("a.yaml", "context:\n  max_messages: 3\n", "context: unknown setting 'max_messages'"),
    ],
)
def test_a_single_fault_is_named(name, text, says, tmp_path):
    if name.endswith("yaml"):
        needs("yaml")
    file = tmp_path / name
    file.write_text(text)
    code, out, _ = inside("policy", "check", file)
    assert code == 1
    assert out.count("\n") == 1
    assert says in out


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"", "must end in .toml, .yaml or .json"),
        ("none.toml", None, "No such file"),
        ("a.json", b"[]", "a list, not settings"),
        ("a.json", b"\xff", "utf-8"),
        ("a.json", b"[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_file_of_settings_is_refused(name, content, says, tmp_path):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    for command in (["check"], ["show"]):
        code, out, err = inside("policy", *command, file)
        assert (code, out) == (2, "")
        assert says in err


def test_an_empty_file_is_the_default(tmp_path):
    needs("yaml")
    (tmp_path / "a.yaml").write_text("# nothing\n")
    out = inside("policy", "show", tmp_path / "a.yaml", "--json")[1]
    assert json.loads(out) == ullage.Policy().to_dict()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    (folder / "a.json").write_text(json.dumps(MESSAGES))
    assert inside("compact", "-i", folder / "a.json", *SMALL, "--store", folder / "s", "-q")[0] == 0
    return folder / "s"


def test_references_are_listed_read_and_searched(store, tmp_path):
    code, out, _ = inside("retrieve", "--store", store)
    references = out.split()
    assert code == 0
    assert references == ullage.FileStore(store).list()
    assert json.loads(inside("retrieve", "--store", store, "--json")[1]) == {
        "references": references
    }
    one = next(reference for reference in references if reference.startswith("transcript"))
    whole = ullage.retrieve(ullage.FileStore(store), one)
    assert inside("retrieve", one, "--store", store) == (0, whole.rstrip("\n") + "\n", "")
    # As it stands in the conversation.
    mark = f"[ullage: 3 earlier messages are stored as {one}; retrieve them by that reference]"
    assert inside("retrieve", mark, "--store", store, "--json") == (
        0,
        json.dumps({"reference": one, "text": whole}) + "\n",
        "",
    )
    code, out, _ = inside("retrieve", "--store", store, "--pattern", "call-2-0w299")
    assert (code, one in out) == (0, True)
    assert inside("retrieve", "--store", tmp_path / "none")[0] == 2
    assert inside("retrieve", "--store", tmp_path) == (1, "", "")


def test_pieces_are_read(tmp_path):
    kept = ullage.FileStore(tmp_path)
    text = kept.put(
        b"\n".join(b"line %d" % n for n in range(1, 100)), reference="log-0123456789abcdef"
    )
    data = kept.put(b'{"items": [{"name": "a"}, {"name": "b"}]}', reference="json-0123456789abcdef")
    picture = kept.put(b"\x89PNG\r\n\x1a\n\x00", reference="png-0123456789abcdef")

    def piece(reference, *options):
        code, out, _ = inside("retrieve", reference, "--store", tmp_path, *options)
        return code, [line.partition(": ")[2] for line in out.splitlines()[1:]]

    assert piece(text, "--lines", "5-6") == (0, ["line 5", "line 6"])
    assert piece(text, "--lines", "7") == (0, ["line 7"])
    assert piece(text, "--head", "1") == (0, ["line 1"])
    assert piece(text, "--tail", "1") == (0, ["line 99"])
    assert len(piece(text, "--pattern", "^line 50$", "--context", "1")[1]) == 3
    assert piece(text, "--pattern", "nowhere") == (1, [])
    assert inside("retrieve", "--store", tmp_path, "--pattern", "nowhere")[0] == 1
    assert "a" in inside("retrieve", data, "--store", tmp_path, "--pointer", "/items/0/name")[1]
    done = inside("retrieve", data, "--store", tmp_path, "--raw")
    assert done == (0, '{"items": [{"name": "a"}, {"name": "b"}]}', "")
    command = ["retrieve", picture, "--store", str(tmp_path), "--raw"]
    raw = subprocess.run([*COMMAND, *command], capture_output=True, check=True).stdout
    assert raw == b"\x89PNG\r\n\x1a\n\x00"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["x-0123456789abcdef"], "nothing is stored as"),
        (["x"], "is not a reference"),
        (["--pattern", "("], "the pattern cannot be used"),
        (["--head", "3"], "without a reference: --head cannot be used"),
        (["--raw"], "--raw needs a reference"),
        (["x-0123456789abcdef", "--raw", "--lines", "1-2"], "--raw prints the whole"),
        (["x", "--lines", "one"], "such as 120-180"),
        (["x", "--head", "0"], "at least 1"),
        (["x", "--raw", "--json"], "not allowed with"),
    ],
)
def test_what_cannot_be_retrieved_is_said(arguments, says, store):
    code, out, err = inside("retrieve", "--store", store, *arguments)
    assert (code, out) == (2, "")
    assert says in err


def completions(tmp_path, *words):
    """The words by which bash completes the last of these."""
    script = tmp_path / "ullage.bash"
    script.write_text(inside("completion", "bash")[1])
    complete = (
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_ullage ullage "${@: -1}";'
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "-c", complete, script, "ullage", *words]
    done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
    return done.stdout.decode().split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_files(tmp_path):
    pytest.importorskip("shtab")
    (tmp_path / "session.json").write_text("[]")
    commands = re.findall(r"^    (\w+) ", parser_of_commands().format_help(), re.MULTILINE)
    assert set(completions(tmp_path, "")) >= set(commands) - {"COMMAND"}
    assert completions(tmp_path, "comp") == ["compact", "completion"]
    assert completions(tmp_path, "compact", "--in") == ["--in-place"]
    assert completions(tmp_path, "compact", "--encoding", "c") == ["cl100k_base"]
    assert completions(tmp_path, "policy", "") == ["presets", "show", "check"]
    assert "session.json" in completions(tmp_path, "count", "se")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one(shell, tmp_path):
    pytest.importorskip("shtab")
    code, out, err = inside("completion", shell)
    assert (code, err) == (0, "")
    assert "compact" in out
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(out)
        subprocess.run([shell, "-n", script], check=True)
