"""Settings as data, from presets and from the environment."""

# mypy: disable-error-code="no-untyped-def,type-arg,arg-type"

import pickle
import threading
from fractions import Fraction

import pytest

import ullage
from ullage.cli.policy import PRESETS

from .conversations import long_conversation, render


def talk():
    return render(long_conversation(40), "bedrock")


def test_a_preset_is_a_policy_that_dicts_can_say():
    for name in PRESETS:
        preset = ullage.Policy.preset(name)
        assert ullage.Policy.from_dict(preset.to_dict()) == preset
        assert ullage.Policy(**preset.to_dict()) == preset
    assert len(ullage.Policy.preset("amplifier-smart").levels) == 8


def test_levels_are_given_as_dicts_and_what_is_not_given_is_the_first_level():
    policy = ullage.Policy(levels=[{}, {"recent": 0.5, "superseded": "newer"}])
    default = ullage.Policy()
    assert policy.levels[0] == default.levels[0]
    assert policy.levels[1] == {**default.levels[0], "recent": 0.5, "superseded": "newer"}


@pytest.mark.parametrize(
    "levels",
    [[], [{"recent": 2}], [{"recent": "much"}], [{"stages": ["shred"]}], [{"rung": 1}], [3], None],
)
def test_a_ladder_that_makes_no_sense_is_refused(levels):
    with pytest.raises(ullage.PolicyError, match="levels"):
        ullage.Policy(levels=levels)


def test_true_is_no_number_however_deep_it_stands():
    for path, settings in (
        ("low", {"low": True}),
        ("levels[0].recent", {"levels": [{"recent": True}]}),
        ("stages[0]", {"stages": [False]}),
    ):
        with pytest.raises(ullage.PolicyError, match=r"got (true|false)") as caught:
            ullage.Policy(**settings)
        assert [wrong for wrong, _ in caught.value.problems] == [path]
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ullage.PolicyError):
        ullage.Policy(levels=nested)


@pytest.mark.parametrize("name", PRESETS)
def test_a_changed_policy_differs_in_the_changes_alone(name):
    preset = ullage.Policy.preset(name)
    before = preset.to_dict()
    assert preset.replace() == preset == ullage.Policy().replace(**before)
    changed = preset.replace(keep_recent=9, levels={0: {"recent": 0.3}})
    expected = {**before, "keep_recent": 9}
    expected["levels"] = [{**before["levels"][0], "recent": 0.3}, *before["levels"][1:]]
    assert changed.to_dict() == expected
    assert preset.to_dict() == before
    assert preset.replace(stages=("window",), levels=[{}], max_messages=None).stages == ["window"]


class Whole:
    """A number as NumPy has them, which is no int."""

    def __index__(self):
        return 9_000

    def __float__(self):
        return 9_000.0


def test_numbers_of_any_class_are_taken():
    policy = ullage.Policy(window=Whole(), low=Fraction(1, 4), high=1)
    assert (policy.window, policy.low, policy.high) == (9_000, 0.25, 1.0)


WRONG = {
    "high": "x",
    "hihg": 1,
    "levels": [{}, {"recent": 5}],
    "window": 0,
    "stages": ["window", 3],
}


