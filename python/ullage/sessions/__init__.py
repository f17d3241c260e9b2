"""Recorded sessions: conversations from the files that agents and hosts leave behind.

    >>> from ullage import sessions
    >>> sessions.recording_of("mine", b'[{"role": "user", "content": "Hello"}]').sessions
    [Session(name='mine', messages=[{'role': 'user', 'content': 'Hello'}])]

Whatever reads a conversation from a file reads it with this, so all read the same files.
"""

from ullage.sessions.reading import read_recording, read_sessions, recording_of
from ullage.sessions.recording import Recording, Session, UnreadableSessionError

__all__ = [
    "Recording",
    "Session",
    "UnreadableSessionError",
    "read_recording",
    "read_sessions",
    "recording_of",
]
