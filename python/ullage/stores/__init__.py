"""Keeping content and conversations, and reading them back."""

from ullage._core import FileStore, MemoryStore
from ullage.stores.protocol import FullStore, Store

__all__ = ["FileStore", "FullStore", "MemoryStore", "Store"]
