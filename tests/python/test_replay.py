"""`ullage.replay`: figures by hand, and what it makes of policies that lose or keep all."""

import json

import pytest

import ullage
from ullage import replay
from ullage._core import Needs, PromptCache

# In front of the answer that uses what was read.
CUT = 5


def call(id, name, **arguments):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id, text):
    content = [{"type": "tool_result", "tool_use_id": id, "content": text}]
    return {"role": "user", "content": content}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def session():
    """Three anchors and one edit are needed after the cut."""
    old = "def load_config(path):\n    return read_toml(path)"
    return [
        {"role": "user", "content": "Mend app.py."},
        assistant(call("a", "Read", file_path="/srv/app.py")),
        result("a", "   1→def load_config(path):\n   2→    return read_toml(path)\n   3→x = 4096"),
        assistant(call("b", "Bash", command="ls")),
        result("b", "other_file.py\nthird_file.py"),
        assistant(
            {"type": "text", "text": "load_config it is."},
            call("c", "Edit", file_path="/srv/app.py", old_string=old, new_string="pass"),
        ),
        result("c", "third_file.py is done"),
        assistant({"type": "text", "text": "other_file.py, third_file.py"}),
    ]


def long_session(name="long", steps=40):
    """Each answer uses what the result ten before it said."""
    messages = [{"role": "user", "content": "Go through all parts."}]
    for step in range(steps):
        words = f"Now value_{step - 10}_3." if step >= 10 else "Reading."
        messages.append(
            assistant({"type": "text", "text": words}, call(f"t{step}", "Read", part=step))
        )
        lines = [f"{line:6}→value_{step}_{line} = {line}" for line in range(1, 40)]
        messages.append(result(f"t{step}", "\n".join(lines)))
    messages.append(assistant({"type": "text", "text": "Done."}))
    return replay.Session(name, messages)


def kept(context, stored=()):
    return replay.Retention.read(Needs(session(), CUT, format=None).kept_in(context, list(stored)))


def counts(context, stored=()):
    found = kept(context, stored)
    return (found.anchors, found.lines, found.recoverable, found.grounded)


def test_what_is_needed_and_what_is_kept_of_it():
    assert (kept([]).needed, kept([]).edits) == (3, 1)
    assert counts([]) == (0, 0, 0, 0)
    assert counts(session()[:CUT]) == (3, 3, 3, 1)
    names = [{"role": "user", "content": "load_config read_toml"}]
    assert counts(names) == (2, 0, 2, 0)
    stored = [b'{"content": "other_file.py\\nthird_file.py"}', b"\xff"]
    assert counts(names, stored) == (2, 0, 3, 0)
    needs = Needs(session(), CUT, format=None)
    assert needs.lost(names) == ["other_file.py"]


def test_no_context_helps_nothing_and_the_whole_history_helps_fully():
    found, nothing = kept(session()[:CUT]), kept([])
    for name in ("acts_near", "acts_far", "words_near", "words_far"):
        assert found.counts(name).of > 0
        assert (nothing.share(name), found.share(name)) == (0, 1)
    said = [{"role": "user", "content": "def load_config(path): return read_toml(path)"}]
    assert 0 < kept(said).share("acts_near") < 1


def test_what_the_agent_was_doing_is_looked_for_word_for_word():
    todos = [{"content": "Read it all", "status": "completed"}, {"content": "Mend it"}]
    history = [
        {"role": "user", "content": "Please mend the parser."},
        assistant(
            {"type": "text", "text": "I will read it first. Yes. The cause is in line 3."},
            call("a", "TodoWrite", todos=todos),
            call("b", "Edit", file_path="/srv/app.py", old_string="a", new_string="b"),
        ),
        {"role": "user", "content": []},
    ]
    needs = Needs(history, len(history), format=None)

    def found(text):
        retention = replay.Retention.read(needs.kept_in([{"role": "user", "content": text}], []))
        return [
            retention.counts(name).kept for name in ("sentences", "tasks", "files", "user_words")
        ]

    assert found("") == [0, 0, 0, 0]
    assert found("The cause is\n in line 3. PARSER") == [1, 0, 0, 1]
    assert found("app.py: Mend it, Read it all. please mend the parser") == [0, 2, 1, 3]
    whole = replay.Retention.read(needs.kept_in(history, []))
    for name in ("sentences", "tasks", "files", "user_words"):
        assert (whole.share(name), whole.counts(name).of > 0) == (1, True)


def test_an_interval_holds_the_share_and_is_a_point_where_sessions_agree():
    found = replay.replay(
        [long_session(str(index)) for index in range(3)],
        replay.Sweep([replay.read_policy("default")], contexts=[4_000], shares=[0.25]),
    )
    (row,) = found.rows()
    share = row.retention.share("lines")
    assert found.interval(row, "lines") == (share, share)
    assert found.interval(row, "tasks") is None


def test_shares_add_up_over_sessions():
    one = replay.Retention(needed=4, anchors=2, lines=1)
    both = one + replay.Retention(needed=6, anchors=6, edits=2, grounded=1)
    assert (both.share("anchors"), both.share("lines"), both.share("grounded")) == (0.8, 0.1, 0.5)
    assert one.share("grounded") is None


