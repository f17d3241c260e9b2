"""``Wire``: a connection to a server that can be cut without anyone being told."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


class Wire:
    """Passes on all bytes between its own port and another one, until it is frozen."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._is_flowing = threading.Event()
        self._is_flowing.set()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._open = [self._door]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_flowing.set()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._open:
            one.close()

    def freeze(self) -> None:
        """From now on nothing arrives, and no connection is closed."""
        self._is_flowing.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._door.accept()
                far = socket.create_connection(("127.0.0.1", self._behind))
                self._open += [near, far]
                self._start(self._pass, near, far)
                self._start(self._pass, far, near)

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._is_flowing.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def _start(self, target: Callable[..., None], *args: socket.socket) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()
