"""Recorded sessions: conversations from the files of agents and hosts.

    >>> from ullage import sessions
    >>> sessions.session_file_of("mine", b'[{"role": "user", "content": "Hello"}]').sessions
    [Session(name='mine', messages=[{'role': 'user', 'content': 'Hello'}])]

Everything in ullage that reads a conversation from a file uses this, so all read the same files.
"""

from ullage.sessions.file import Session, SessionFile, UnreadableSessionError
from ullage.sessions.parts import iter_sessions
from ullage.sessions.reading import (
    read_session_file,
    read_sessions,
    session_file_of,
    session_files,
)

__all__ = [
    "Session",
    "SessionFile",
    "UnreadableSessionError",
    "iter_sessions",
    "read_session_file",
    "read_sessions",
    "session_file_of",
    "session_files",
]
