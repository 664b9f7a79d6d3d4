"""A receiver of webhooks: a real server on this machine."""

import time

from tests.doubles.http_server import HttpServer, reply


class Receiver(HttpServer):
    """Answers with the statuses given, the last one for ever; ``drop`` closes the connection."""

    protocol = "HTTP/1.0"

    def __init__(self, *answers, headers=()):
        super().__init__()
        self.url += "/hook?team=risk"
        self.requests = []
        self.answers = list(answers) or [204]
        self.headers = headers

    def handle(self, request, body):
        self.requests.append((request.path, dict(request.headers), body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "drop":
            request.close_connection = True
            return
        if answer == "slow":
            time.sleep(1.0)
            answer = 200
        reply(request, answer, dict(self.headers))
