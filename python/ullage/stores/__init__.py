"""Stores content and conversations, and reads them back."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ullage._core import FileStore, MemoryStore
from ullage.stores.protocol import FullStore, Store

if TYPE_CHECKING:
    from ullage.stores.encrypted import EncryptedStore
    from ullage.stores.objects import ObjectStore
    from ullage.stores.postgres import PostgresStore
    from ullage.stores.redis import RedisStore
    from ullage.stores.shared import Cell, SharedStore
    from ullage.stores.sqlite import SQLiteStore

__all__ = [
    "Cell",
    "EncryptedStore",
    "FileStore",
    "FullStore",
    "MemoryStore",
    "ObjectStore",
    "PostgresStore",
    "RedisStore",
    "SQLiteStore",
    "SharedStore",
    "Store",
]

# Imported on first use: each needs a client, and importing sqlite3 takes as long as ullage itself.
_PLACES = {
    "Cell": "shared",
    "EncryptedStore": "encrypted",
    "ObjectStore": "objects",
    "PostgresStore": "postgres",
    "RedisStore": "redis",
    "SQLiteStore": "sqlite",
    "SharedStore": "shared",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"ullage.stores.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
