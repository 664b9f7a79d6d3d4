"""Decisions sent out, against a real server on this machine."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from metajudge.cases import webhook
from metajudge.cases.webhook import Webhook, sign, verify
from metajudge.errors import ConfigurationError

SECRET = "a secret of many characters"
CONTINUE = [b"HTTP/1.1 100 Continue\r\n\r\n"]
EVENT = {"case_id": "c1", "action": "APPROVE", "text": "Überflutung"}


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


class Clock:
    """A clock that only waits move."""

    def __init__(self):
        self.now = 1_700_000_000.0
        self.waits = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


def send(hook, clock=None, key="k1"):
    clock = clock or Clock()
    return asyncio.run(hook.send(EVENT, key, clock=clock, sleep=clock.sleep))


def test_a_delivery_is_signed_over_timestamp_and_body_and_verifies():
    with Receiver(200) as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET))
    assert delivery == webhook.Delivery("k1", True, 1, 200)
    path, headers, body = receiver.requests[0]
    assert path == "/hook?team=risk"
    assert json.loads(body) == EVENT
    assert headers["Idempotency-Key"] == "k1"
    stamp, signature = headers["X-Metajudge-Timestamp"], headers["X-Metajudge-Signature"]
    assert verify(SECRET, stamp, body, signature, now=1_700_000_010)


def test_what_does_not_verify():
    body, stamp = b'{"action":"APPROVE"}', "1700000000"
    good = sign(SECRET, stamp, body)
    assert verify(SECRET, stamp, body, good, now=1_700_000_000)
    assert not verify(SECRET, stamp, body.replace(b"APPROVE", b"REJECT"), good, now=1_700_000_000)
    assert not verify(SECRET, "1700000001", body, good, now=1_700_000_000), "another time"
    assert not verify("another secret, long enough", stamp, body, good, now=1_700_000_000)
    assert not verify(SECRET, stamp, body, good, now=1_700_000_301), "replayed later"
    assert not verify(SECRET, stamp, body, good, now=1_699_999_699), "from the future"
    for bad in ("", "-1", "1e9", "²", "now"):
        assert not verify(SECRET, bad, body, sign(SECRET, bad, body), now=1_700_000_000)
    assert not verify(SECRET, stamp, body, "é", now=1_700_000_000)


@pytest.mark.parametrize("fault", [500, 503, 429, 408, "drop"])
def test_a_fault_that_may_pass_is_sent_again_with_the_same_key_and_body(fault):
    with Receiver(fault, fault, 200) as receiver:
        clock = Clock()
        delivery = send(Webhook.at(receiver.url, SECRET), clock)
    assert (delivery.delivered, delivery.attempts) == (True, 3)
    assert clock.waits == [0.5, 1.0]
    assert len({body for _, _, body in receiver.requests}) == 1
    assert {headers["Idempotency-Key"] for _, headers, _ in receiver.requests} == {"k1"}
    assert [headers["X-Metajudge-Attempt"] for _, headers, _ in receiver.requests] == ["1", "2", "3"]


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_a_refusal_is_not_repeated(status):
    with Receiver(status) as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET))
    assert delivery == webhook.Delivery("k1", False, 1, status, f"it answered {status}")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status):
    with Receiver(200) as elsewhere, Receiver(status, headers=[("Location", elsewhere.url)]) as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET))
    assert not delivery.delivered
    assert "redirects are not followed" in delivery.reason
    assert elsewhere.requests == []


def test_attempts_and_waits_are_bounded():
    with Receiver(503, headers=[("Retry-After", "3600")]) as receiver:
        clock = Clock()
        delivery = send(Webhook.at(receiver.url, SECRET, attempts=4), clock)
    assert delivery.attempts == len(receiver.requests)
    assert delivery.attempts <= 4
    assert max(clock.waits) <= 20
    assert clock.now - 1_700_000_000 <= 60
    with Receiver(503) as receiver:
        assert send(Webhook.at(receiver.url, SECRET, attempts=3)).attempts == 3


def test_a_receiver_that_does_not_answer_in_time_is_given_up():
    with Receiver("slow") as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET, attempts=1, timeout_s=0.2))
    assert not delivery.delivered
    assert delivery.reason == "no answer within 0.2 s"


@pytest.mark.parametrize("drops", [[bytes([letter]) for letter in b"HTTP/1.1 200 OK\r\nX: y\r\n"] * 9, CONTINUE * 99])
def test_a_receiver_that_answers_in_drops_does_not_hold_the_sender(drops):
    listener = socket.create_server(("127.0.0.1", 0))

    def drip():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            for drop in drops:
                connection.send(drop)
                time.sleep(0.05)

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    started = time.monotonic()
    delivery = send(Webhook.at(f"http://127.0.0.1:{listener.getsockname()[1]}/", SECRET, attempts=1, timeout_s=0.3))
    assert time.monotonic() - started < 2
    assert delivery.reason == "no answer within 0.3 s"
    thread.join(5)
    listener.close()


def test_nobody_listens():
    delivery = send(Webhook.at("http://127.0.0.1:9/hook", SECRET, attempts=2))
    assert not delivery.delivered
    assert delivery.attempts == 2


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org/hook", "is no https:// URL"),
        ("example.org/hook", "is no https:// URL"),
        ("https:///hook", "is no https:// URL"),
        ("https://example.org:99999/hook", "is no https:// URL"),
        ("file:///etc/passwd", "is no https:// URL"),
        ("http://[::1/hook", "host or port is not valid"),
        ("https://" + "a" * 300 + ".org/hook", "host or port is not valid"),
        ("https://example.org/caf\u00e9", "percent-encoded"),
        ("http://example.org/hook", "is not https"),
        ("https://user:word@example.org/hook", "user name or password"),
        ("https://example.org/a b", "white space"),
        ("https://example.org/\r\nX: y", "white space"),
    ],
)
def test_a_url_that_is_not_allowed(url, said):
    with pytest.raises(ConfigurationError, match=said):
        Webhook.at(url, SECRET)


def test_a_secret_is_needed_and_never_shown():
    with pytest.raises(ConfigurationError, match="METAJUDGE_WEBHOOK_SECRET"):
        Webhook.at("https://example.org/hook", None)
    with pytest.raises(ConfigurationError, match="too short"):
        Webhook.at("https://example.org/hook", "short")
    assert SECRET not in repr(Webhook.at("https://example.org/hook", SECRET))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("169.254.169.254", "which is never called"),
        ("fe80::1", "which is never called"),
        ("::ffff:169.254.169.254", "which is never called"),
        ("0.0.0.0", "which is never called"),
        ("10.0.0.5", "on a private network"),
        ("192.168.1.1", "on a private network"),
        ("fd00::1", "on a private network"),
        ("127.0.0.1", "points at this machine"),
        ("::1", "points at this machine"),
    ],
)
def test_a_public_name_that_resolves_inside_is_not_called(monkeypatch, address, said):
    """The resolver is the one part that cannot be real here."""
    family = webhook.socket.AF_INET6 if ":" in address else webhook.socket.AF_INET
    monkeypatch.setattr(
        webhook.socket,
        "getaddrinfo",
        lambda *_, **__: [(family, 1, 6, "", ("93.184.216.34", 443)), (family, 1, 6, "", (address, 443))],
    )
    delivery = send(Webhook.at("https://hooks.example.org/x", SECRET))
    assert not delivery.delivered
    assert delivery.status is None
    assert said in delivery.reason
    assert delivery.attempts == 1


def test_a_private_network_can_be_allowed_but_not_the_metadata_address():
    hook = Webhook.at("http://169.254.169.254/latest", SECRET, allow_private=True)
    assert "which is never called" in send(hook).reason