@pytest.mark.parametrize(
    "make",
    [
        lambda settings: ullage.Policy(**settings),
        ullage.Policy.from_dict,
        lambda settings: ullage.Policy.preset("valis").replace(**settings),
        lambda settings: ullage.model_limits("gpt-4o").policy(**settings),
    ],
    ids=["constructor", "from_dict", "replace", "limits"],
)
def test_every_wrong_setting_is_in_the_error(make):
    with pytest.raises(ullage.PolicyError) as caught:
        make(WRONG)
    error = caught.value
    assert {path for path, _ in error.problems} == {
        "high",
        "hihg",
        "levels[1].recent",
        "window",
        "stages[1]",
    }
    assert dict(error.problems)["levels[1].recent"] == "must be from 0 to 1; got 5"
    assert "the nearest: high" in dict(error.problems)["hihg"]
    lines = [f"  {path}: {problem}" for path, problem in error.problems]
    assert str(error).splitlines() == ["5 settings are wrong:", *lines]
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_every_wrong_variable_is_in_the_error():
    with pytest.raises(ullage.PolicyError) as caught:
        from_env(HIGH="2", WINDOW="many", LEVELS='[{}, {"recent": 5}]', TOOL_COMPRESS_TRUNCATE="x")
    assert dict(caught.value.problems) == {
        "X_HIGH": "must be above 0 and at most 1; got 2",
        "X_WINDOW": 'must be a whole number, 0 or more; got "many"',
        "X_LEVELS[1].recent": "must be from 0 to 1; got 5",
        "X_TOOL_COMPRESS_TRUNCATE": 'must be a whole number, 0 or more; got "x"',
    }


def test_an_error_about_something_else_has_no_settings():
    assert ullage.PolicyError("it is wrong").problems == ()
    with pytest.raises(ullage.PolicyError) as caught:
        ullage.TokenCounter("x")
    assert len(caught.value.problems) == 1


def test_the_variables_of_cyber_autoagent_are_read():
    policy = ullage.Policy.from_env(
        "CYBER_",
        {
            "CYBER_CONTEXT_LIMIT": "100000",
            "CYBER_PROMPT_TELEMETRY_THRESHOLD": "0.99",
            "CYBER_PROMPT_CACHE_RELAX": "0.2",
            "CYBER_TOOL_COMPRESS_TRUNCATE": "3700",
            "CYBER_CONVERSATION_WINDOW": "50",
            "CYBER_CONVERSATION_PRESERVE_FIRST": "2",
            "CYBER_CONVERSATION_PRESERVE_LAST": "5",
        },
    )
    assert (policy.window, policy.high, policy.cache_relax) == (100_000, 0.95, 0.2)
    assert (policy.shrink_to, policy.compress_to) == (1_000, 1_000)
    assert (policy.max_messages, policy.keep_first, policy.keep_recent) == (50, 2, 5)
    assert policy.escalate == ullage.Policy.preset("cyber-autoagent").escalate


def test_every_setting_is_read_behind_any_prefix():
    environ = {
        "MINE_PRESET": "sre-agent",
        "MINE_LOW": "0.1",
        "MINE_MAX_MESSAGES": "40",
        "MINE_STAGES": '["window"]',
        "MINE_MARKS": "valis",
        "OTHER_HIGH": "0.2",
        "MINE_KEEP_RECENT": " ",
    }
    policy = ullage.Policy.from_env("MINE_", environ)
    expected = {
        **ullage.Policy.preset("sre-agent").to_dict(),
        "low": 0.1,
        "max_messages": 40,
        "stages": ["window"],
        "marks": "valis",
    }
    assert policy.to_dict() == expected


def test_the_environment_of_the_process_is_read_by_default(monkeypatch):
    monkeypatch.setenv("ULLAGE_HIGH", "0.7")
    assert ullage.Policy.from_env().high == 0.7


def test_a_smaller_threshold_takes_what_is_left_with_it():
    policy = ullage.Policy.from_env("CYBER_", {"CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD": "1000"})
    assert policy.shrink_to == policy.shrink_above == policy.offload_above == 270
    assert policy.offload_preview == 270


@pytest.mark.parametrize(
    ("name", "value"),
    [("WINDOW", "many"), ("HIGH", "2"), ("STAGES", "window"), ("LEVELS", "[3]"), ("PRESET", "x")],
)
def test_a_variable_that_cannot_be_read_is_named(name, value):
    named = "preset 'x'" if name == "PRESET" else f"(?i){name}"
    with pytest.raises(ullage.PolicyError, match=named):
        ullage.Policy.from_env(environ={f"ULLAGE_{name}": value})


