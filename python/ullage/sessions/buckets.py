"""Files of sessions in buckets of S3, Google Cloud Storage and Azure, by their URL."""

from __future__ import annotations

import re
import tempfile
from datetime import timedelta
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from ullage._engine.reasons import error_line
from ullage.sessions.file import UnreadableSessionError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Not a drive of Windows.
_URL = re.compile(r"[a-z][a-z0-9+.-]+://")

# Bytes of a file that are held in memory. A longer one is copied to the disk first, so that reading
# it needs neither its size in memory nor a connection that lasts as long as the measuring.
_IN_MEMORY = 32 * 2**20

# The client's own limit of 30 seconds for a request is too short for large files, and its ten tries
# in three minutes are too long for a mistyped address.
_PATIENCE = timedelta(hours=1)
_TRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}

# Folders whose clients, with their connections, are kept.
_CLIENTS = 16


def is_url(name: str) -> bool:
    """True if a name is a URL."""
    return bool(_URL.match(name))


def objects_in(url: str) -> Iterator[tuple[str, int]]:
    """The URL and the size of each object below a URL.

    Raises:
        UnreadableSessionError: If they cannot be listed.
    """
    client, bucket = _client(url), url.rstrip("/")
    try:
        for found in client.list(_bucket(bucket)):
            for one in found:
                yield f"{bucket}/{one['path']}", one["size"]
    except Exception as error:
        raise UnreadableSessionError(url, error_line(error)) from error


def open_object(url: str) -> IO[bytes]:
    """The content of an object.

    Raises:
        UnreadableSessionError: If it cannot be read.
    """
    client, (folder, _, name) = _client(url), url.rpartition("/")
    content = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        for chunk in client.get(_bucket(folder), name):
            content.write(chunk)
    except Exception as error:
        content.close()
        reason = (
            "there is no such object" if isinstance(error, FileNotFoundError) else error_line(error)
        )
        raise UnreadableSessionError(url, reason) from error
    content.seek(0)
    return content


def _client(url: str) -> Any:
    try:
        import obstore
    except ImportError as error:
        needed = "a URL needs obstore: pip install 'ullage[objects]'"
        raise UnreadableSessionError(url, needed) from error
    return obstore


@lru_cache(_CLIENTS)
def _bucket(url: str) -> Any:
    from obstore.store import from_url

    more: dict[str, Any] = {}
    if not url.startswith("file:"):
        # Only an endpoint in the environment can be without encryption.
        more = {
            "client_options": {"timeout": _PATIENCE, "allow_http": True},
            "retry_config": _TRIES,
        }
    # Names of objects may have spaces. A percent sign is taken as that of a quoted URL.
    return from_url(quote(url, safe="/:%@"), **more)
