"""Webhooks and their delivery."""

import asyncio
import base64
import contextlib
import json
import socket
import threading
import time

import pytest
import standardwebhooks

from metajudge.errors import ConfigurationError
from metajudge.webhooks import webhook
from metajudge.webhooks.webhook import GIVE_UP_AFTER, KIND, Delivery, Webhook, send_events, sign, verify
from tests.doubles.waiting import Clock
from tests.doubles.webhook_receiver import Receiver

SECRET = "a secret of many characters"
CONTINUE = [b"HTTP/1.1 100 Continue\r\n\r\n"]
EVENT = {"case_id": "c1", "action": "APPROVE", "text": "Überflutung"}


def send(hook, clock=None, key="k1"):
    clock = clock or Clock(1_700_000_000.0)
    return asyncio.run(hook.send(EVENT, key, clock=clock, sleep=clock.sleep))


def test_a_delivery_is_signed_over_timestamp_and_body_and_verifies():
    with Receiver(200) as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET))
    assert delivery == webhook.Delivery(True, 1, 200)
    path, headers, body = receiver.requests[0]
    assert path == "/hook?team=risk"
    assert json.loads(body) == EVENT
    assert headers["webhook-id"] == "k1"
    assert verify(SECRET, headers, body, now=1_700_000_010)


def signed(secret, body, message_id="k1", stamp="1700000000"):
    return {
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
        "webhook-signature": sign(secret, message_id, stamp, body),
    }


def test_what_does_not_verify():
    body, now = b'{"action":"APPROVE"}', 1_700_000_000
    good = signed(SECRET, body)
    assert verify(SECRET, good, body, now=now)
    assert not verify(SECRET, good, body.replace(b"APPROVE", b"REJECT"), now=now)
    assert not verify(SECRET, {**good, "webhook-timestamp": "1700000001"}, body, now=now), "another time"
    assert not verify(SECRET, {**good, "webhook-id": "k2"}, body, now=now), "another message"
    assert not verify("another secret, long enough", good, body, now=now)
    assert not verify(SECRET, good, body, now=1_700_000_301), "replayed later"
    assert not verify(SECRET, good, body, now=1_699_999_699), "from the future"
    for bad in ("", "-1", "1e9", "²", "now"):
        assert not verify(SECRET, signed(SECRET, body, stamp=bad), body, now=now)
    for bad in ("", "é", good["webhook-signature"].replace("v1,", "v2,"), good["webhook-signature"][:-1]):
        assert not verify(SECRET, {**good, "webhook-signature": bad}, body, now=now)
    for missing in good:
        assert not verify(SECRET, {name: good[name] for name in good if name != missing}, body, now=now)


def test_header_names_have_no_case_and_one_signature_of_several_is_enough():
    """A sender that changes its secret signs with both."""
    body = b"{}"
    good = signed(SECRET, body)
    both = {name.title(): value for name, value in good.items()}
    both["Webhook-Signature"] = f"v1a,other v1,AAAA {good['webhook-signature']}"
    assert verify(SECRET, both, body, now=1_700_000_000)


def test_the_signature_is_the_one_of_the_published_example():
    """Message, time, body and secret of the Standard Webhooks reference libraries' own test."""
    signature = sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}'
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("bits", [16, 24, 25, 32])
def test_the_reference_library_verifies_what_is_sent(bits):
    secret = "whsec_" + base64.b64encode(bytes(range(bits))).decode()
    with Receiver(200) as receiver:
        assert asyncio.run(Webhook.at(receiver.url, secret).send(EVENT, "k1", clock=time.time)).delivered
    _, headers, body = receiver.requests[0]
    reference = standardwebhooks.Webhook(secret)
    assert reference.verify(body, headers) == EVENT
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        reference.verify(body.replace(b"APPROVE", b"REJECT_"), headers)
    assert verify(secret, headers, body, now=time.time())
    assert verify(secret.rstrip("="), headers, body, now=time.time()), "unpadded"


