"""An HTTP server on this machine, in threads; each double says what it answers."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class HttpServer:
    """A server whose subclass has ``handle(request, body)``, which answers by :func:`reply` or closes the connection.

    Args:
        port: 0 for a free one.
    """

    protocol = "HTTP/1.1"

    def __init__(self, port: int = 0) -> None:
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = self.protocol

            def _any(self) -> None:
                double.handle(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def handle(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


def reply(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes = b"") -> None:
    """Sends an answer; ``headers`` may state another length."""
    request.send_response(status)
    for name, value in {"content-length": str(len(body)), **headers}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)
