"""Names that the pages of the documentation use and the reader defines.

A page that is not here has all that its code needs.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ullage

from . import players
from .adk_host import log_entries, runner_of, say, scripted
from .blocks import text_of
from .gemini_host import call, gemini, text
from .histories import Client

if TYPE_CHECKING:
    from collections.abc import Callable

Names = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        names: Makes the names that are there before its first block.
        before: Is called before each block.
        after: Judges what the blocks left, what they printed, and the folder that they ran in.
        is_apart: Whether it runs in a process of its own, where it changes what all tests share.
    """

    names: Callable[[], Names] = dict
    before: Callable[[Names], None] = lambda _names: None
    after: Callable[[Names, str, Path], None] = lambda _names, _printed, _folder: None
    is_apart: bool = False


def _strands() -> Names:
    return {"model": players.Player(3, words=20_000, limit=200_000), "tools": [players.fetch]}


def _rest(names: Names) -> None:
    names["model"].rest = 3


def _judge_stored(_: Names, __: str, folder: Path) -> None:
    assert list((folder / "artifacts").rglob("*.log")), "what was large is on the disk"


def _judge_not_stored(_: Names, __: str, folder: Path) -> None:
    assert not (folder / "artifacts").exists()


def _adk() -> Names:
    def fetch(number: int) -> dict[str, Any]:
        """Fetches logs."""
        lines = "".join(f"2026-05-01 svc-{number} latency={n * 7 % 90}\n" for n in range(30))
        return {"status": "ok", "logs": lines, "count": 30}

    model = gemini(lambda n, _: call("fetch", number=n) if n < 30 else text("The database."))
    return {"model": model, "tools": [fetch]}


def _judge_adk(names: Names, printed: str, _: Path) -> None:
    assert printed.startswith(f"{sum(names['model'].counts):,} tokens, ")
    assert len(names["model"].sent) == 31
    assert names["agent"].before_model_callback is not None


def _judge_sre_agent(names: Names, printed: str, _: Path) -> None:
    assert "• Called tool: fetch_trace(trace_id='4bf9')" in printed
    assert names["agent"].after_tool_callback is not None
    assert len(names["payloads"].tools()) == 2


def list_log_entries() -> dict[str, Any]:
    """Lists."""
    return {"result": log_entries(600)}


class _NoArtifacts:
    async def save_artifact(self, name: str, part: Any) -> int:
        raise ValueError(name)


def _adk_data() -> Names:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session
    from google.genai import types

    from ullage.adk import LargePayloadHandler, PayloadLimits

    store = ullage.MemoryStore()
    original = list_log_entries()
    handler = LargePayloadHandler(store, limits=PayloadLimits())
    context: Any = _NoArtifacts()
    handled = asyncio.run(handler.handle("list_log_entries", {}, original, context))
    events = [Event(author="user", content=types.UserContent("Look."))]
    return {
        "store": store,
        "model": scripted(("list_log_entries", {}), "done"),
        "list_log_entries": list_log_entries,
        "handled": handled,
        "original": original,
        "ask_a_small_model": None,
        "session": Session(id="s", app_name="test", user_id="u", events=events),
    }


def _judge_adk_data(names: Names, _: str, __: Path) -> None:
    assert names["rows"].count('"severity":"ERROR"') == 2
    assert '"request 17 ' in names["entry"]
    assert [entry.parts[0].text for entry in names["contents"]] == ["Look."]

    async def ran() -> list[Any]:
        runner = runner_of(names["agent"])
        session = await runner.session_service.create_session(app_name="test", user_id="u")
        return list(await say(runner, session.id, "What is wrong?"))

    (response,) = [one for event in asyncio.run(ran()) for one in event.get_function_responses()]
    assert response.response["metadata"]["handling_mode"] == "template_core"


class _Agent:
    async def run(self, given: str, *, stateless: bool) -> str:
        return "## Session Intent\nBuild the app"


class _Anthropic:
    """A client as Anthropic's, with a model that says one thing."""

    def __init__(self) -> None:
        self.messages = self

    def create(self, *, messages: list[Any], **_: Any) -> Any:
        assert messages[0]["content"]
        return SimpleNamespace(content=[SimpleNamespace(text="Forty pages were read.")])


def _counting() -> Names:
    Path("api.json").write_text("{}", encoding="utf-8")
    return {}


def _judge_replay(_: Names, printed: str, __: Path) -> None:
    assert "saves 0 tokens" in printed


def _judge_observability(_: Names, printed: str, __: Path) -> None:
    assert re.search(r"^compact \d+ \d+$", printed, re.MULTILINE)
    shown = re.findall(r"^day \d+: .*$", text_of("docs/observability.md"), re.MULTILINE)
    assert re.findall(r"^day \d+: .*$", printed, re.MULTILINE) == shown != []


PAGES = {
    "docs/strands.md": Page(_strands, _rest, _judge_stored),
    "docs/migrate-from-cyber-autoagent.md": Page(_strands, _rest, _judge_stored),
    "docs/migrate-from-strands-managers.md": Page(_strands, _rest, _judge_not_stored),
    "docs/adk.md": Page(_adk, after=_judge_adk),
    "docs/adk-data.md": Page(_adk_data, after=_judge_adk_data),
    "docs/migrate-from-sre-agent.md": Page(_adk, after=_judge_sre_agent),
    "docs/supyagent.md": Page(lambda: {"client": Client()}),
    "docs/valis.md": Page(lambda: {"agent": _Agent()}),
    "docs/counting.md": Page(_counting),
    "docs/summaries.md": Page(lambda: {"client": _Anthropic()}),
    "docs/replay.md": Page(after=_judge_replay),
    "docs/observability.md": Page(after=_judge_observability, is_apart=True),
}