def test_a_secret_that_is_not_encoded_is_the_key_itself():
    body, stamp = b"{}", "1700000000"
    encoded = "whsec_" + base64.b64encode(SECRET.encode()).decode()
    assert sign(SECRET, "k1", stamp, body) == sign(encoded, "k1", stamp, body)


@pytest.mark.parametrize("fault", [500, 503, 429, 408, "drop"])
def test_a_fault_that_may_pass_is_sent_again_with_the_same_key_and_body(fault):
    with Receiver(fault, fault, 200) as receiver:
        clock = Clock(1_700_000_000.0)
        delivery = send(Webhook.at(receiver.url, SECRET), clock)
    assert (delivery.delivered, delivery.attempts) == (True, 3)
    assert clock.waits == [0.5, 1.0]
    assert len({body for _, _, body in receiver.requests}) == 1
    assert {headers["webhook-id"] for _, headers, _ in receiver.requests} == {"k1"}


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_a_refusal_is_not_repeated(status):
    with Receiver(status) as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET))
    assert delivery == webhook.Delivery(False, 1, status, f"it answered {status}")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status):
    with Receiver(200) as elsewhere, Receiver(status, headers=[("Location", elsewhere.url)]) as receiver:
        delivery = send(Webhook.at(receiver.url, SECRET))
    assert not delivery.delivered
    assert "redirects are not followed" in delivery.reason
    assert elsewhere.requests == []


def test_attempts_and_waits_are_bounded():
    with Receiver(503, headers=[("Retry-After", "3600")]) as receiver:
        clock = Clock(1_700_000_000.0)
        delivery = send(Webhook.at(receiver.url, SECRET, attempts=4), clock)
    assert delivery.attempts == len(receiver.requests)
    assert delivery.attempts <= 4
    assert max(clock.waits) <= 20
    assert clock.now - 1_700_000_000 <= 60
    with Receiver(503) as receiver:
        assert send(Webhook.at(receiver.url, SECRET, attempts=3)).attempts == 3


@pytest.mark.slow
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
        ("https://example.org/caf\u00e9", "percent-encode them"),
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
    with pytest.raises(ConfigurationError, match="too short"):
        Webhook.at("https://example.org/hook", "whsec_" + base64.b64encode(bytes(15)).decode())
    with pytest.raises(ConfigurationError, match="not base64"):
        Webhook.at("https://example.org/hook", "whsec_no base64 at all")
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
        ("127.0.0.1", "resolves to this machine"),
        ("::1", "resolves to this machine"),
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


EVENTS = [(f"alarm {n}", {"event": "broken", "n": n}, {"n": n}) for n in range(5)]


class Hook:
    """A webhook that delivers or fails as told."""

    url = "https://hooks.example/path?token=secret"

    def __init__(self, *delivered):
        self.delivered, self.sent = list(delivered), []

    async def send(self, event, key, *, clock):
        self.sent.append(event["n"])
        fine = self.delivered.pop(0) if self.delivered else True
        return Delivery(fine, 1, 204 if fine else 500, "" if fine else "the receiver answered 500")


async def test_what_failed_is_sent_again_by_the_next_run_and_nothing_twice(store):
    said = []
    first, second = Hook(True, False, True, True, True), Hook()
    assert await send_events(first, EVENTS, store, said.append) == {"delivered": 4, "known": 0, "failed": 1}
    assert said == ["webhook: alarm 1: the receiver answered 500 (1 attempts)"]
    assert await send_events(second, EVENTS, store, said.append) == {"delivered": 1, "known": 4, "failed": 0}
    assert second.sent == [1]
    (*_, entry) = await store.audit_log.entries(KIND)
    assert entry.payload["host"] == "hooks.example"
    assert "secret" not in json.dumps(entry.payload)


async def test_sending_ends_after_failures_in_a_row():
    said = []
    hook = Hook(*[False] * 5)
    assert await send_events(hook, EVENTS, None, said.append) == {"delivered": 0, "known": 0, "failed": 5}
    assert len(hook.sent) == GIVE_UP_AFTER
    assert said[-1].startswith(f"webhook: {GIVE_UP_AFTER} deliveries failed in a row")
