"""Stores objects in a fake-gcs-server as obstore does it, by the XML interface.

fake-gcs-server has all of that interface that obstore uses, except for storing an object. This
program passes every request on, and translates that one to the JSON interface, whose conditions
are the same.
"""

from __future__ import annotations

import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

# The line between the parts of a body; no test stores it.
_EDGE = b"--the-edge-of-a-part-of-the-body"

# Headers of a request and of an answer that concern one connection.
_OF_CONNECTION = {"connection", "content-length", "date", "host", "transfer-encoding"}


class Handler(BaseHTTPRequestHandler):
    """Passes a request on to the server at ``upstream``."""

    protocol_version = "HTTP/1.1"
    # The head and the body of an answer are sent one after the other.
    disable_nagle_algorithm = True
    upstream = ("", 0)

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path, headers = self.path, dict(self._passed_on(self.headers.items()))
        is_put = self.command == "PUT"
        if is_put:
            path, headers, body = self._upload(body)
        server = http.client.HTTPConnection(*self.upstream)
        server.request("POST" if is_put else self.command, path, body, headers)
        answer = server.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in self._passed_on(answer.getheaders()):
            self.send_header(name, value)
        if is_put and answer.status == http.client.OK:
            stored = json.loads(content)
            self.send_header("ETag", '"{etag}"'.format(**stored))
            self.send_header("x-goog-generation", stored["generation"])
            content = b""
        length = answer.getheader("content-length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        server.close()

    do_DELETE = do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - as the base calls them

    def log_message(self, *said: object) -> None:
        pass

    def _upload(self, content: bytes) -> tuple[str, dict[str, str], bytes]:
        """The upload of an object in the JSON interface."""
        _, bucket, name = self.path.split("/", 2)
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart"
        if condition := self.headers.get("x-goog-if-generation-match"):
            path += f"&ifGenerationMatch={condition}"
        about = json.dumps({"name": unquote(name)}).encode()
        start = b"Content-Type: application/%s\r\n\r\n"
        parts = [start % b"json" + about, start % b"octet-stream" + content]
        body = b"".join(b"%s\r\n%s\r\n" % (_EDGE, part) for part in parts) + _EDGE + b"--"
        return path, {"Content-Type": f"multipart/related; boundary={_EDGE[2:].decode()}"}, body

    @staticmethod
    def _passed_on(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return [pair for pair in headers if pair[0].lower() not in _OF_CONNECTION]


if __name__ == "__main__":
    port, Handler.upstream = int(sys.argv[1]), ("127.0.0.1", int(sys.argv[2]))
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.serve_forever()
