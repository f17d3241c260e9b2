"""ullage in Amplifier: the context of a session, in memory or in a file.

In a mount plan, by the entry points ``context-ullage-simple`` and ``context-ullage-persistent``.
The classes can be used without Amplifier too.
"""

from ullage.amplifier.memory import MemoryTooLargeError
from ullage.amplifier.persistent import PersistentContextManager
from ullage.amplifier.simple import SimpleContextManager, mount

__all__ = [
    "MemoryTooLargeError",
    "PersistentContextManager",
    "SimpleContextManager",
    "mount",
]