def from_env(**variables):
    return ullage.Policy.from_env("X_", {f"X_{name}": text for name, text in variables.items()})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_from_the_environment_is_the_preset(preset):
    ground = ullage.Policy.preset(preset)
    assert from_env(PRESET=preset) == ground
    policy = from_env(PRESET=preset, SHRINK_ABOVE="300")
    assert policy.compress_to == ground.compress_to


def test_a_size_to_shorten_to_above_the_threshold_is_the_threshold():
    for extra in ({}, {"TOOL_RESULT_ARTIFACT_THRESHOLD": "8000"}):
        policy = from_env(PRESET="cyber-autoagent", TOOL_COMPRESS_TRUNCATE="12000", **extra)
        assert policy.shrink_to == policy.compress_to == policy.shrink_above
    with pytest.raises(ullage.PolicyError, match="X_SHRINK_TO"):
        from_env(SHRINK_TO="9000")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("none", ["null", "None"])
def test_what_may_be_none_can_be_set_so_over_any_preset(preset, none):
    policy = from_env(PRESET=preset, ESCALATE=none, MAX_MESSAGES=none)
    assert (policy.escalate, policy.max_messages) == (None, None)
    assert from_env(PRESET=preset, CONVERSATION_WINDOW=none).max_messages is None
    given = from_env(PRESET=preset, ESCALATE="0.97", MAX_MESSAGES="70")
    assert (given.escalate, given.max_messages) == (0.97, 70)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_smaller_high_mark_takes_the_low_one_with_it(preset):
    ground = ullage.Policy.preset(preset)
    policy = from_env(PRESET=preset, HIGH="0.1")
    taken = ground.low if ground.low <= 0.1 else ground.low / ground.high * 0.1
    assert policy.low == pytest.approx(taken)
    assert policy.low < policy.high
    assert from_env(PRESET=preset, HIGH="0.1", LOW="0.1").low == 0.1
    with pytest.raises(ullage.PolicyError, match="X_LOW"):
        from_env(PRESET=preset, HIGH="0.1", LOW="0.2")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LEVELS", "[" * 100_000),
        ("LEVELS", "9" * 5_000),
        ("LEVELS", '[{"recent": true}]'),
        ("LEVELS", '[{}, {"keep_results": false}]'),
        ("LEVELS", '[{"recent": NaN}]'),
        ("STAGES", '"window"'),
        ("WINDOW", "-1"),
        ("WINDOW", "0"),
        ("MAX_MESSAGES", "true"),
        ("CONVERSATION_WINDOW", "0"),
        ("TOOL_COMPRESS_TRUNCATE", "9" * 4_000),
        ("PROMPT_TELEMETRY_THRESHOLD", "nan"),
        ("PRESET", "x"),
    ],
)
def test_an_error_names_the_variable_and_is_short(name, text):
    with pytest.raises(ullage.PolicyError, match=rf"\bX_{name}\b") as caught:
        from_env(**{name: text})
    assert len(str(caught.value)) < 500


def test_more_messages_than_wanted_are_removed_while_there_is_room():
    messages = talk()
    most = len(messages) // 2
    policy = ullage.Policy(window=1_000_000, max_messages=most, low_messages=0.8)
    for append_only in (False, True):
        engine = ullage.ContextManager(policy, append_only=append_only)
        work = list(messages)
        assert engine.status(work).due == "soft"
        report = engine.compact(work)
        assert report.removed_messages > 0
        assert len(work) <= most * 0.8 + 1
        assert engine.status(work).due == "none"
        assert not engine.compact(work).stages


def test_the_time_limit_bounds_the_summary():
    compacted = threading.Event()

    def slow(_request):
        # Whoever waits for the answer is ended by pytest-timeout.
        compacted.wait()
        return "too late"

    policy = ullage.Policy(window=20_000, time_limit=0.3)
    engine = ullage.ContextManager(policy, summarizer=slow)
    messages = talk()
    report = engine.compact(messages, budget=engine.status(messages).tokens // 3, hard=True)
    compacted.set()
    assert report.summary is not None
    assert report.summary.by == "engine"
    assert any("no answer within" in warning for warning in report.warnings)
