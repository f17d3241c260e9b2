"""The limits of models: who is asked, in which order, and what happens when a table is broken."""

import json
import logging
import math
import os
import sys
import threading
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

MESSAGES = [{"role": "user", "content": [{"text": "What is in this folder?"}]}]

# As models.dev writes it.
MODELS_DEV = {
    "acme": {
        "id": "acme",
        "models": {
            "rocket-1": {"id": "rocket-1", "limit": {"context": 64_000, "output": 4_000}},
            "Rocket-2": {"limit": {"context": 400_000, "input": 272_000, "output": 128_000}},
        },
    },
    "reseller": {
        "models": {
            "rocket-1": {"limit": {"context": 32_000, "output": 4_000}},
            "openai/gpt-5": {"limit": {"context": 100_000, "output": 10_000}},
            "gpt-5": {"limit": {"context": 90_000, "output": 10_000}},
        }
    },
    "openai": {"models": {"gpt-5": {"limit": {"context": 399_999, "output": 128_000}}}},
}

# As litellm writes it, with the line that explains the fields.
LITELLM = {
    "sample_spec": {"max_input_tokens": "max input tokens", "max_tokens": "LEGACY parameter."},
    "rocket-1": {"max_input_tokens": 70_000, "max_output_tokens": 5_000, "max_tokens": 5_000},
    "acme/rocket-9": {"max_input_tokens": 80_000, "max_output_tokens": 8_000},
    "only-legacy": {"max_tokens": 4_096},
}


@pytest.fixture
def table(tmp_path):
    """Writes a table, each time as a file with a newer time of change."""
    path = tmp_path / "api.json"
    written = 0

    def write(content):
        nonlocal written
        written += 1
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(written * 10**9, written * 10**9))
        return path

    return write


def with_window(window, **more):
    return {"acme": {"models": {"rocket-1": {"limit": {"context": window, **more}}}}}


def warnings_of(caplog):
    return [record for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("model", "window", "max_input", "max_output"),
    [
        ("claude-sonnet-4-5", 200_000, 200_000, 64_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 200_000, 64_000),
        ("openrouter/anthropic/claude-3.5-sonnet", 200_000, 200_000, 8_192),
        ("openai:gpt-5-mini", 400_000, 272_000, 128_000),
        ("vertex_ai/gemini-2.5-pro", 1_048_576, 1_048_576, 65_536),
        ("mistral/mistral-large-2411", 128_000, 128_000, None),
    ],
)
def test_a_known_model_needs_no_table(model, window, max_input, max_output):
    found = ullage.model_limits(model)
    assert found == ullage.ModelLimits(model, window, max_input, max_output, "built-in")


def test_an_unknown_model_gets_the_stated_default_and_a_warning_once(caplog):
    catalog = ullage.ModelCatalog()
    for _ in range(3):
        found = catalog.limits("my-own-model")
    assert (found.window, found.max_output, found.source) == (128_000, None, "default")
    assert [record.getMessage() for record in warnings_of(caplog)] == [
        "model=<my-own-model>, window=<128000> | unknown model"
    ]
    catalog = ullage.ModelCatalog(default={"window": 16_000, "max_output": 2_000})
    found = catalog.limits("my-own-model")
    assert (found.window, found.max_input, found.max_output) == (16_000, 16_000, 2_000)


def test_the_first_source_that_knows_the_model_answers():
    catalog = ullage.ModelCatalog(
        overrides={"rocket-0": {"window": 1_000}}, models_dev=MODELS_DEV, litellm=LITELLM
    )
    found = {model: catalog.limits(model) for model in ("rocket-0", "rocket-1", "acme/rocket-9")}
    assert [(limits.window, limits.source) for limits in found.values()] == [
        (1_000, "override"),
        (32_000, "models.dev"),
        (80_000, "litellm"),
    ]
    assert catalog.limits("claude-sonnet-4-5").source == "built-in"
    assert catalog.limits("only-legacy").source == "default"
    assert ullage.ModelCatalog(litellm=LITELLM).limits("rocket-1").max_input == 70_000


@pytest.mark.parametrize(
    ("model", "window"),
    [
        pytest.param("acme/rocket-1", 64_000, id="provider-and-id"),
        pytest.param("rocket-1", 32_000, id="several-serve-it-the-smallest"),
        pytest.param("gateway/acme/ROCKET-2", 400_000, id="gateway-and-case"),
        pytest.param("bedrock/us.rocket-2", 400_000, id="region"),
        pytest.param("gpt-5", 399_999, id="its-maker-first"),
        pytest.param("reseller/gpt-5", 90_000, id="who-serves-it"),
        pytest.param("reseller/openai/gpt-5", 100_000, id="id-with-a-slash"),
        pytest.param("openai/gpt-5", 399_999, id="provider-before-id-with-a-slash"),
    ],
)
def test_models_dev_is_searched_with_and_without_the_provider(model, window):
    found = ullage.ModelCatalog(models_dev=MODELS_DEV).limits(model)
    assert (found.window, found.source) == (window, "models.dev")


