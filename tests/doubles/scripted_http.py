"""An HTTP server whose answers a test writes down."""

import time

from tests.doubles.http_server import HttpServer, reply


class Scripted(HttpServer):
    """An HTTP server that gives answers one after the other, the last one again and again."""

    def __init__(self, *answers, port=0):
        super().__init__(port)
        self.requests, self._left = [], list(answers)

    def handle(self, request, body):
        if "chunked" in request.headers.get("transfer-encoding", ""):
            while size := int(request.rfile.readline(), 16):
                body += request.rfile.read(size)
                request.rfile.readline()
            request.rfile.readline()
        self.requests.append((request.command, request.path, dict(request.headers), body, time.monotonic()))
        status, headers, said = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if status is None:
            request.close_connection = True
            return
        reply(request, status, headers, said)
        if "broken" in headers:
            request.close_connection = True
