"""Files that are packed by gzip or xz."""

from __future__ import annotations

import zlib
from pathlib import PurePath
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GZIP, _XZ = ".gz", ".xz"
ENDINGS = (_GZIP, _XZ)


def unpack(name: str, data: bytes) -> bytes:
    """Returns the unpacked content of a file, by the suffix of its name.

    Raises:
        ValueError: If it is not packed as its name says, or cut off.
    """
    ending = PurePath(name).suffix.lower()
    # Few callers need these imports.
    if ending == _GZIP:
        import gzip

        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"not a complete gzip file: {error}") from error
    if ending == _XZ:
        import lzma

        try:
            return lzma.decompress(data)
        except (EOFError, lzma.LZMAError) as error:
            raise ValueError(f"not a complete xz file: {error}") from error
    return data


def unpacked_lines(name: str, stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, by the suffix of its name. Only one is in memory.

    Raises:
        ValueError: If it is not packed as its name says, or cut off.
    """
    ending = PurePath(name).suffix.lower()
    if ending == _GZIP:
        import gzip

        try:
            with gzip.GzipFile(fileobj=stream) as lines:
                yield from lines
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"not a complete gzip file: {error}") from error
    elif ending == _XZ:
        import lzma

        try:
            with lzma.LZMAFile(stream) as lines:
                yield from lines
        except (EOFError, lzma.LZMAError) as error:
            raise ValueError(f"not a complete xz file: {error}") from error
    else:
        # `yield from` would close the stream with this generator.
        for line in stream:  # noqa: UP028
            yield line


def pack(name: str, data: bytes) -> bytes:
    """Returns packed content, by the suffix of the name."""
    ending = PurePath(name).suffix.lower()
    if ending == _GZIP:
        import gzip

        return gzip.compress(data)
    if ending == _XZ:
        import lzma

        return lzma.compress(data)
    return data
