"""Valis' context management: large results, pointers, summaries, and a file for all that leaves."""

from ullage.valis.backends import FilesystemBackend, FolderBackend
from ullage.valis.config import CompactionResult, ContextConfig
from ullage.valis.middleware import ContextManagementMiddleware

__all__ = [
    "CompactionResult",
    "ContextConfig",
    "ContextManagementMiddleware",
    "FilesystemBackend",
    "FolderBackend",
]
