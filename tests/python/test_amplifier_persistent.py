"""The context of an Amplifier session, in a file."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ullage
from ullage.amplifier import PersistentContextManager
from ullage.amplifier.persistent import mount

from .amplifier_sessions import (
    FORMS,
    TASK,
    Hooks,
    asked,
    contents,
    faults,
    is_request,
    session,
    tokens,
)
from .lengths import first


@pytest.fixture
def path(tmp_path):
    return tmp_path / "session.jsonl"


async def fill(context, messages):
    for message in messages:
        await context.add_message(message)
        if is_request(message):
            await context.get_messages_for_request()


@pytest.mark.parametrize("strategy", ["simple", "smart"])
@pytest.mark.parametrize(
    ("form", "budgets"),
    [("openai", (8_000,)), ("anthropic", (12_000, 5_000)), ("openai", (1_500, 40_000))],
)
async def test_a_session_goes_on_with_the_very_views_that_it_had(path, form, budgets, strategy):
    def opened():
        return PersistentContextManager(path, max_tokens=8_000, compaction_strategy=strategy)

    first = opened()
    await fill(first, session(form, 60))
    before = [await asked(first, budget) for budget in budgets]
    messages, stats = await first.get_messages(), first._last_compaction_stats
    await first.close()
    again = opened()
    assert await again.get_messages() == messages
    assert again.recovered is None
    assert again._last_compaction_stats == (stats or again._last_compaction_stats)
    assert [await asked(again, budget) for budget in budgets] == before
    await again.add_message({"role": "user", "content": "Go on."})
    for budget, request in zip(budgets, before, strict=True):
        assert (await asked(again, budget))[: len(request)] == request
    await again.close()


async def test_the_file_has_a_line_for_each_message_as_it_came(path):
    messages = session("openai", 5)

    context = PersistentContextManager(path)
    await fill(context, messages)
    await context.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [{k: v for k, v in line.items() if k != "metadata"} for line in lines] == messages
    assert all("timestamp" in line["metadata"] for line in lines)


def test_a_torn_last_line_is_skipped_and_said(path):
    async def write():
        context = PersistentContextManager(path)
        await fill(context, session("openai", 3))
        await context.close()

    async def read():
        context = PersistentContextManager(path)
        view = await context.get_messages_for_request()
        await context.close()
        return view, context

    asyncio.run(write())
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    view, context = asyncio.run(read())
    # The result was torn, so its call is answered by an error.
    assert len(context.messages) == 7
    assert not faults(view)


async def test_a_second_process_is_kept_out(path):

    first = PersistentContextManager(path)
    await first.initialize()
    with pytest.raises(ullage.StoreError):
        await PersistentContextManager(path).initialize()
    await first.close()
    second = PersistentContextManager(path)
    await second.initialize()
    await second.close()


async def test_messages_that_are_set_yield_to_those_of_the_file_until_it_is_cleared(path):
    new = [{"role": "user", "content": "new"}]

    context = PersistentContextManager(path)
    await context.set_messages([{"role": "user", "content": "old"}])
    await context.close()
    again = PersistentContextManager(path)
    await again.set_messages(new)
    assert [m["content"] for m in await again.get_messages()] == ["old"]
    await again.clear()
    assert await again.get_messages() == []
    await again.set_messages(new)
    await again.add_message({"role": "user", "content": "more"})
    await again.close()
    last = PersistentContextManager(path)
    assert [m["content"] for m in await last.get_messages()] == ["new", "more"]
    await last.close()
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208


async def test_what_cannot_be_written_changes_nothing(path):

    context = PersistentContextManager(path)
    await context.add_message({"role": "user", "content": "old"})
    with pytest.raises(ullage.MessageError):
        await context.set_messages([{"role": "user", "content": {1, 2}}])
    with pytest.raises(ullage.MessageError):
        await context.add_message({"role": "user", "content": object()})
    await context.add_message({"role": "user", "content": "more"})
    await context.close()
    again = PersistentContextManager(path)
    assert [m["content"] for m in await again.get_messages()] == ["old", "more"]
    await again.close()


async def test_memory_files_stand_before_every_request_and_not_in_the_file(path, tmp_path):
    notes = tmp_path / "AGENTS.md"
    notes.write_text("Use tabs.")

    async def factory():
        return "You are an auditor."

    context = PersistentContextManager(path, [notes, tmp_path / "none.md"], max_tokens=4_000)
    await fill(context, session("openai", 20))
    view = await context.get_messages_for_request()
    assert view[0]["content"] == "[Context from AGENTS.md]\n\nUse tabs."
    assert tokens(view) <= 4_000
    await context.set_system_prompt_factory(factory)
    view = await context.get_messages_for_request()
    assert [m["content"] for m in view[:2]] == [
        "You are an auditor.",
        "[Context from AGENTS.md]\n\nUse tabs.",
    ]
    await context.close()
    assert "tabs" not in path.read_text()


def test_memory_files_over_the_budget_are_refused(path, tmp_path):
    notes = tmp_path / "AGENTS.md"
    notes.write_text("word " * 5_000)
    context = PersistentContextManager(path, [notes], max_tokens=1_000)
    with pytest.raises(RuntimeError, match="memory files"):
        asyncio.run(context.initialize())


async def test_what_the_model_saw_before_a_compaction_is_exported(path):

    hooks = Hooks()
    context = PersistentContextManager(path, max_tokens=8_000, export_on_compact=True, hooks=hooks)
    await fill(context, session("openai", 60))
    await context.close()
    exported = sorted(path.parent.glob("session.*.jsonl"))
    assert len(exported) == hooks.compactions >= 2
    for file in exported:
        seen = [json.loads(line) for line in file.read_text().splitlines()]
        assert seen[0]["content"] == "You are an auditor."
        assert 0.9 * 8_000 * 0.8 < tokens(seen) <= 8_000, "a window, not the whole history"


def test_each_session_has_its_file_inside_the_folder(tmp_path):
    sessions = ["a", "a/b", "a_b", "..", "../x", "", "é", "x" * 300, ".hidden"]
    paths = {
        PersistentContextManager(
            storage_path=tmp_path, session_id=session
        ).transcript_path.resolve()
        for session in sessions
    }
    assert len(paths) == len(sessions)
    assert all(path.parent.parent == tmp_path.resolve() for path in paths)


def test_without_a_place_it_lies_in_amplifiers_folder_of_the_project(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    path = PersistentContextManager(session_id="s1").transcript_path
    assert path.relative_to(tmp_path).match(
        ".amplifier/projects/*/sessions/s1/context-messages.jsonl"
    )


async def test_a_request_never_reads_the_file_again(path):

    context = PersistentContextManager(path, max_tokens=10_000_000)
    messages = session("openai", 60)
    await context.set_messages(messages)
    os.truncate(path, 0)
    for number in range(3):
        message = {"role": "user", "content": f"Next {number}."}
        await context.add_message(message)
        messages.append(message)
        view = await context.get_messages_for_request()
        assert contents(view) == contents(messages)
    await context.close()


WRITER = """
import asyncio, sys
from tests.python.amplifier_sessions import is_request, session
from ullage.amplifier import PersistentContextManager

