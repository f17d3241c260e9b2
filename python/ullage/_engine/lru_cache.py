"""``LruCache``: a bounded cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

T = TypeVar("T")


class LruCache(Generic[T]):
    """The most recently used values, by key. Threads may share it.

    Args:
        most: The largest number of values.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """Returns the value, which becomes the newest."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: T) -> None:
        """Keeps a value. The least recently used one may be dropped."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def take(self, key: Hashable) -> T | None:
        """Returns and removes the value."""
        with self._lock:
            return self._values.pop(key, None)

    def __len__(self) -> int:
        return len(self._values)
