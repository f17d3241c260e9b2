"""The code of the guide to large results and compaction runs as it stands there."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

import ullage
from tests.python.adk_host import log_entries, runner_of, say, scripted
from ullage.adk import LargePayloadHandler, PayloadLimits

GUIDE = Path(__file__).parents[2] / "docs" / "adk-data.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")


def list_log_entries() -> dict[str, Any]:
    """Lists."""
    return {"result": log_entries(600)}


class NoArtifacts:
    async def save_artifact(self, name, part):
        raise ValueError(name)


def test_the_code_of_the_guide_runs(monkeypatch):
    for name in ("ENABLED", "THRESHOLD_ITEMS", "THRESHOLD_CHARS"):
        monkeypatch.delenv(f"SRE_AGENT_LARGE_PAYLOAD_{name}", raising=False)
    store = ullage.MemoryStore()
    original = list_log_entries()
    handler = LargePayloadHandler(store, limits=PayloadLimits())
    context: Any = NoArtifacts()
    handled = asyncio.run(handler.handle("list_log_entries", {}, original, context))
    events = [Event(author="user", content=types.UserContent("Look."))]
    names: dict[str, Any] = {
        "store": store,
        "model": scripted(("list_log_entries", {}), "done"),
        "list_log_entries": list_log_entries,
        "handled": handled,
        "original": original,
        "ask_a_small_model": None,
        "session": Session(id="s", app_name="test", user_id="u", events=events),
    }
    blocks = BLOCK.findall(GUIDE.read_text())
    assert len(blocks) == 6
    for block in blocks:
        exec(compile(block, "adk-data.md", "exec"), names)
    assert names["rows"].count('"severity":"ERROR"') == 2
    assert '"request 17 ' in names["entry"]
    assert [text.parts[0].text for text in names["contents"]] == ["Look."]

    async def ran() -> list[Any]:
        runner = runner_of(names["agent"])
        session = await runner.session_service.create_session(app_name="test", user_id="u")
        return await say(runner, session.id, "What is wrong?")

    (response,) = [one for event in asyncio.run(ran()) for one in event.get_function_responses()]
    assert response.response["metadata"]["handling_mode"] == "template_core"