def test_models_dev_may_limit_the_input_by_itself():
    found = ullage.ModelCatalog(models_dev=MODELS_DEV).limits("rocket-2")
    assert (found.window, found.max_input, found.max_output) == (400_000, 272_000, 128_000)


def test_overrides_know_beginnings_and_leave_the_rest_to_the_next_source():
    catalog = ullage.ModelCatalog(
        overrides={
            "llama-3.1": {"window": 8_192},
            "GPT-5": {"max_output": 1_000},
            "gpt-5-mini": {"max_input": 50_000},
            "ollama/llama3.1": {"window": 4_096},
            "\ud800": {"window": 2_048},
        }
    )
    assert catalog.limits("\ud800").window == 2_048
    assert catalog.limits("x\udfff").source == "default"
    for model, figures in {
        "groq/llama-3.1-8b-instant": (8_192, 8_192, None),
        "llama3.1": (8_192, 8_192, None),
        "ollama/llama3.1": (4_096, 4_096, None),
        "gpt-5.1": (400_000, 272_000, 1_000),
        "gpt-5-mini-2025-08-07": (400_000, 50_000, 128_000),
    }.items():
        found = catalog.limits(model)
        assert (found.window, found.max_input, found.max_output) == figures, model
        assert found.source == "override"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"overrides": ["gpt-5"]}, id="overrides-a-list"),
        pytest.param({"overrides": {"gpt-5": 100}}, id="override-a-number"),
        pytest.param({"overrides": {"gpt-5": {}}}, id="override-empty"),
        pytest.param({"overrides": {"": {"window": 1}}}, id="no-id"),
        pytest.param({"overrides": {7: {"window": 1}}}, id="id-a-number"),
        pytest.param({"overrides": {"gpt-5": {"windows": 1}}}, id="unknown-key"),
        pytest.param({"default": {"max_output": 1}}, id="default-without-window"),
        pytest.param({"models_dev": 7}, id="models-dev-a-number"),
        pytest.param({"litellm": ["auto"]}, id="litellm-a-list"),
        *(
            pytest.param({"overrides": {"gpt-5": {"window": window}}}, id=f"window-{window!r}")
            for window in (0, -1, "8192", None, True, math.nan, math.inf, 10**12, 1.5)
        ),
    ],
)
def test_what_a_caller_says_wrongly_is_refused_by_name(arguments):
    with pytest.raises(ullage.PolicyError, match=next(iter(arguments))):
        ullage.ModelCatalog(**arguments)


@pytest.mark.parametrize("model", [None, 7, b"gpt-5", ["gpt-5"]])
def test_a_model_that_is_no_string_is_refused(model):
    with pytest.raises(ullage.PolicyError, match="model"):
        ullage.model_limits(model)


@pytest.mark.parametrize(
    "odd",
    [0, -1, "8192", None, True, False, math.nan, math.inf, -math.inf, 10**300, 1.5, [], {}],
    ids=repr,
)
def test_an_odd_figure_in_a_table_is_no_figure(odd):
    content = with_window(odd, output=10)
    content["acme"]["models"]["other"] = {"limit": {"context": 50_000, "input": odd, "output": odd}}
    found = ullage.ModelCatalog(models_dev=content).limits("rocket-1")
    assert found.source == "default"
    found = ullage.ModelCatalog(models_dev=content).limits("other")
    assert (found.window, found.max_input, found.max_output) == (50_000, 50_000, None)
    entries = {"a": {"max_input_tokens": odd}, "b": {"max_input_tokens": 9_000}}
    catalog = ullage.ModelCatalog(litellm=entries)
    assert (catalog.limits("a").source, catalog.limits("b").source) == ("default", "litellm")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["acme", "models", "rocket-1", "limit", "context", "max_input_tokens"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(content=st.dictionaries(st.text(max_size=6), ANYTHING, max_size=4), model=st.text())
def test_any_table_and_any_id_give_limits_that_make_a_policy(content, model):
    catalog = ullage.ModelCatalog(models_dev=content, litellm=content)
    for name in (model, "rocket-1", "acme/rocket-1"):
        found = catalog.limits(name)
        assert 1 <= found.max_input <= found.window
        policy = found.policy()
        assert policy.window - policy.reserve_output <= found.max_input


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty"),
        pytest.param('{"acme": {"models"', id="cut-off"),
        pytest.param("[]", id="a-list"),
        pytest.param('{"acme": {"models": {}}}', id="no-model"),
        pytest.param('{"acme": 7}', id="not-its-form"),
        pytest.param("[" * 100_000, id="nested-too-deep"),
        pytest.param('{"a": ' + "9" * 5_000 + "}", id="number-too-long"),
    ],
)
@pytest.mark.parametrize("source", ["models_dev", "litellm"])
def test_a_broken_table_is_reported_once_and_the_next_source_answers(
    table, caplog, monkeypatch, source, broken
):
    monkeypatch.setattr("ullage.tables.RETRY_SECONDS", 0.0)
    path = table("" if broken is None else broken)
    if broken is None:
        path.unlink()
    catalog = ullage.ModelCatalog(**{source: path})
    for _ in range(3):
        assert catalog.limits("claude-sonnet-4-5").source == "built-in"
        assert catalog.limits("gpt-5").source == "built-in"
    assert len(warnings_of(caplog)) == 1
    assert "not read" in caplog.text


