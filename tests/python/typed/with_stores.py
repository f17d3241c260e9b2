"""A user's program: stores that processes and machines share."""

from __future__ import annotations

from typing_extensions import assert_type

import ullage
from ullage.stores import (
    Cell,
    EncryptedStore,
    ObjectStore,
    PostgresStore,
    RedisStore,
    SharedStore,
    SQLiteStore,
)


def use(store: SharedStore) -> None:
    full: ullage.FullStore = store
    print(ullage.ContextManager(store=full), store.clean(["bash-0123456789abcdef"]))
    cell = store.read_cell("state")
    assert_type(cell, Cell | None)
    assert_type(store.write_cell("state", b"{}", cell.version if cell else None), str | None)
    store.close()


use(SQLiteStore("outputs.db", session="alice/42", keep_for=30 * 86_400, timeout=5))
use(RedisStore("redis://localhost", session="alice/42", connections=16, prefix="mine"))
use(PostgresStore("postgresql://localhost/agents", keep_for=86_400.0, timeout=2.5))
bucket = ObjectStore("s3://outputs/agents", config={"region": "eu-central-1"})
use(bucket)
view = ullage.ContextManager(store=bucket).open(session="alice/42")
assert_type(view, ullage.View)
full: ullage.FullStore = EncryptedStore(bucket, encrypt=lambda it: it, decrypt=lambda it: it)
