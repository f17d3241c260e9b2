"""``Transcript``: a conversation on the disk that never loses a message.

The file has a line for each message, and a line for each compaction with the messages that the
model saw from then on. So the file has the whole history, and its last view.

The record of a view has the number of messages of the log, so a record that does not match is never
used. Its items are ranges of the log, ``[start, end]``, and copies, ``{"for": [start, end], "copy":
digest, "message": ...}``. Only the first copy in the file has the message.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, StoreError, TranscriptFile
from ullage.stores.records import digest_of, line_of, read, written
from ullage.stores.transcript_view import Entry, entries_of, items_of, ranges
from ullage.validity import repair

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Self

# The key of records that are not messages. A message that begins with it is wrapped.
_OWN = "ullage"
# The beginning of such a record, and of one with a wrapped message.
_RECORD, _WRAPPED = f'{{"{_OWN}":"', f'{{"{_OWN}":"message"'
# The place of a message whose line was damaged, so that later ones keep their numbers.
_LOST = object()


class Transcript:
    """The log of one conversation, and its last view.

    Each message is appended by one write. When :meth:`append` returns, a crash of the process does
    not lose the message. A compaction is appended too, so no message is ever removed from the
    file::

        with ullage.Transcript("session.jsonl") as transcript:
            messages = transcript.resume()
            transcript.append({"role": "user", "content": "Hello"})
            view = transcript.view()
            engine.compact(view)
            transcript.set_view(view)

    The file is read once, when it is opened: O(file). Appending costs one write, however long the
    file is. Threads may share a transcript. A second process is refused.

    Do not change a message after appending it. The file has the old message, and so has the
    transcript when it is opened again, unless :meth:`set_view` wrote the new one.

    Args:
        path: The file, JSON lines. It is created with its folder if needed.
        fsync: The time to flush to the disk, which protects against a power failure: "always",
            after each line; "close"; or "never".
        lock: True to refuse other processes. A file system without locks needs False. Then only one
            process should write at a time. If several write, all messages are kept, but a
            compaction that did not know all earlier messages is skipped when the file is read.

    Attributes:
        recovered: A description of torn or damaged lines, which are skipped; None if there are
            none. The message of a damaged line keeps its number.

    Raises:
        StoreError: If the file cannot be opened, or is open elsewhere.
        PolicyError: If ``fsync`` is none of the three.
    """

    recovered: str | None

    def __init__(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
        *,
        fsync: str = "close",
        lock: bool = True,
    ) -> None:
        self._path = os.fsdecode(path)
        self._file, records, skipped = TranscriptFile.open(self._path, fsync=fsync, lock=lock)
        self._process = os.getpid()
        self._changing = threading.RLock()
        self._log: list[Any] = []
        # The indices of each message in the log, by identity. A message may be appended twice.
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        # Digests of the written messages, to notice changes.
        self._digests: list[str] = []
        self._view: list[Entry] = []
        copies: dict[str, Any] = {}
        for number, (record, is_whole) in enumerate(records):
            if not is_whole:
                self._lose(record)
                continue
            try:
                self._read(record, copies)
            except (ValueError, TypeError, LookupError, RecursionError) as error:
                self._lose(record)
                skipped.append(f"record {number + 1} cannot be read, and was skipped: {error}")
        # Copies in the file, which a view can refer to.
        self._copies = set(copies)
        self.recovered = "; ".join(skipped) or None

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def __len__(self) -> int:
        """Returns the number of appended messages, with those of damaged lines."""
        return len(self._log)

    def append(self, message: Any) -> int:
        """Writes a message at the end, and returns its index.

        Raises:
            MessageError: If it is not a dict of texts, numbers, lists, dicts and bytes, nested
                no deeper than the engine's limit of 272 levels.
            StoreError: If it cannot be written. Then it is not in the file; without a lock, half
                of it may be.
        """
        self._check_process()
        line = line_of(message, len(self._log))
        digest = digest_of(line)
        if isinstance(message, dict) and next(iter(message), None) == _OWN:
            line = f'{{"{_OWN}":"message","message":{line}}}'
        with self._changing:
            self._file.append(line)
            self._take(message, digest)
            return len(self._log) - 1

    def extend(self, messages: Iterable[Any]) -> None:
        """Writes messages at the end, one after another."""
        for message in messages:
            self.append(message)

    def messages(self) -> list[Any]:
        """Returns every appended message that can be read, in a new list."""
        return [message for message in list(self._log) if message is not _LOST]

    def view(self) -> list[Any]:
        """Returns the messages as the last compaction left them, in a new list."""
        return [entry.message for entry in list(self._view)]

    def set_view(self, messages: Iterable[Any], since: Iterable[Any] | None = None) -> None:
        """Writes the messages that the model sees from now on, such as those after a compaction.

        Messages of the log are recognized by identity. Changed and new messages are written once;
        later views refer to them. Nothing is written if the view is unchanged. O(length of the
        messages).

        Args:
            messages: The view.
            since: The outcome of :meth:`view` before the compaction, in a list of its own. Messages
                that were appended since then, for example by another thread, follow ``messages``.
                If not given, the view has only ``messages``.

        Raises:
            MessageError: If one of them is not JSON.
            StoreError: If it cannot be written. Then the view is as before.
        """
        self._check_process()
        messages = list(messages)
        with self._changing:
            stay: list[Entry] = []
            if since is not None:
                known = {id(message) for message in (*since, *messages)}
                stay = [
                    entry
                    for entry in self._view
                    if id(entry.message) not in known and self._is_of_log(entry)
                ]
            end = stay[0].start if stay else len(self._log)
            standing = ranges(messages, self._view, self._places, end)
            lines: dict[str, str] = {}
            view: list[Entry] = []
            for index, (message, (start, end)) in enumerate(zip(messages, standing, strict=True)):
                line = line_of(message, index)
                digest: str | None = digest_of(line)
                if self._is_in_log(message, start, end) and self._digests[start] == digest:
                    digest = None
                elif digest is not None:
                    lines[digest] = line
                view.append(Entry(message, start, end, digest))
            self._set([*view, *stay], lines)

    def hide(self, start: int, end: int, note: Any = None) -> None:
        """Removes the messages ``start`` to ``end`` of the log from the view, not from the file.

        Messages of the view that stood for any of them are removed too. ``note``, if given,
        replaces all of them.

        Raises:
            MessageError: If there are no such messages, or the note is not JSON.
            StoreError: If it cannot be written. Then the view is as before.
        """
        self._check_process()
        with self._changing:
            if not 0 <= start < end <= len(self._log):
                raise MessageError(
                    f"there are no messages {start} to {end}: the log has {len(self._log)}"
                )
            gone = [entry for entry in self._view if entry.goes_with(start, end)]
            view = [entry for entry in self._view if not entry.goes_with(start, end)]
            lines: dict[str, str] = {}
            if note is not None:
                line = line_of(note, start)
                digest = digest_of(line)
                lines[digest] = line
                first = min([start, *(entry.start for entry in gone)])
                behind = max([end, *(entry.end for entry in gone)])
                at = self._view.index(gone[0]) if gone else sum(e.end <= first for e in view)
                view.insert(at, Entry(note, first, behind, digest))
            self._set(view, lines)

    def resume(self, format: str | None = None) -> list[Any]:
        """Returns a valid view, after a crash at any moment.

        A call whose result was not written gets one that says so, as in ``ullage.repair``. The
        repairs are stored as the view.

        Raises:
            MessageError: If the messages cannot be read.
        """
        self._check_process()
        with self._changing:
            view = self.view()
            if not view:
                return view
            mended = list(repair(view, format))
            if len(mended) != len(view) or any(
                a is not b for a, b in zip(mended, view, strict=True)
            ):
                self.set_view(mended)
            return mended

    def export(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        """Copies the whole file, for example before a compaction.

        Raises:
            StoreError: If the target exists, or cannot be written.
        """
        self._check_process()
        self._file.export(os.fsdecode(path))

    def close(self) -> None:
        """Flushes the file according to ``fsync``, and allows others to open it.

        In a forked child it does nothing, because the file is its parent's.

        Raises:
            StoreError: If it cannot be flushed. It is closed anyway.
        """
        if os.getpid() == self._process:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Transcript({self._path!r}, messages={len(self._log)})"

    def _is_in_log(self, message: Any, start: int, end: int) -> bool:
        return end == start + 1 and self._log[start] is message

    def _is_of_log(self, entry: Entry) -> bool:
        return self._is_in_log(entry.message, entry.start, entry.end)

    def _set(self, view: list[Entry], lines: dict[str, str]) -> None:
        """Writes a view; ``lines`` are those of copies that may be new."""
        if [entry.same() for entry in view] == [entry.same() for entry in self._view]:
            self._view = view
            return
        items, copied = items_of(view, self._copies, lines)
        self._file.append(f'{{"{_OWN}":"view","of":{len(self._log)},"items":[{items}]}}')
        self._view = view
        self._copies |= copied

    def _check_process(self) -> None:
        # Before any lock, because a thread of the parent may have held it at the fork.
        if os.getpid() != self._process:
            raise StoreError(
                f"{self._path} was opened in another process, before a fork; open it in this one"
            )

    def _take(self, message: Any, digest: str) -> None:
        place = len(self._log)
        self._places[id(message)].append(place)
        self._digests.append(digest)
        self._view.append(Entry(message, place, place + 1, None))
        self._log.append(message)

    def _lose(self, record: str) -> None:
        """Keeps the place of an unreadable line, if it was a message."""
        if not record.startswith(_RECORD) or record.startswith(_WRAPPED):
            self._digests.append("")
            self._log.append(_LOST)

    def _read(self, record: str, copies: dict[str, Any]) -> None:
        value = read(record)
        if not (isinstance(value, dict) and next(iter(value), None) == _OWN):
            self._take(value, digest_of(written(value)))
        elif value[_OWN] == "message":
            message = value["message"]
            self._take(message, digest_of(written(message)))
        elif value[_OWN] == "view":
            self._see(value, copies)
        else:
            raise ValueError(f"unknown kind of record: {value[_OWN]!r}")

    def _see(self, value: dict[str, Any], copies: dict[str, Any]) -> None:
        # Also the copies of an unusable view, because later views refer to them.
        for item in value["items"]:
            if isinstance(item, dict) and "message" in item:
                copies[item["copy"]] = item["message"]
        if value["of"] != len(self._log):
            raise ValueError(
                f"it is a view of {value['of']} messages, but the log has {len(self._log)}"
            )
        self._view = [
            entry
            for entry in entries_of(value["items"], self._log, copies)
            if entry.message is not _LOST
        ]
