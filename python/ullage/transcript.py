"""``Transcript``: a conversation on the disk, of which nothing is ever lost.

The file has a line for each message as it came, and a line for each compaction that says what the
model saw from then on. So the whole history is always there, and so is the last view of it.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, StoreError, TranscriptFile
from ullage.validity import repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

# The key of records that are no messages; a message that begins with it is wrapped.
_OWN = "ullage"
# How bytes stand in JSON, as in Strands' own sessions.
_BYTES, _DATA = "__bytes_encoded__", "data"


class Transcript:
    """The log of one conversation, and what of it the model sees.

    Messages are appended one write each: once :meth:`append` returns, a crash of the process loses
    nothing of it. A compaction is appended too, so no message ever leaves the file::

        with ullage.Transcript("session.jsonl") as transcript:
            messages = transcript.resume()
            transcript.append({"role": "user", "content": "Hello"})
            view = transcript.view()
            engine.compact(view)
            transcript.set_view(view)

    It is read once, when it is opened. Threads may share one; a second process is kept out.

    Args:
        path: The file, JSON lines; made with its folder if there is none.
        fsync: When it is flushed to the disk, which only a loss of power needs: "always", with each
            line before it counts as written; "close"; or "never".
        lock: Whether others are kept out; a file system without locks needs False.

    Attributes:
        recovered: What is said of lines that a crash left torn, which are skipped; None if none.

    Raises:
        StoreError: If it cannot be opened, or is open elsewhere.
        PolicyError: If ``fsync`` is none of the three.
    """

    recovered: str | None

    def __init__(
        self, path: str | os.PathLike[str], *, fsync: str = "close", lock: bool = True
    ) -> None:
        self._path = os.fspath(path)
        self._file, records, skipped = TranscriptFile.open(self._path, fsync=fsync, lock=lock)
        self._process = os.getpid()
        self._changing = threading.RLock()
        self._log: list[Any] = []
        # By identity, the place of each message in the log.
        self._places: dict[int, int] = {}
        # What is seen: a message, and its place in the log or that of what it stands for.
        self._view: list[tuple[Any, int]] = []
        for number, record in enumerate(records):
            try:
                self._read(record)
            except (ValueError, TypeError, LookupError) as error:  # noqa: PERF203 - one by one
                skipped.append(f"record {number + 1} cannot be read, and was skipped: {error}")
        self.recovered = "; ".join(skipped) or None

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def __len__(self) -> int:
        """Messages that were ever appended."""
        return len(self._log)

    def append(self, message: Any) -> int:
        """Writes a message at the end; its index.

        Raises:
            MessageError: If it is no JSON: a dict of texts, numbers, lists, dicts and bytes.
            StoreError: If it cannot be written. Then it is not in the file.
        """
        line = _line(message, len(self._log))
        if isinstance(message, dict) and next(iter(message), None) == _OWN:
            line = f'{{"{_OWN}":"message","message":{line}}}'
        with self._changing:
            self._write(line)
            self._take(message)
            return len(self._log) - 1

    def extend(self, messages: Iterable[Any]) -> None:
        """Writes messages at the end, one after another."""
        for message in messages:
            self.append(message)

    def messages(self) -> list[Any]:
        """Every message that was ever appended, in a new list."""
        with self._changing:
            return list(self._log)

    def view(self) -> list[Any]:
        """What the model sees: the messages, as the last compaction left them, in a new list."""
        with self._changing:
            return [message for message, _ in self._view]

    def set_view(self, messages: Sequence[Any]) -> None:
        """Writes down what the model sees from now on, such as what a compaction left.

        Messages of the log are known by their identity; all others are written in full.
        O(messages).

        Raises:
            MessageError: If one of them is no JSON.
            StoreError: If it cannot be written. Then the view is as before.
        """
        with self._changing:
            view, place = [], 0
            for message in messages:
                known = self._places.get(id(message))
                place = place if known is None else known
                view.append((message, place))
                # What stands between two messages stands for what was between them.
                place += known is not None
            self._set(view)

    def hide(self, start: int, end: int, note: Any = None) -> None:
        """Takes the messages ``start`` to ``end`` of the log out of the view, not out of the file.

        What stood for any of them goes with them, and ``note``, if given, stands in their place.

        Raises:
            MessageError: If there are no such messages, or the note is no JSON.
            StoreError: If it cannot be written. Then the view is as before.
        """
        with self._changing:
            if not 0 <= start < end <= len(self._log):
                raise MessageError(
                    f"there are no messages {start} to {end}: the log has {len(self._log)}"
                )
            before = [entry for entry in self._view if entry[1] < start]
            behind = [entry for entry in self._view if entry[1] >= end]
            noted = [] if note is None else [(note, start)]
            self._set([*before, *noted, *behind])

    def resume(self, format: str | None = None) -> list[Any]:
        """The view as a provider takes it, after a crash at any moment.

        A call whose result was not written any more gets one that says so, as ``ullage.repair``
        does; what was mended is written down as the view.

        Raises:
            MessageError: If the messages cannot be read.
        """
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

    def export(self, path: str | os.PathLike[str] | Path) -> None:
        """Copies the whole file, before a compaction say.

        Raises:
            StoreError: If there is a file already, or it cannot be written.
        """
        self._file.export(os.fspath(path))

    def close(self) -> None:
        """Flushes the file as ``fsync`` says, and lets others open it.

        Raises:
            StoreError: If it cannot be flushed; it is closed all the same.
        """
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

    def _set(self, view: list[tuple[Any, int]]) -> None:
        items: list[str] = []
        first = last = -1

        def end_range() -> None:
            if first >= 0:
                items.append(f"[{first},{last}]")

        for index, (message, place) in enumerate(view):
            if place < len(self._log) and self._log[place] is message:
                if first < 0 or place != last:
                    end_range()
                    first = place
                last = place + 1
            else:
                end_range()
                first = -1
                items.append(f'{{"at":{place},"message":{_line(message, index)}}}')
        end_range()
        self._write(f'{{"{_OWN}":"view","items":[{",".join(items)}]}}')
        self._view = view

    def _write(self, line: str) -> None:
        if os.getpid() != self._process:
            raise StoreError(
                f"{self._path} was opened in another process, before a fork; open it in this one"
            )
        self._file.append(line)

    def _take(self, message: Any) -> None:
        self._places[id(message)] = len(self._log)
        self._view.append((message, len(self._log)))
        self._log.append(message)

    def _read(self, record: str) -> None:
        value = json.loads(record, object_hook=_from_json)
        if not (isinstance(value, dict) and next(iter(value), None) == _OWN):
            self._take(value)
        elif value[_OWN] == "message":
            self._take(value["message"])
        elif value[_OWN] == "view":
            view: list[tuple[Any, int]] = []
            for item in value["items"]:
                if isinstance(item, list):
                    first, end = item
                    if not 0 <= first < end <= len(self._log):
                        raise ValueError(f"there are no messages {first} to {end}")
                    view.extend((self._log[place], place) for place in range(first, end))
                else:
                    view.append((item["message"], item["at"]))
            self._view = view
        else:
            raise ValueError(f"nobody knows a record of the kind {value[_OWN]!r}")


def _line(message: Any, index: int) -> str:
    def written(ensure_ascii: bool) -> str:
        return json.dumps(
            message,
            ensure_ascii=ensure_ascii,
            allow_nan=False,
            separators=(",", ":"),
            default=_to_json,
        )

    try:
        line = written(ensure_ascii=False)
        try:
            line.encode()
        except UnicodeEncodeError:
            # Half a character, which only an escape can hold.
            line = written(ensure_ascii=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(
            f"message {index} cannot be written as JSON: {error}; give dicts, lists, texts, numbers"
            " and bytes"
        ) from error
    return line


def _to_json(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: True, _DATA: base64.b64encode(value).decode()}
    raise TypeError(f"a {type(value).__name__} is none")


def _from_json(value: dict[str, Any]) -> Any:
    if value.get(_BYTES) is not True or set(value) != {_BYTES, _DATA}:
        return value
    try:
        return base64.b64decode(value[_DATA], validate=True)
    except (TypeError, ValueError):
        return value  # It only looks like bytes of ours.
