"""A receiver of webhooks: a real server on this machine."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Receiver:
    """Answers with the statuses given, the last one for ever; ``drop`` closes the connection."""

    def __init__(self, *answers, headers=()):
        self.requests = []
        self.answers = list(answers) or [204]
        self.headers = headers
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                answer = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                if answer == "drop":
                    self.close_connection = True
                    return
                if answer == "slow":
                    time.sleep(1.0)
                    answer = 200
                self.send_response(answer)
                for name, value in receiver.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook?team=risk"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
