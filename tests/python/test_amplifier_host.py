"""The contexts in amplifier-core itself: its protocol check, its behaviour tests, its session."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ullage
from ullage.amplifier import (
    SOURCE,
    PersistentContextManager,
    SimpleContextManager,
    persistent,
    simple,
)

from .amplifier_agent import STEPS, Provider

# Neither is there for Python 3.10.
amplifier_core = pytest.importorskip("amplifier_core")
tomllib = pytest.importorskip("tomllib")

MODULES = {
    "context-ullage-simple": (simple, SimpleContextManager),
    "context-ullage-persistent": (persistent, PersistentContextManager),
}
NAMES = sorted(MODULES)


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch, project):
    """A distribution with the entry points of ullage, as they stand now, and those of the tests."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    points = {
        **tomllib.loads((project / "pyproject.toml").read_text())["project"]["entry-points"][
            "amplifier.modules"
        ],
        "loop-scripted": "tests.python.amplifier_agent:mount_loop",
        "provider-scripted": "tests.python.amplifier_agent:mount_model",
    }
    info = tmp_path / "site" / "agent-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agent\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[amplifier.modules]", *lines]))
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.syspath_prepend(project)
    return points


@pytest.mark.parametrize("name", NAMES)
def test_the_entry_points_lead_to_the_mounts(name, installed):
    module, function = installed[name].split(":")
    assert getattr(importlib.import_module(module), function) is MODULES[name][0].mount


@pytest.mark.parametrize("name", NAMES)
def test_amplifiers_protocol_check_passes(name):
    from amplifier_core.validation import ContextValidator

    result = asyncio.run(ContextValidator().validate(MODULES[name][0].__name__))
    assert result.passed, result.errors
    assert len(result.checks) >= 9
    assert all(check.passed for check in result.checks)


@pytest.mark.parametrize("name", NAMES)
def test_amplifiers_own_behaviour_tests_pass(name, tmp_path):
    from amplifier_core.validation.behavioral.test_context import ContextBehaviorTests

    tests = ContextBehaviorTests()
    rules = [rule for rule in dir(tests) if rule.startswith("test_")]
    assert len(rules) >= 9
    for number, rule in enumerate(rules):
        asyncio.run(_behave(getattr(tests, rule), name, tmp_path / str(number)))


async def _behave(rule: Any, name: str, folder: Path) -> None:
    module, kind = MODULES[name]
    coordinator = amplifier_core.testing.MockCoordinator()
    config = {} if kind is SimpleContextManager else {"storage_path": str(folder)}
    cleanup = await module.mount(coordinator, config)
    context = coordinator.get("context")
    assert type(context) is kind
    await rule(context)
    if cleanup:
        await cleanup()


def _session(name: str, config: dict[str, Any], **others: Any) -> Any:
    """A session whose modules amplifier-core finds and loads by itself."""
    plan = {
        "session": {"orchestrator": "loop-scripted", "context": name},
        "context": {"config": config},
        "providers": [{"module": "provider-scripted"}],
    }
    return amplifier_core.AmplifierSession(config=plan, **others)


@pytest.mark.parametrize("name", NAMES)
async def test_a_real_session_stays_in_its_budget_and_tells_its_hooks(name):
    told: list[tuple[str, dict[str, Any]]] = []

    async def on_event(event, data):
        told.append((event, data))
        return amplifier_core.HookResult(action="continue")

    async with _session(name, {"compaction_strategy": "smart"}) as session:
        hooks = session.coordinator.get("hooks") or session.coordinator.hooks
        for event in ("context:compact", "context:compaction"):
            hooks.register(event, on_event, name=event)
        assert await session.execute("Audit it.") == "Done with Audit it."
        context = session.coordinator.get("context")
        assert len(await context.get_messages()) == 2 * STEPS + 2
        assert len(session.coordinator.get("orchestrator").requests) == STEPS
    assert {event for event, _ in told} == {"context:compact", "context:compaction"}
    assert all(data["tokens_saved"] > 0 for _, data in told)


async def test_a_real_session_that_is_resumed_goes_on_where_it_was(tmp_path):
    name, config = "context-ullage-persistent", {"storage_path": str(tmp_path / "sessions")}

    async with _session(name, config, session_id="s1") as session:
        await session.execute("First.")
        context = session.coordinator.get("context")
        seen = await context.get_messages_for_request(provider=Provider())
    async with _session(name, config, session_id="s1", is_resumed=True) as session:
        await session.execute("Second.")
        assert len(await session.coordinator.get("context").get_messages()) == 4 * STEPS + 4
        request = session.coordinator.get("orchestrator").requests[0]
    assert request[: len(seen)] == seen
    (file,) = (tmp_path / "sessions").rglob("*.jsonl")
    assert file.parent.name == "s1"
    assert all(json.loads(line) for line in file.read_text().splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_a_source_that_points_at_ullage_is_loaded(name, tmp_path, monkeypatch):
    class Resolver:
        """Takes a source for the path that it is, as Amplifier's does for a local one."""

        def resolve(self, module_id, source_hint=None, profile_hint=None):
            return SimpleNamespace(resolve=lambda: Path(source_hint))

    monkeypatch.setattr("sys.path", [*sys.path])
    config = {} if name.endswith("simple") else {"storage_path": str(tmp_path)}

    async def run():
        coordinator = amplifier_core.testing.MockCoordinator()
        await coordinator.mount("module-source-resolver", Resolver())
        loader = amplifier_core.loader.ModuleLoader(coordinator)
        mount = await loader.load(name, config, source_hint=SOURCE, coordinator=coordinator)
        await mount(coordinator)
        return coordinator.get("context")

    assert isinstance(asyncio.run(run()), MODULES[name][1])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("max_token", "did you mean max_tokens?"),
        ("compact_treshold", "did you mean compact_threshold?"),
        ("zzz", "use auto_compact, compact_threshold, "),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_setting_is_answered_with_one_like_it_or_with_all(name, wrong, says):
    module, _ = MODULES[name]
    with pytest.raises(ullage.PolicyError, match=f"there is no setting '{wrong}'; ") as raised:
        asyncio.run(module.mount(SimpleNamespace(config={}), {wrong: 1}))
    assert str(raised.value).partition("; ")[2].startswith(says)


def test_its_protocol_is_the_one_that_amplifier_names():
    for name, method in inspect.getmembers(
        amplifier_core.interfaces.ContextManager, inspect.isfunction
    ):
        if not name.startswith("_"):
            for kind in (SimpleContextManager, PersistentContextManager):
                own = getattr(kind, name)
                assert inspect.iscoroutinefunction(own)
                assert list(inspect.signature(own).parameters) == list(
                    inspect.signature(method).parameters
                )
