"""Places where stores keep things, for tests that every store passes: files and real servers."""

from __future__ import annotations

import socket
import uuid
from typing import TYPE_CHECKING, Any

import ullage
import ullage.stores

from . import servers

if TYPE_CHECKING:
    from pathlib import Path


class Place:
    """A place that stores are opened at, in this process and in others.

    Args:
        class_name: The class in ``ullage.stores``.
        where: Its positional argument.
        unreachable: That of a place that does not answer.
        more: Further arguments.
        unreachable_more: Those of the place that does not answer.
    """

    def __init__(
        self,
        class_name: str,
        where: str,
        unreachable: str,
        more: dict[str, Any] | None = None,
        unreachable_more: dict[str, Any] | None = None,
    ):
        self.class_name = class_name
        self._reachable = (where, more or {})
        self._unreachable = (unreachable, unreachable_more or {})

    def code(self, **options: Any) -> str:
        """The expression that opens it, for another process."""
        where, more = self._reachable
        return f"ullage.stores.{self.class_name}({where!r}, **{more | options!r})"

    def open(self, **options: Any) -> Any:
        """Another store at the same place."""
        where, more = self._reachable
        return getattr(ullage.stores, self.class_name)(where, **more | options)

    def open_unreachable(self, **options: Any) -> Any:
        """A store whose place does not answer."""
        where, more = self._unreachable
        return getattr(ullage.stores, self.class_name)(where, **more | options)


class OneProcess(Place):
    """A ``MemoryStore``, which is its own place."""

    def __init__(self) -> None:
        super().__init__("MemoryStore", "", "")
        self._store = ullage.MemoryStore()

    def open(self, **options: Any) -> Any:
        return self._store


def memory(folder: Path) -> Place:
    return OneProcess()


def file(folder: Path) -> Place:
    (folder / "no-folder").touch()
    return Place("FileStore", str(folder / "outputs"), str(folder / "no-folder"))


def sqlite(folder: Path) -> Place:
    (folder / "no-folder").touch()
    return Place("SQLiteStore", str(folder / "a" / "b.db"), str(folder / "no-folder" / "b.db"))


def objects_in_folder(folder: Path) -> Place:
    servers.needed("obstore")
    (folder / "no-folder").touch()
    urls = [f"file://{folder / name}" for name in ("objects", "no-folder/a")]
    return Place("ObjectStore", urls[0], urls[1])


def s3(folder: Path) -> Place:
    more = [
        {"config": servers.s3_config(at)} for at in (servers.s3_endpoint(), f"http://{SILENT()}")
    ]
    bucket = servers.s3_bucket(f"b-{uuid.uuid4().hex}")
    prefix = f"{bucket}/some/prefix"
    return Place("ObjectStore", prefix, prefix, more[0], more[1])


def gcs(folder: Path) -> Place:
    more = [
        {"config": servers.gcs_config(at)} for at in (servers.gcs_endpoint(), f"http://{SILENT()}")
    ]
    prefix = f"{servers.gcs_bucket(f'b-{uuid.uuid4().hex}')}/some/prefix"
    return Place("ObjectStore", prefix, prefix, more[0], more[1])


def azure(folder: Path) -> Place:
    endpoint = servers.azure_endpoint()
    more = [{"config": servers.azure_config(at)} for at in (endpoint, f"http://{SILENT()}")]
    prefix = f"{servers.azure_container(f'b-{uuid.uuid4().hex}')}/some/prefix"
    return Place("ObjectStore", prefix, prefix, more[0], more[1])


def redis(folder: Path) -> Place:
    more = {"prefix": uuid.uuid4().hex}
    return Place("RedisStore", servers.redis_url(), f"redis://{SILENT()}", more)


def postgres(folder: Path) -> Place:
    url = servers.postgres_url()
    import psycopg

    name = f"d{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return Place(
        "PostgresStore", url.removesuffix("postgres") + name, f"postgresql://tester@{SILENT()}/x"
    )


class _Silent:
    """A server that accepts connections and never says a word."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def __call__(self) -> str:
        """Its host and port."""
        if self._socket is None:
            self._socket = socket.create_server(("127.0.0.1", 0))
        return f"127.0.0.1:{self._socket.getsockname()[1]}"


SILENT = _Silent()

# All stores; stores that processes share; stores with `keep_for`; stores with cells.
EVERY = {
    "memory": memory,
    "file": file,
    "sqlite": sqlite,
    "objects": objects_in_folder,
    "s3": s3,
    "gcs": gcs,
    "azure": azure,
    "redis": redis,
    "postgres": postgres,
}
SHARED = [name for name in EVERY if name != "memory"]
EXPIRING = [name for name in SHARED if name != "file"]
CELLS = [name for name in EXPIRING if name != "objects"]
