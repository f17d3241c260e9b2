"""The MCP server over a store, asked by the official client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import pytest

import ullage

mcp: Any = pytest.importorskip("mcp", reason="mcp is not installed")

from ullage.mcp_server import MOST_COMPRESSED, server  # noqa: E402 - it needs mcp

LOG = "\n".join(f"12:00:{n:04} GET /cart/{n} 200 in {n * 7 % 90} ms" for n in range(4_000))


def ask(made: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async def asked() -> list[Any]:
        async with mcp.Client(made) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(asked())


def text_of(result: Any) -> str:
    return str(result.content[0].text)


@pytest.fixture
def store():
    return ullage.MemoryStore()


@pytest.fixture
def reference(store):
    return store.put(LOG.encode(), reference="read_log-0011223344556677")


def test_the_tools_have_schemas_and_no_structured_output(store):
    async def tools() -> Any:
        async with mcp.Client(server(store)) as client:
            return (await client.list_tools()).tools

    known = {tool.name: tool for tool in asyncio.run(tools())}
    assert set(known) == {"retrieve", "search", "compress", "stats"}
    assert known["retrieve"].input_schema["required"] == ["reference"]
    assert all(tool.output_schema is None and tool.description for tool in known.values())


def test_a_stored_output_is_read_back_bounded(store, reference):
    whole, piece = ask(
        server(store, limit=2_000),
        ("retrieve", {"reference": reference}),
        ("retrieve", {"reference": reference, "pattern": "/cart/3999 "}),
    )
    assert len(text_of(whole)) < 2_600
    assert "GET /cart/3999 200" in text_of(piece)
    assert whole.structured_content is None


def test_search_finds_lines_and_stats_counts(store, reference):
    found, figures = ask(
        server(store), ("search", {"pattern": "/cart/2718 ", "context": 1}), ("stats", {})
    )
    assert reference in text_of(found)
    assert "/cart/2717 " in text_of(found)
    assert json.loads(text_of(figures)) == {
        "outputs": 1,
        "bytes": len(LOG),
        "bytes_are_of": 1,
        "writes": False,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        pytest.param(
            "retrieve",
            {"reference": "read_log-0123456789abcdef"},
            "nothing is stored",
            id="reference",
        ),
        pytest.param("search", {"pattern": "["}, "pattern", id="pattern"),
        pytest.param("compress", {"text": "x" * (MOST_COMPRESSED + 1)}, "give at most", id="size"),
    ],
)
def test_a_mistake_is_an_error_result_that_says_what_to_do(store, name, arguments, message):
    (result,) = ask(server(store), (name, arguments))
    assert result.is_error
    assert message in text_of(result)


def test_compress_writes_only_if_it_may(store):
    (shown,) = ask(server(store), ("compress", {"text": LOG, "tool_name": "read_log"}))
    assert len(text_of(shown)) < len(LOG) // 4
    assert store.list() == []
    (shown,) = ask(server(store, writes=True), ("compress", {"text": LOG, "tool_name": "read_log"}))
    (reference,) = store.list()
    assert reference in text_of(shown)
    assert store.get(reference).decode() == LOG


@pytest.fixture
def folder(tmp_path):
    """A folder with two sessions."""
    own = ullage.FileStore(tmp_path, "audit")
    own.put(LOG.encode(), reference="read_log-0011223344556677")
    other = ullage.FileStore(tmp_path, "other")
    other.put(b"of another session", reference="read_log-7766554433221100")
    return tmp_path


def asked_over_stdio(folder, *options: str) -> list[Any]:
    """The answers of the command to a retrieval, a search and a look at its figures."""

    async def asked() -> list[Any]:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "ullage", "mcp", "--store", str(folder), *options],
            env=dict(os.environ),
        )
        async with stdio_client(parameters) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            calls = [
                session.call_tool(
                    "retrieve", {"reference": "read_log-0011223344556677", "head": 2}
                ),
                session.call_tool("search", {"pattern": "another session"}),
                session.call_tool("stats", {}),
            ]
            return [text_of(await call) for call in calls]

    return asyncio.run(asked())


def test_the_command_serves_a_session_over_stdio(folder):
    piece, found, figures = asked_over_stdio(folder, "--session", "audit")
    assert "GET /cart/1 " in piece
    assert "of another session" not in found
    assert json.loads(figures)["outputs"] == 1


def test_the_command_serves_all_sessions_if_it_is_told_to(folder):
    piece, found, figures = asked_over_stdio(folder, "--all-sessions")
    assert "GET /cart/1 " in piece
    assert "of another session" in found
    assert json.loads(figures) == {
        "outputs": 2,
        "bytes": len(LOG) + len("of another session"),
        "bytes_are_of": 2,
        "writes": False,
    }


def test_all_sessions_can_only_be_read(folder, capsys):
    from ullage.cli import main
    from ullage.stores.all_sessions import AllSessions

    assert main(["mcp", "--store", str(folder), "--all-sessions", "--write"]) != 0
    assert "--write needs a session" in capsys.readouterr().err
    sessions = AllSessions(folder)
    with pytest.raises(ullage.StoreError, match="can only be read"):
        sessions.put(b"new", reference="read_log-0123456789abcdef")
    with pytest.raises(ullage.StoreError, match="nothing is stored"):
        sessions.get("read_log-0123456789abcdef")
    ullage.FileStore(folder, "later").put(b"new", reference="read_log-0123456789abcdef")
    assert sessions.get("read_log-0123456789abcdef") == b"new"


def test_a_missing_folder_is_an_error(tmp_path, capsys):
    from ullage.cli import main

    assert main(["mcp", "--store", str(tmp_path / "none")]) != 0
    assert "folder not found" in capsys.readouterr().err
