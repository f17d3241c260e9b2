"""``LruCache``: a bounded cache."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

T = TypeVar("T")


class LruCache(Generic[T]):
    """The most recently used values, by key. Threads may share it.

    Args:
        most: The largest number of values.
        most_bytes: The largest sum of their sizes. The newest value stays, whatever its size.
    """

    def __init__(self, most: int, most_bytes: float = math.inf) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        # With the size of each.
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy has the limits, and begins empty.
        return type(self), (self._most, self._most_bytes)

    def get(self, key: Hashable) -> T | None:
        """Returns the value, which becomes the newest."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def values(self) -> list[T]:
        """Returns all values, the newest first."""
        with self._lock:
            return [value for value, _ in reversed(self._values.values())]

    def put(self, key: Hashable, value: T, size: int = 0) -> None:
        """Keeps a value. The least recently used ones may be dropped.

        Args:
            key: The key.
            value: The value.
            size: An estimate of its bytes.
        """
        with self._lock:
            self._remove(key)
            self._values[key] = value, size
            self._bytes += size
            while len(self._values) > self._most or self._is_too_large():
                self._remove(next(iter(self._values)))

    def take(self, key: Hashable) -> T | None:
        """Returns and removes the value."""
        with self._lock:
            return self._remove(key)

    def _remove(self, key: Hashable) -> T | None:
        value, size = self._values.pop(key, (None, 0))
        self._bytes -= size
        return value

    def _is_too_large(self) -> bool:
        return self._bytes > self._most_bytes and len(self._values) > 1

    def __len__(self) -> int:
        return len(self._values)