def test_a_failure_is_not_remembered_when_the_table_comes(table, tmp_path):
    catalog = ullage.ModelCatalog(models_dev=tmp_path / "api.json")
    assert catalog.limits("rocket-1").source == "default"
    table("not yet")
    assert catalog.limits("rocket-1").source == "default"
    table(with_window(50_000))
    assert (catalog.limits("rocket-1").window, catalog.limits("rocket-1").source) == (
        50_000,
        "models.dev",
    )


def test_a_broken_table_that_stays_as_it_is_is_tried_again_after_a_while(table, monkeypatch):
    now, reads = 100.0, []

    def loads(content):
        reads.append(now)
        if now < 150.0:
            raise OSError("the disk is tired")
        return MODELS_DEV

    monkeypatch.setattr("ullage.tables.time.monotonic", lambda: now)
    monkeypatch.setattr("ullage.tables.json.loads", loads)
    catalog = ullage.ModelCatalog(models_dev=table(MODELS_DEV))

    def source(at):
        nonlocal now
        now = at
        return catalog.limits("rocket-1").source

    assert [source(at) for at in (100.0, 100.1, 129.0, 131.0, 132.0)] == ["default"] * 5
    assert [source(at) for at in (170.0, 171.0)] == ["models.dev"] * 2
    assert reads == [100.0, 131.0, 170.0]


def test_a_table_that_changes_is_read_again_and_one_that_does_not_is_not(table, monkeypatch):
    path = table(with_window(50_000))
    catalog = ullage.ModelCatalog(models_dev=path)
    first = catalog.limits("rocket-1")
    assert first.window == 50_000
    with monkeypatch.context() as patch:
        patch.setattr("ullage.tables.json.loads", None)
        assert catalog.limits("rocket-1") is first
        assert catalog.limits("acme/rocket-1").window == 50_000
    table(with_window(60_000))
    assert catalog.limits("rocket-1").window == 60_000


def test_a_table_that_breaks_stays_as_it_was(table, caplog):
    path = table(with_window(50_000))
    catalog = ullage.ModelCatalog(models_dev=path)
    assert catalog.limits("rocket-1").window == 50_000
    table("{")
    assert catalog.limits("acme/rocket-1").window == 50_000
    path.unlink()
    assert catalog.limits("rocket-1").window == 50_000
    assert len(warnings_of(caplog)) == 2


