"""``RedisStore``: a Redis server that many machines share."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ullage.stores.shared import TIMEOUT, Cell, SharedStore, require

try:
    from redis import BlockingConnectionPool, Redis, WatchError
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ImportError as error:
    raise require("redis", "redis") from error

if TYPE_CHECKING:
    import builtins

# Characters of the version, which comes before the content of a cell.
_VERSION = 32


class RedisStore(SharedStore):
    """A store in Redis or Valkey, for any number of machines.

    Uses redis-py and its pool (``pip install 'ullage[redis]'``). The server itself removes content
    after ``keep_for`` seconds. All content is in the server's memory, and an artifact has at most
    512 MB. Set the server's ``maxmemory-policy`` to ``noeviction``: otherwise a full server may
    remove content that a conversation refers to. All stores of a session need the same
    ``keep_for``.

    Args:
        url: The address, such as ``redis://host:6379/0``, or ``rediss://`` for TLS.
        session: Any text. Only stores with the same session see its content.
        keep_for: Seconds that an artifact stays after it was last stored, read, or reached from a
            compacted conversation. None keeps it until it is deleted.
        timeout: Seconds that a call may take.
        connections: The most connections that this process opens.
        prefix: The beginning of the keys.
    """

    def __init__(
        self,
        url: str,
        *,
        session: str | None = None,
        keep_for: float | None = None,
        timeout: float = TIMEOUT,
        connections: int = 8,
        prefix: str = "ullage",
    ) -> None:
        super().__init__(session, keep_for)
        self._url = url
        # Redis Cluster hashes only the text in the braces, so one server has all keys of a session.
        self._prefix = f"{prefix}:{{session{self._session}}}"
        # The server's time at the zero of this process' monotonic clock.
        self._zero: float | None = None
        # If the server has closed the connection, the command is tried once more.
        half = timeout / 2
        self._pool: Any = BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=timeout,
            socket_timeout=half,
            socket_connect_timeout=half,
            retry=Retry(NoBackoff(), 1),
        )
        # The pool makes new connections after a fork.
        self._client: Any = Redis(connection_pool=self._pool)

    def close(self) -> None:  # noqa: D102 - the base says it
        self._pool.disconnect()

    def _place(self) -> str:
        return urlsplit(self._url).netloc.rpartition("@")[2]

    def _key(self, reference: str) -> str:
        return f"{self._prefix}:artifact:{reference}"

    @property
    def _index(self) -> str:
        """The key of the sorted set of references, with the expiry time of each."""
        return f"{self._prefix}:references"

    @property
    def _milliseconds(self) -> int | None:
        return None if self.keep_for is None else max(1, int(self.keep_for * 1_000))

    def _now(self) -> float:
        """Returns the time of the server. The clocks of machines differ, and may be set back."""
        if self._zero is None:
            seconds, microseconds = self._client.time()
            self._zero = seconds + microseconds / 1e6 - time.monotonic()
        return self._zero + time.monotonic()

    def _note(self, pipeline: Any, references: builtins.list[str]) -> None:
        """Extends the expiry times of the references in the index."""
        until = math.inf if self.keep_for is None else self._now() + self.keep_for
        pipeline.zadd(self._index, dict.fromkeys(references, until))
        if self._milliseconds is not None:
            pipeline.pexpire(self._index, self._milliseconds)

    def _insert(self, reference: str, content: bytes) -> bytes | None:
        while True:
            with self._client.pipeline() as pipeline:
                pipeline.set(self._key(reference), content, nx=True, px=self._milliseconds)
                self._note(pipeline, [reference])
                is_new, *_ = pipeline.execute()
            if is_new:
                return None
            stored: bytes | None = self._client.getex(self._key(reference), px=self._milliseconds)
            # None if it has expired meanwhile.
            if stored is not None:
                return stored

    def _read(self, reference: str) -> bytes | None:
        stored: bytes | None = self._client.get(self._key(reference))
        return stored

    def _names(self, limit: int | None) -> builtins.list[str]:
        self._client.zremrangebyscore(self._index, -math.inf, self._now())
        names = self._client.zrange(self._index, 0, -1 if limit is None else limit - 1, desc=True)
        return [name.decode() for name in names]

    def _remove(self, reference: str) -> bool:
        with self._client.pipeline() as pipeline:
            pipeline.delete(self._key(reference))
            pipeline.zrem(self._index, reference)
            return bool(pipeline.execute()[0])

    def _extend(self, references: builtins.list[str]) -> None:
        with self._client.pipeline() as pipeline:
            for reference in references:
                pipeline.pexpire(self._key(reference), self._milliseconds)
            self._note(pipeline, references)
            pipeline.execute()

    def _sweep(self) -> builtins.list[str]:
        return []  # The server removes expired content itself.

    def _cell(self, name: str) -> Cell | None:
        return _cell_of(self._client.get(f"{self._prefix}:cell:{name}"))

    def _swap(self, name: str, content: bytes, old: str | None, new: str) -> str | None:
        key = f"{self._prefix}:cell:{name}"
        with self._client.pipeline() as pipeline:
            try:
                pipeline.watch(key)
                cell = _cell_of(pipeline.get(key))
                if (cell and cell.version) != old:
                    return None
                pipeline.multi()
                pipeline.set(key, new.encode() + content, px=self._milliseconds)
                pipeline.execute()
            except WatchError:
                return None
        return new


def _cell_of(value: bytes | None) -> Cell | None:
    return None if value is None else Cell(value[_VERSION:], value[:_VERSION].decode())