def test_a_history_that_fits_keeps_all_and_a_small_budget_does_not_overshoot():
    roomy = replay.Setting("roomy", ullage.Policy(low=1.0, high=1.0))
    tight = replay.Setting("tight", ullage.Policy(stages=["window"]))
    sweep = replay.Sweep([roomy, tight], contexts=[4_000], shares=[1.0, 0.25], baselines=True)
    found = replay.replay([long_session()], sweep)
    rows = {(row.policy, row.share): row for row in found.rows()}
    assert set(rows) == {
        (name, share) for name in ("roomy", "tight", "window", "line-cover") for share in (1, 0.25)
    }
    assert rows["roomy", 1.0].retention.share("lines") == 1.0
    assert rows["window", 1.0].retention.share("lines") == 1.0
    for row in rows.values():
        assert (row.failed, row.overshoot, row.violations) == (0, 0, 0)
        retention = row.retention
        assert 0 <= retention.lines <= retention.anchors <= retention.recoverable
        assert 0 < retention.recoverable <= retention.needed
    narrow = rows["tight", 0.25].retention
    assert narrow.anchors < narrow.recoverable == narrow.needed
    assert rows["line-cover", 0.25].retention.lines > rows["window", 0.25].retention.lines


def test_cuts_are_where_the_history_is_long_enough():
    found = replay.replay([long_session()], replay.Sweep([replay.read_policy("default")], [4_000]))
    cuts = [cut for cut in found.cuts if cut.share == 0.25]
    assert 1 < len(cuts) <= 4
    for cut, wanted in zip(cuts, (4_000, 5_000, 6_000, 7_000), strict=False):
        messages = long_session().messages
        assert messages[cut.message]["role"] == "assistant"
        counter = ullage.TokenCounter()
        assert counter.count_messages(messages[: cut.message]) == cut.tokens_before >= wanted
        assert counter.count_messages(messages[: cut.message - 2]) < wanted
        assert len(messages) - cut.message >= 20


def test_figures_are_the_same_every_time_and_for_any_number_of_jobs():
    sessions = [long_session(str(number), 40 + number) for number in range(4)]
    sweep = replay.Sweep([replay.read_policy("default")], [4_000], baselines=True, cost_at=3_000)

    def figures(jobs):
        found = replay.replay(sessions, sweep, jobs=jobs).to_dict()
        for entry in [*found["rows"], *found["cuts"]]:
            entry.pop("seconds", None)
            entry.pop("milliseconds", None)
        return json.dumps(found)

    assert figures(1) == figures(4)


def test_a_floor_above_the_budget_is_a_failure_and_keeps_nothing():
    sweep = replay.Sweep([replay.read_policy("default")], [4_000], [0.000_1])
    row = replay.replay([long_session()], sweep).rows()[0]
    assert row.failed == row.cuts > 0
    assert (row.retention.recoverable, row.overshoot) == (0, 0)
    assert row.retention.needed > 0


def test_a_session_that_no_provider_takes_is_repaired_and_named():
    broken = long_session()
    broken.messages.append(assistant(call("open", "Read", part=0)))
    sweep = replay.Sweep([replay.read_policy("default")], [4_000])
    assert replay.replay([long_session("fine"), broken], sweep).repaired == ["long"]


def test_a_cache_reads_what_is_as_it_was():
    messages = session()
    counter = ullage.TokenCounter()
    cache = PromptCache(counter)
    cache.request(messages[:1])
    cache.request(messages[:3])
    one, three = (counter.count_messages(messages[:end]) for end in (1, 3))
    assert cache.used() == {"requests": 2, "read": one, "written": three}
    cache.request([{"role": "user", "content": "Another."}, *messages[1:3]])
    assert cache.used()["read"] == one
    prices = {"cache_write": 2.0, "cache_read": 0.5}
    used = cache.used()
    assert cache.cost(prices=prices) == used["written"] * 2 + used["read"] / 2


def test_a_history_that_never_grows_long_costs_what_it_would_anyway():
    setting = replay.read_policy("default")
    costs = {
        at: replay.replay([long_session()], replay.Sweep([setting], [4_000], cost_at=at))
        for at in (1_000_000, 3_000)
    }
    assert costs[1_000_000].cost("default") == 1.0
    cost = costs[3_000].cost("default")
    assert cost is not None
    assert cost < 1.0
    assert costs[3_000].costs[0].compactions > 0
    assert costs[3_000].costs[0].requests == 41


def test_policies_come_from_names_and_files_and_grids(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"high": 0.7, "low": 0.4}))
    mine = replay.read_policy(str(file))
    assert (mine.name, mine.policy.high) == ("mine", 0.7)
    settings = replay.grid([mine], {"high": [0.3, 0.6], "low": [0.2, 0.5]})
    assert [setting.name for setting in settings] == [
        "mine high=0.3 low=0.2",
        "mine high=0.6 low=0.2",
        "mine high=0.6 low=0.5",
    ]
    assert replay.grid([mine], {}) == [mine]
    with pytest.raises(ullage.PolicyError):
        replay.grid([mine], {"high": [5]})
    for text in ("[]", "{", '{"hihg": 1}'):
        file.write_text(text)
        with pytest.raises(ullage.PolicyError):
            replay.read_policy(str(file))
    with pytest.raises(ullage.PolicyError, match="there is no preset"):
        replay.read_policy("unheard-of")
    toml = tmp_path / "other.toml"
    toml.write_text("high = 0.9\n")
    pytest.importorskip("tomllib")
    assert replay.read_policy(str(toml)).policy.high == 0.9
