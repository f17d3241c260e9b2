"""An MCP server over a store, so that any MCP client can read removed content back.

    ullage mcp --store outputs

Needs ``mcp``, the official SDK (the extra ``ullage[mcp]``). See ``docs/mcp.md``.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from ullage import ContextManager, Policy, RetrievalTool, StoreError
from ullage.stores.retrieval import DEFAULT_LIMIT, asearch
from ullage.stores.tools import DESCRIPTION

if TYPE_CHECKING:
    from ullage.stores.protocol import Store

# The longest text that `compress` accepts, in characters. Clients keep several copies of a message
# in memory.
MOST_COMPRESSED = 2_000_000
# The most outputs whose sizes `stats` adds up, because it has to read each of them.
_MOST_MEASURED = 1_000


def server(store: Store, *, writes: bool = False, limit: int = DEFAULT_LIMIT) -> MCPServer:
    """Returns a server with the tools `retrieve`, `search`, `compress` and `stats`.

    Args:
        store: The store with the removed content. A ``FileStore`` of a session serves only that
            session.
        writes: True to let `compress` store the whole text. If False, nothing is ever written.
        limit: The most characters of an answer. The default is about 5,000 tokens.
    """
    tools = _Tools(store, writes=writes, limit=limit)
    made = MCPServer("ullage", instructions="Reads removed content of a conversation back.")
    for function, description in (
        (tools.retrieve, DESCRIPTION),
        (tools.search, "Search all stored outputs for a regular expression (no look-around)."),
        (tools.compress, _COMPRESS + (_STORES if writes else _STORES_NOT)),
        (tools.stats, "How many outputs are stored, and their bytes."),
    ):
        # With structured output the text would be sent twice.
        made.tool(description=description, structured_output=False)(function)
    return made


class _Tools:
    """The tools. MCP makes their schemas from the signatures, and shows a ``ToolError`` as is."""

    def __init__(self, store: Store, *, writes: bool, limit: int) -> None:
        self._store, self._writes, self._limit = store, writes, limit
        self._retrieval = RetrievalTool(store, limit=limit)
        self._engine = ContextManager(Policy(), store=store if writes else None)

    async def retrieve(  # noqa: PLR0917 - the client gives them by name
        self,
        reference: str,
        pattern: str | None = None,
        lines: str | None = None,
        pointer: str | None = None,
        context: int | None = None,
        head: int | None = None,
        tail: int | None = None,
    ) -> str:
        asked = {"reference": reference, "pattern": pattern, "lines": lines, "pointer": pointer}
        answer = await self._retrieval.aanswer(
            {**asked, "context": context, "head": head, "tail": tail}
        )
        if not answer.ok:
            raise ToolError(answer.text)
        return answer.text

    async def search(self, pattern: str, context: int = 0) -> str:
        try:
            return await asearch(self._store, pattern, max(0, context), limit=self._limit)
        except StoreError as error:
            raise ToolError(str(error)) from error

    async def compress(self, text: str, tool_name: str = "text") -> str:
        if len(text) > MOST_COMPRESSED:
            raise ToolError(f"got {len(text):,} characters; give at most {MOST_COMPRESSED:,}")
        try:
            return str(await self._engine.ashrink(tool_name, text))
        except StoreError as error:
            raise ToolError(str(error)) from error

    async def stats(self) -> str:
        if not hasattr(self._store, "list"):
            raise ToolError(f"a {type(self._store).__name__} cannot be listed")
        references = list(map(str, await _await(self._store.list())))
        measured = references[:_MOST_MEASURED]
        sizes = [len(await _await(self._store.get(reference))) for reference in measured]
        figures = {"outputs": len(references), "bytes": sum(sizes)}
        return json.dumps({**figures, "bytes_are_of": len(measured), "writes": self._writes})


async def _await(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


_COMPRESS = "Shorten a long text, such as a log, to the lines that matter."
_STORES = " The whole text is stored, and the answer names its reference."
_STORES_NOT = " The whole text is not stored, because this server only reads."
