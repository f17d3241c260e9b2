"""A user's program: every name of the three systems and of ``ullage.replay``, as one would write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typing_extensions import assert_type

import ullage
from ullage import amplifier, replay, supyagent, valis
from ullage.sessions import iter_sessions

messages: list[dict[str, Any]] = [{"role": "user", "content": "Audit app.py"}]


async def in_amplifier(coordinator: Any) -> None:
    await amplifier.mount(coordinator, {"max_tokens": 8_000})
    source: str = amplifier.SOURCE
    print(source)

    async def important(messages: list[Any]) -> list[float]:
        return [0.5 for _ in messages]

    context = amplifier.SimpleContextManager(
        max_tokens=8_000, compaction_strategy="smart", importance=important
    )
    await context.add_message(messages[0])
    assert_type(await context.get_messages_for_request(), list[dict[str, Any]])
    kept = amplifier.PersistentContextManager(storage_path=Path("sessions"), session_id="audit")
    try:
        await kept.initialize()
    except amplifier.MemoryTooLargeError as error:
        print(error)
    assert_type(kept.transcript_path, Path)
    await kept.close()


class Client:
    def chat(self, messages: list[dict[str, Any]]) -> Any:
        return {"content": str(messages)}


def in_supyagent() -> None:
    settings = supyagent.ContextSettings.load("agent.json")
    assert_type(settings, supyagent.ContextSettings)
    manager = settings.manager(llm=Client())
    assert_type(manager, supyagent.ContextManager)
    if manager.should_summarize(messages):
        summary = manager.generate_summary(messages)
        assert_type(summary, supyagent.ContextSummary)
    request = manager.build_messages_for_llm("Be careful.", messages, tools=[])
    assert_type(request, list[dict[str, Any]])
    status = manager.context_status(messages, tools=[])
    assert_type(status, supyagent.ContextStatus)
    tokens = [
        supyagent.count_tokens("text", "gpt-4o"),
        supyagent.count_message_tokens(messages[0]),
        supyagent.count_messages_tokens(messages),
        supyagent.count_tools_tokens(None),
        supyagent.get_context_limit("gpt-4o"),
        supyagent.get_encoding("gpt-4o").count("text"),
        supyagent.CONTEXT_LIMITS["gpt-4o"],
    ]
    assert_type(tokens, list[int])
    print(supyagent.MODEL_ENCODINGS["gpt-4o"])


class Backend:
    """Files somewhere else."""

    def write_file(self, path: str, content: str) -> None:
        Path(path).write_text(content)


async def in_valis(agent: Any) -> None:
    backend: valis.FilesystemBackend = Backend()
    folder = valis.FolderBackend("agent-files")
    config = valis.ContextConfig(model_context_limits={"mine": 20_000})
    context = valis.ContextManagementMiddleware(config, filesystem_backend=backend)
    assert_type(context.process_tool_result("rows", "query", "call-1"), str)
    fitting = await context.manage_context(messages, "mine", summarization_agent=agent)
    result = valis.CompactionResult(10, 5, 5, "summarization")
    assert_type(result.files_created, list[str])
    print(fitting, folder)


def replaying() -> None:
    settings = [replay.read_policy("default"), replay.Setting("mine", ullage.Policy(low=0.4))]
    sweep = replay.Sweep(replay.grid(settings, {"high": [0.6, 0.8]}), contexts=[40_000])
    try:
        sessions = replay.read_sessions(Path("sessions"))
    except replay.UnreadableSessionError as error:
        print(error.file, error.line, error.problem)
        unread: list[replay.UnreadableSessionError] = []
        sessions = replay.read_sessions("sessions", on_unreadable=unread.append)
        sessions = [*iter_sessions("s3://bucket/sessions", unread.append)]
        sessions = [replay.Session("mine", messages)]
    outcome = replay.replay(sessions, sweep, jobs=1)
    assert_type(outcome, replay.Replay)
    assert_type(replay.replay_files(["a.jsonl"], sweep, workers=2, ray=False), replay.Replay)
    assert_type(replay.table(outcome, ".csv"), bytes)
    assert_type(outcome.rows(), list[replay.Row])
    assert_type(outcome.cuts, list[replay.Cut])
    assert_type(outcome.costs, list[replay.Cost])
    assert_type(outcome.unreadable, list[replay.UnreadableSession])
    assert_type(
        [(left_out.name, left_out.problem) for left_out in outcome.unreadable],
        list[tuple[str, str]],
    )
    kept = [cut.retention for cut in outcome.cuts]
    assert_type(kept, list[replay.Retention])
    assert_type([retention.acts_near for retention in kept], list[replay.Share])
    assert_type(outcome.interval(outcome.rows()[0], "lines"), tuple[float, float] | None)
    assert_type(replay.follow(sessions[0], ullage.Policy(), model="gpt-4o"), ullage.Recorder)
    print(replay.html(outcome), *replay.BASELINES)
