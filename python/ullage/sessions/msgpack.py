"""Decodes MessagePack to plain values, as LangGraph's checkpoints hold them.

LangGraph packs an object as an extension: the names of a module and a class, and the arguments.
Nothing is imported or called here: an object becomes its arguments.
"""

from __future__ import annotations

import struct
from typing import Any

# LangGraph's extensions: an object by one argument, by several, by names, by one argument of a
# method, and as the values of a pydantic model (two versions). The arguments are the third value.
_OBJECTS = frozenset(range(6))
_ARGUMENTS = 2
# A value as it is, packed again.
_SNAPSHOT = 7
# More than any message has, and far less than Python's own limit.
_MOST_DEPTH = 200

_FIXED = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
# Whole values: short integers, and constants.
_CONSTANTS: dict[int, Any] = {
    **{tag: tag for tag in range(0x80)},
    **{tag: tag - 0x100 for tag in range(0xE0, 0x100)},
    0xC0: None,
    0xC2: False,
    0xC3: True,
}
# Values with their length in the tag: the first and the last tag, and what reads them.
_SHORT = ((0x80, 0x8F, "_map"), (0x90, 0x9F, "_list"), (0xA0, 0xBF, "_text"))
# Values with their length after the tag: its bytes, and what reads them.
_LONG = {
    0xC4: (1, "_take"),
    0xC5: (2, "_take"),
    0xC6: (4, "_take"),
    0xC7: (1, "_extension"),
    0xC8: (2, "_extension"),
    0xC9: (4, "_extension"),
    0xD9: (1, "_text"),
    0xDA: (2, "_text"),
    0xDB: (4, "_text"),
    0xDC: (2, "_list"),
    0xDD: (4, "_list"),
    0xDE: (2, "_map"),
    0xDF: (4, "_map"),
}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


def decode(data: bytes, depth: int = 0) -> Any:
    """Returns the value in some bytes.

    Raises:
        ValueError: If they are not one value of MessagePack, or it is nested too deeply.
    """
    if depth > _MOST_DEPTH:
        raise ValueError("it is nested too deeply")
    reader = _Reader(data, depth)
    value = reader.value()
    if reader.at != len(data):
        raise ValueError("there are bytes after the value")
    return value


class _Reader:
    def __init__(self, data: bytes, depth: int) -> None:
        self._data = data
        self._depth = depth
        self.at = 0

    def value(self) -> Any:
        (tag,) = self._take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in _FIXED:
            return struct.unpack(_FIXED[tag], self._take(struct.calcsize(_FIXED[tag])))[0]
        for first, last, read in _SHORT:
            if first <= tag <= last:
                return getattr(self, read)(tag - first)
        if tag in _LONG:
            width, read = _LONG[tag]
            return getattr(self, read)(int.from_bytes(self._take(width), "big"))
        if tag in _FIXED_EXTENSIONS:
            return self._extension(_FIXED_EXTENSIONS[tag])
        raise ValueError(f"{tag:#x} begins no value")

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self._data):
            raise ValueError("it ends in the middle of a value")
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def _text(self, count: int) -> str:
        return self._take(count).decode("utf-8", errors="replace")

    def _list(self, count: int) -> list[Any]:
        self._deeper(count)
        values = [self.value() for _ in range(count)]
        self._depth -= 1
        return values

    def _map(self, count: int) -> dict[Any, Any]:
        self._deeper(count)
        found = {}
        for _ in range(count):
            key = self.value()
            # A key of LangGraph may be an object. No field of a message has one.
            found[key if isinstance(key, (str, int)) else repr(key)] = self.value()
        self._depth -= 1
        return found

    def _deeper(self, count: int) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise ValueError("it is nested too deeply")
        if count > len(self._data) - self.at:
            raise ValueError("it ends in the middle of a value")

    def _extension(self, count: int) -> Any:
        (code,) = struct.unpack(">b", self._take(1))
        data = self._take(count)
        if code == _SNAPSHOT:
            return decode(data, self._depth + 1)
        if code not in _OBJECTS:
            return None
        packed = decode(data, self._depth + 1)
        is_object = isinstance(packed, list) and len(packed) > _ARGUMENTS
        return packed[_ARGUMENTS] if is_object else None
