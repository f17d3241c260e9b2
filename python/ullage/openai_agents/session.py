"""``ContextSession``: a session from which another process sends the same requests."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage import PolicyError
from ullage._engine.files import write_whole
from ullage._hosts.conversations import UNDECIDED, Conversations
from ullage._hosts.rows import SameRows

if TYPE_CHECKING:
    from agents.memory import Session

    from ullage import ContextManager
    from ullage._hosts.conversations import HostConversation


class ContextSession:
    """A session, and beside it a small file with the state of its view.

        session = ContextSession(SQLiteSession("s", "sessions.db"), engine, "views/s.json")
        await Runner.run(agent, "Which query is slow?", session=session)

    The session keeps every item unchanged. The file changes with compactions, and when the provider
    begins or stops to answer from its cache. Without the file, another process compacts a long
    session once more, and its first request is not in the provider's prompt cache.

    Args:
        session: Keeps the items.
        engine: The engine of the :class:`ContextModel` or filter of the runs.
        path: The file. Its folder is made.

    Raises:
        PolicyError: If the session is none.
    """

    def __init__(self, session: Session, engine: ContextManager, path: str | Path) -> None:
        if not hasattr(session, "get_items") or not hasattr(session, "add_items"):
            raise PolicyError(f"session: a {type(session).__name__} is no session of the SDK")
        self._session = session
        self._engine = engine
        self._path = Path(path)
        self._conversations = Conversations(SameRows())
        self._items: list[Any] = []
        # The content of the file, or None before it was read.
        self._decided: Any = None

    def __getattr__(self, name: str) -> Any:
        if name == "_session":
            raise AttributeError(name)
        return getattr(self._session, name)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items of the session. Their beginning identifies the view from then on."""
        items: list[Any] = await self._session.get_items(limit)
        if limit is None:
            self._items = list(items)
            if items and self._decided is None:
                saved = await asyncio.to_thread(self._read)
                self._decided = self._conversation(saved).decided
        return items

    async def add_items(self, items: list[Any]) -> None:
        """Adds items, and writes the state if it changed."""
        await self._session.add_items(items)
        self._items += items
        conversation = self._conversation()
        if conversation.decided != (self._decided or UNDECIDED):
            self._decided = conversation.decided
            await asyncio.to_thread(self._write, conversation.dump())

    async def pop_item(self) -> Any:
        """Removes the newest item, and returns it."""
        item = await self._session.pop_item()
        self._items = self._items[:-1]
        return item

    async def clear_session(self) -> None:
        """Removes all items, and the file."""
        await self._session.clear_session()
        self._items, self._decided = [], None
        await asyncio.to_thread(self._path.unlink, missing_ok=True)

    def _conversation(self, saved: dict[str, Any] | None = None) -> HostConversation:
        conversation, _ = self._conversations.of(self._engine, self._items, saved=saved)
        return conversation

    def _write(self, saved: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, json.dumps(saved).encode())

    def _read(self) -> dict[str, Any] | None:
        try:
            saved: dict[str, Any] = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            return {"damaged": str(error)}
        return saved