def test_litellm_is_never_imported(tmp_path, monkeypatch):
    package = tmp_path / "litellm"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')", encoding="utf-8")
    path = package / "model_prices_and_context_window_backup.json"
    path.write_text(json.dumps(LITELLM), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    catalog = ullage.ModelCatalog(litellm="auto")
    assert catalog.limits("rocket-1").window == 70_000
    assert "litellm" not in sys.modules


def test_a_litellm_that_the_host_imported_is_read_live(monkeypatch):
    module = types.SimpleNamespace(model_cost=dict(LITELLM))
    monkeypatch.setitem(sys.modules, "litellm", module)
    catalog = ullage.ModelCatalog(litellm="auto")
    assert catalog.limits("rocket-1").window == 70_000
    assert catalog.limits("rocket-3").source == "default"
    module.model_cost["rocket-3"] = {"max_input_tokens": 90_000}
    assert catalog.limits("rocket-3").window == 90_000


def test_a_litellm_that_is_not_installed_is_no_failure(monkeypatch, caplog):
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.setattr("ullage.tables.importlib.util.find_spec", lambda name: None)
    assert ullage.ModelCatalog(litellm="auto").limits("gpt-5").source == "built-in"
    assert warnings_of(caplog) == []


def test_a_litellm_that_raises_is_reported_once_and_asked_again(monkeypatch, caplog):
    class Broken(types.ModuleType):
        healed = False

        def __getattr__(self, name):
            if name == "model_cost" and not self.healed:
                raise RuntimeError("no table today")
            return LITELLM

    module = Broken("litellm")
    monkeypatch.setitem(sys.modules, "litellm", module)
    catalog = ullage.ModelCatalog(litellm="auto")
    for _ in range(3):
        assert catalog.limits("claude-sonnet-4-5").source == "built-in"
        assert catalog.limits("rocket-1").source == "default"
    assert len([record for record in warnings_of(caplog) if "not read" in record.msg]) == 1
    module.healed = True
    assert catalog.limits("rocket-1").window == 70_000


def test_threads_may_share_a_catalog_while_its_table_changes(table):
    windows = (50_000, 60_000)
    catalog = ullage.ModelCatalog(models_dev=table(with_window(windows[0])))
    seen, failures, done = set(), [], threading.Event()

    def look():
        try:
            while not done.is_set():
                seen.add(catalog.limits("rocket-1").window)
        except Exception as error:  # noqa: BLE001 - the test shows it
            failures.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(60):
        table(with_window(windows[turn % 2]))
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert seen <= set(windows)
    assert catalog.limits("rocket-1").window == windows[1]


@pytest.mark.parametrize(
    ("model", "settings", "window", "reserve"),
    [
        pytest.param("claude-sonnet-4-5", {}, 200_000, 8_000, id="the-usual"),
        pytest.param("gpt-5", {}, 280_000, 8_000, id="the-input-is-limited"),
        pytest.param("gpt-5", {"reserve_output": 128_000}, 400_000, 128_000, id="longest-answer"),
        pytest.param("gpt-5", {"window": 50_000}, 50_000, 8_000, id="a-window-given"),
        pytest.param("command-r", {}, 128_000, 4_000, id="short-answers"),
        pytest.param("gpt-4", {}, 8_192, 2_048, id="a-small-window"),
    ],
)
def test_a_policy_leaves_what_the_model_takes(model, settings, window, reserve):
    limits = ullage.model_limits(model)
    policy = limits.policy(**settings, high=0.7)
    assert (policy.window, policy.reserve_output, policy.high) == (window, reserve, 0.7)
    assert policy.window - policy.reserve_output <= limits.max_input


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"hihg": 0.5}, "hihg"), ({"reserve_output": "8k"}, "reserve"), ({"low": 2}, "low")],
)
def test_a_wrong_setting_of_a_policy_is_named(settings, named):
    with pytest.raises(ullage.PolicyError, match=named):
        ullage.model_limits("gpt-5").policy(**settings)


def test_a_manager_for_a_model_has_its_window_and_counter():
    engine = ullage.ContextManager(model="gpt-5", system="Be brief.", tools=[{"name": "ls"}])
    assert engine.counter.name == "o200k_base"
    status = engine.status(MESSAGES)
    assert status.window == 280_000
    assert status.fixed > 0
    assert status.available == 280_000 - 8_000 - status.fixed
    assert ullage.ContextManager(model="bedrock/claude-sonnet-4-5").counter.name == "claude"


def test_a_policy_and_a_counter_that_are_given_win():
    policy, counter = ullage.Policy(window=50_000), ullage.TokenCounter("cl100k_base")
    engine = ullage.ContextManager(policy, counter=counter, model="claude-sonnet-4-5")
    assert engine.policy == policy
    assert engine.counter is counter
    engine = ullage.ContextManager(policy, model="claude-sonnet-4-5")
    assert engine.policy == policy
    assert engine.counter.name == "claude"


def test_a_manager_looks_in_the_catalog_that_it_is_given():
    catalog = ullage.ModelCatalog(models_dev=MODELS_DEV)
    engine = ullage.ContextManager(model="acme/rocket-1", catalog=catalog)
    assert (engine.policy.window, engine.policy.reserve_output) == (64_000, 4_000)
    assert catalog.counter("gpt-4").name == "cl100k_base"


@pytest.mark.parametrize("arguments", [{"model": 7}, {"model": "gpt-5", "catalog": {}}])
def test_a_model_or_a_catalog_of_another_kind_is_refused(arguments):
    with pytest.raises(ullage.PolicyError, match=list(arguments)[-1]):
        ullage.ContextManager(**arguments)