async def run():
    context = PersistentContextManager(sys.argv[1], max_tokens=3_000)
    for message in session(sys.argv[2], 400, lines=8):
        await context.add_message(message)
        print(len(context.messages), flush=True)
        if is_request(message):
            await context.get_messages_for_request()

asyncio.run(run())
"""


@pytest.mark.parametrize("form", first(1, FORMS))
def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(path, project, form):
    random.seed(form)

    async def resume(acknowledged):
        context = PersistentContextManager(path, max_tokens=3_000)
        assert len(await context.get_messages()) in {acknowledged, acknowledged + 1}
        view = await context.get_messages_for_request()
        assert tokens(view) <= 3_000
        assert not faults(view)
        await context.close()

    for _ in range(4):
        path.unlink(missing_ok=True)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), form],
            stdout=subprocess.PIPE,
            text=True,
            cwd=project,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert writer.stdout is not None
        stop = random.randrange(1, 600)
        with writer:
            acknowledged = next(n for line in writer.stdout if (n := int(line)) >= stop)
            writer.send_signal(signal.SIGKILL)
            rest = [int(line) for line in writer.stdout if line.endswith("\n")]
        asyncio.run(resume(max([acknowledged, *rest])))


async def test_mounting_opens_the_file_and_cleaning_up_closes_it(tmp_path):
    class Coordinator:
        session_id, hooks = "s1", None

        def __init__(self):
            self.mounted = {}

        async def mount(self, point, module):
            self.mounted[point] = module

    coordinator = Coordinator()
    cleanup = await mount(coordinator, {"storage_path": str(tmp_path)})
    context = coordinator.mounted["context"]
    assert context.transcript_path == tmp_path / "s1" / "context-messages.jsonl"
    await context.add_message({"role": "user", "content": "x"})
    await cleanup()
    again = PersistentContextManager(storage_path=tmp_path, session_id="s1")
    assert len(await again.get_messages()) == 1
    await again.close()
    with pytest.raises(ullage.PolicyError, match="did you mean storage_path"):
        await mount(coordinator, {"storage_pth": str(tmp_path)})


@pytest.mark.parametrize(
    "settings",
    [
        {"session_id": 5},
        {"storage_path": 5},
        {"transcript_path": ["a"]},
        {"memory_files": "notes.md"},
        {"export_on_compact": "yes"},
        {"lock": "no"},
    ],
    ids=str,
)
def test_places_that_are_none_are_refused_by_name(settings):
    with pytest.raises(ullage.PolicyError, match=next(iter(settings))):
        PersistentContextManager(**settings)


def test_a_coordinator_as_the_guide_has_it_gets_its_context(tmp_path):
    class Coordinator:
        context: PersistentContextManager

    async def run():
        coordinator = Coordinator()
        cleanup = await mount(coordinator, {"transcript_path": str(tmp_path / "a.jsonl")})
        await coordinator.context.add_message({"role": "user", "content": TASK})
        assert coordinator.context.config.get("max_tokens", 0) == 200_000
        await cleanup()

    asyncio.run(run())
    config: Any = []
    with pytest.raises(ullage.PolicyError, match="must be a mapping; got a list"):
        asyncio.run(mount(Coordinator(), config))
