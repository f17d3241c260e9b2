"""``PersistentContextManager``: the context of an Amplifier session, in a file."""

from __future__ import annotations

import asyncio
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from ullage import PolicyError, UllageError
from ullage._engine.logger import Logger
from ullage.amplifier import files
from ullage.amplifier.configuration import arguments, mount_in
from ullage.amplifier.context_file import ContextFile
from ullage.amplifier.messages import copies, with_timestamp
from ullage.amplifier.settings import CompactionSettings, require
from ullage.amplifier.simple import SimpleContextManager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ullage.amplifier.settings import StrategyName
    from ullage.amplifier.views import BudgetView

logger = Logger(__name__)


class PersistentContextManager(SimpleContextManager):
    """A :class:`SimpleContextManager` whose messages survive the process.

    Each message is one line at the end of a file, and is written before it is added. The file is
    read once. A compaction adds a line, so a resumed session continues with the same requests, and
    the file always has the whole history. After a crash, requests are repaired: a call without a
    written result gets one that says so.

    Args:
        transcript_path: The file. The default is a file in ``storage_path``.
        memory_files: Files whose texts are added before the history as system messages.
        max_tokens: See :class:`SimpleContextManager`.
        compact_threshold: See :class:`SimpleContextManager`.
        target_usage: See :class:`SimpleContextManager`.
        truncate_boundary: See :class:`SimpleContextManager`.
        protected_recent: See :class:`SimpleContextManager`.
        truncate_chars: See :class:`SimpleContextManager`.
        hooks: See :class:`SimpleContextManager`.
        storage_path: The folder of all sessions. The default is the project's folder in Amplifier.
        session_id: The id of the session, which has its own folder in ``storage_path``.
        compaction_strategy: "simple", "smart" or "custom".
        export_on_compact: True to write the messages before each compaction to a numbered file.
        fsync: "always", "close" or "never": the times at which the file is flushed to the disk.
            Data that was not flushed is lost only if the power fails.
        lock: True to lock the file against other processes.
        others: All other arguments of :class:`SimpleContextManager`, by name.

    Raises:
        PolicyError: If a setting is out of range.
    """

    def __init__(  # noqa: PLR0917 - Amplifier's parameters, in its order
        self,
        transcript_path: str | PathLike[str] | None = None,
        memory_files: Sequence[str | PathLike[str]] | None = None,
        max_tokens: int = 200_000,
        compact_threshold: float = 0.92,
        target_usage: float = 0.50,
        truncate_boundary: float = 0.50,
        protected_recent: float = 0.10,
        truncate_chars: int = 250,
        hooks: Any = None,
        *,
        storage_path: str | PathLike[str] | None = None,
        session_id: str = "default",
        compaction_strategy: StrategyName = "smart",
        export_on_compact: bool = False,
        fsync: Literal["always", "close", "never"] = "close",
        lock: bool = True,
        **others: Any,
    ) -> None:
        super().__init__(
            max_tokens,
            compact_threshold,
            target_usage,
            protected_recent,
            truncate_chars=truncate_chars,
            truncate_boundary=truncate_boundary,
            compaction_strategy=compaction_strategy,
            hooks=hooks,
            **others,
        )
        require({"export_on_compact": export_on_compact, "lock": lock})
        _require_places(storage_path, transcript_path, session_id, memory_files)
        self.transcript_path = files.transcript_path(transcript_path, storage_path, session_id)
        self.memory_files = list(memory_files or [])
        self.export_on_compact = export_on_compact
        self.config = {
            **self.config,
            "storage_path": None if storage_path is None else str(storage_path),
            "transcript_path": str(self.transcript_path),
            "export_on_compact": export_on_compact,
        }
        self._file = ContextFile(self.transcript_path, fsync=fsync, lock=lock)

    @property
    def recovered(self) -> str | None:
        """A sentence about incomplete lines that were skipped after a crash, or None."""
        return self._file.recovered

    async def initialize(self) -> None:
        """Opens and reads the file and the memory files, once. All methods call it.

        Raises:
            StoreError: If the file cannot be opened, or another process has it open.
            MemoryTooLargeError: If the memory files take more than ``max_tokens``.
        """
        if not self._file.is_open:
            await asyncio.to_thread(self._read)

    async def close(self) -> None:
        """Flushes and unlocks the file.

        Raises:
            StoreError: If it cannot be flushed.
        """
        await asyncio.to_thread(self._file.close)

    async def add_message(self, message: dict[str, Any]) -> None:
        """Writes a message to the file, and then adds it.

        Raises:
            MessageError: If it cannot be read, or is not JSON-like.
            StoreError: If it cannot be written. After any error it is not in the history.
        """
        stamp = with_timestamp(message)
        await self.initialize()
        if self._file.is_slow:
            await asyncio.to_thread(self._add, stamp)
        else:
            self._add(stamp)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces all messages, unless the file had messages when it was opened.

        In that case the messages of the file stay, because a host that resumes a session may have
        fewer messages. Call :meth:`clear` first to start over.

        Raises:
            MessageError: If a message cannot be read, or is not JSON-like. Then nothing changes.
            StoreError: If they cannot be written. Then nothing changes.
        """
        await self.initialize()
        if self._file.is_resumed:
            logger.info("path=<%s> | the messages of the file were kept", self.transcript_path)
        else:
            await asyncio.to_thread(lambda: self._begin(copies(messages)))

    async def clear(self) -> None:
        """Removes all messages, also from the file.

        Raises:
            StoreError: If the file cannot be written; then nothing changes.
        """
        await self.initialize()
        await asyncio.to_thread(self._begin, [])
        self._file.is_resumed = False
        self._memory = []

    async def _open(self) -> None:
        await self.initialize()

    async def _keep(self, view: BudgetView, messages: list[Any]) -> None:
        try:
            await asyncio.to_thread(self._write_view, view, messages, self.messages)
        except UllageError as error:
            # The messages are in the file; a session that is resumed compacts them again.
            logger.warning(
                "path=<%s>, error=<%s> | the messages were not written", self.transcript_path, error
            )

    def _write_view(self, view: BudgetView, request: list[Any], history: list[Any]) -> None:
        with self._file.writing:
            # The session may have been cleared meanwhile.
            if history is not self.messages:
                return
            if self.export_on_compact:
                self._file.export(view.before)
            memory = {id(message) for message in self._memory}
            lasting = [message for message in request if id(message) not in memory]
            self._file.keep(lasting, self._views.past())

    def _read(self) -> None:
        with self._file.writing:
            if self._file.is_open:
                return
            memory = files.memory_messages(self.memory_files)
            if self._views.counter_for(None).count_messages(memory) > self.max_tokens:
                raise files.MemoryTooLargeError(
                    f"the memory files take more than max_tokens, which is {self.max_tokens:,};"
                    " shorten them or raise it"
                )
            self.messages, views = self._file.open()
            self._memory = memory
            self._views.forget()
            self._views.restore(views, CompactionSettings.of(self), self.compaction_function)
            self._shown = self._views.last
            self._file.is_open = True

    def _add(self, message: dict[str, Any]) -> None:
        with self._file.writing:
            self._file.append(message)
            self.messages.append(message)

    def _begin(self, messages: list[dict[str, Any]]) -> None:
        with self._file.writing:
            self.messages = self._file.replace(messages)
            self._views.forget()


def _require_places(storage: Any, transcript: Any, session: Any, memory_files: Any) -> None:
    for name, path in (("storage_path", storage), ("transcript_path", transcript)):
        if path is not None and not isinstance(path, (str, PathLike)):
            raise PolicyError(f"{name} must be a path; got {path!r}")
    if not isinstance(session, str):
        raise PolicyError(f"session_id must be a string; got {session!r}")
    listed = memory_files or []
    if isinstance(listed, str) or not all(isinstance(file, (str, PathLike)) for file in listed):
        raise PolicyError(f"memory_files must be a list of paths; got {memory_files!r}")


async def mount(
    coordinator: Any, config: dict[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    """Mounts a :class:`PersistentContextManager` as the context of a session.

    Args:
        coordinator: Amplifier's coordinator, which knows the id of the session.
        config: The arguments of the class by name; functions as "package.module:name".

    Returns:
        A function that closes the file.

    Raises:
        PolicyError: If a setting is unknown or out of range.
        StoreError: If the file cannot be opened, or another process has it open.
    """
    settings = arguments(PersistentContextManager, config)
    session = getattr(coordinator, "session_id", None)
    if isinstance(session, str) and session:
        settings.setdefault("session_id", session)
    context = PersistentContextManager(**settings)
    await context.initialize()
    await mount_in(coordinator, context)
    return context.close
