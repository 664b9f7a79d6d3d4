"""An HTTP server whose answers a test writes down."""

import http.server
import threading
import time


class Scripted:
    """An HTTP server that gives answers one after the other, the last one again and again."""

    def __init__(self, *answers, port=0):
        self.requests = requests = []
        left = list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self):
                if "chunked" in self.headers.get("transfer-encoding", ""):
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("content-length", 0)))
                requests.append((self.command, self.path, dict(self.headers), body, time.monotonic()))
                status, headers, said = left.pop(0) if len(left) > 1 else left[0]
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"content-length": str(len(said)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said)
                if "broken" in headers:
                    self.close_connection = True

            do_GET = do_POST = do_DELETE = _answer

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
