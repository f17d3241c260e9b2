"""Files that are packed by gzip or xz."""

from __future__ import annotations

import zlib
from pathlib import PurePath

_GZIP, _XZ = ".gz", ".xz"
ENDINGS = (_GZIP, _XZ)


def unpacked(name: str, data: bytes) -> bytes:
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


def packed(name: str, data: bytes) -> bytes:
    """Returns packed content, by the suffix of the name."""
    ending = PurePath(name).suffix.lower()
    if ending == _GZIP:
        import gzip

        return gzip.compress(data)
    if ending == _XZ:
        import lzma

        return lzma.compress(data)
    return data
