"""Context modules for Amplifier: the context of a session, in memory or in a file.

A mount plan names the entry point ``context-ullage-simple`` or ``context-ullage-persistent``. The
classes can be used without Amplifier too.

Attributes:
    SOURCE: The folder of both modules, for a mount plan in which each module names its source.
"""

from pathlib import Path

from ullage.amplifier.files import MemoryTooLargeError
from ullage.amplifier.persistent import PersistentContextManager
from ullage.amplifier.simple import SimpleContextManager, mount

SOURCE = str(Path(__file__).parent / "modules")

__all__ = [
    "SOURCE",
    "MemoryTooLargeError",
    "PersistentContextManager",
    "SimpleContextManager",
    "mount",
]
