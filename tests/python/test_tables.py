"""Tables of limits that others keep: which is asked, what it says, and what if it is broken."""

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
        # At once, as those do who update such a table: a thread may read it meanwhile.
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        os.utime(new, ns=(written * 10**9, written * 10**9))
        new.replace(path)
        return path

    return write


def with_window(window, **more):
    return {"acme": {"models": {"rocket-1": {"limit": {"context": window, **more}}}}}


def warnings_of(caplog):
    return [record for record in caplog.records if record.levelno == logging.WARNING]


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
    monkeypatch.setattr("ullage.models.origins.RETRY_SECONDS", 0.0)
    path = table("" if broken is None else broken)
    if broken is None:
        path.unlink()
    catalog = ullage.ModelCatalog(**{source: path})
    for _ in range(3):
        assert catalog.limits("claude-sonnet-4-5").source == "built-in"
        assert catalog.limits("gpt-5").source == "built-in"
    assert len(warnings_of(caplog)) == 1
    assert "could not be read" in caplog.text


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

    monkeypatch.setattr("ullage.models.tables.time.monotonic", lambda: now)
    monkeypatch.setattr("ullage.models.origins.json.loads", loads)
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
        patch.setattr("ullage.models.origins.json.loads", None)
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
    module.model_cost["rocket-3"] = {"max_input_tokens": 80_000}
    assert catalog.limits("rocket-3").window == 80_000
    module.model_cost["rocket-3"]["max_input_tokens"] = 70_000
    assert catalog.limits("rocket-3").window == 70_000


def test_a_litellm_that_is_not_installed_is_no_failure(monkeypatch, caplog):
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.setattr("ullage.models.origins.importlib.util.find_spec", lambda name: None)
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
    assert len([record for record in warnings_of(caplog) if "could not be read" in record.msg]) == 1
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
