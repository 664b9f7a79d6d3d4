"""Decisions out: a signed POST to one URL, sent again on failure, safe to receive twice.

Every request is signed by the Standard Webhooks scheme (https://www.standardwebhooks.com), so its libraries verify it:

- ``webhook-id``: the same for the same decision, in every attempt and every run; a receiver keeps the ids it has
  acted on and answers 2xx to one it knows.
- ``webhook-timestamp``: seconds since the epoch, when this attempt was signed.
- ``webhook-signature``: ``v1,`` and the HMAC-SHA256, in base64, of id, timestamp and the body's bytes, joined by full
  stops, under the shared secret. :func:`verify` checks it, in constant time, and the age of the timestamp.

Where it may go: the URL is the operator's, never taken from a case. HTTPS, or plain HTTP on this machine; redirects are
not followed and answers are not read beyond their status. The name is resolved once an attempt, every address
is checked, and the connection goes to the address checked: one on a private network only where that was allowed, a
link-local one (where clouds keep their metadata) never, and this machine only where the URL itself says so.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from metajudge.errors import ConfigurationError
from metajudge.installation import __version__
from metajudge.store import Store
from metajudge.types import digest

MIN_SECRET = 16
"""Bytes a secret needs at least, those of ``whsec_...`` after decoding."""

ENCODED = "whsec_"
"""A secret with this prefix encodes the key's bytes in base64; any other secret is the key itself, in UTF-8."""

TOLERANCE_S = 300.0
"""Age at which :func:`verify` refuses a request as possibly replayed."""

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed later."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
KIND = "webhook"
"""What deliveries are called in the store's audit log; their subject is the ``webhook-id``."""

GIVE_UP_AFTER = 3
"""So many failed deliveries in a row end the sending: the rest is left for the next run."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How sending one event ended.

    Attributes:
        delivered: whether the receiver answered 2xx.
        attempts: requests sent.
        status: of the last answer, None where there was none.
        reason: why it was given up; None where it was delivered.
    """

    delivered: bool
    attempts: int
    status: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Webhook:
    """One receiver.

    Attributes:
        attempts: requests for one event at most.
        timeout_s: for one attempt: connecting, and waiting for the answer's status.
        total_s: an event is given up after this long, waits included.
        backoff_s: wait before the second attempt; it doubles, up to ``max_wait_s`` (which bounds Retry-After as well).
        allow_private: whether addresses on private networks are allowed.
    """

    url: str
    secret: str = field(repr=False)
    attempts: int = 5
    timeout_s: float = 10.0
    total_s: float = 60.0
    backoff_s: float = 0.5
    max_wait_s: float = 20.0
    allow_private: bool = False

    @classmethod
    def at(cls, url: str, secret: str | None, **options: Any) -> Self:
        """A receiver whose URL and secret are checked.

        Raises:
            ConfigurationError: a URL that is none or not allowed, or a secret that is missing, malformed or too short.
        """
        if not secret:
            raise ConfigurationError(
                "the webhook needs a secret shared with its receiver: set METAJUDGE_WEBHOOK_SECRET, or write "
                'webhook_secret = "..." in the settings file'
            )
        try:
            key = signing_key(secret)
        except ValueError:
            raise ConfigurationError(
                f"the webhook's secret begins with {ENCODED}, but the rest is not base64: copy the whole secret"
            ) from None
        if len(key) < MIN_SECRET:
            raise ConfigurationError(f"the webhook's secret is too short: at least {MIN_SECRET} bytes")
        made = cls(url, secret, **options)
        _check_url(made)
        return made

    async def send(
        self,
        event: Mapping[str, Any],
        key: str,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> Delivery:
        """Sends an event until it is accepted, refused for good, or attempts or time run out.

        Args:
            event: plain data; the body is its canonical JSON, the same bytes in every attempt.
            key: identity of the event, its ``webhook-id``; without full stops.
            clock: seconds since the epoch.
        """
        body = orjson.dumps(event, option=orjson.OPT_SORT_KEYS)
        started = clock()
        sent = 0
        last = _Answer(None, "nothing was sent")
        for number in range(self.attempts):
            sent += 1
            last = await asyncio.to_thread(_post, self, body, key, f"{clock():.0f}")
            if last.status is not None and 200 <= last.status < 300:
                return Delivery(True, sent, last.status)
            wait = min(max(self.backoff_s * 2**number, last.retry_after or 0.0), self.max_wait_s)
            if not last.may_retry or clock() - started + wait > self.total_s:
                break
            if number + 1 < self.attempts:
                await sleep(wait)
        return Delivery(False, sent, last.status, last.reason)


def signing_key(secret: str) -> bytes:
    """The key of a secret: what follows ``whsec_``, decoded from base64, else the secret's own bytes.

    Raises:
        ValueError: what follows ``whsec_`` is not base64.
    """
    if not secret.startswith(ENCODED):
        return secret.encode()
    encoded = secret.removeprefix(ENCODED)
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)


def sign(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """The signature header's value for a message sent at a time."""
    message = f"{message_id}.{timestamp}.".encode() + body
    made = hmac.new(signing_key(secret), message, hashlib.sha256).digest()
    return "v1," + base64.b64encode(made).decode()


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, now: float) -> bool:
    """For receivers: whether a request was signed with the secret, and not long ago.

    Args:
        headers: of the request; upper and lower case are the same.
        body: the bytes as they were received.
        now: seconds since the epoch.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and abs(now - int(timestamp)) <= TOLERANCE_S):
        return False
    expected = sign(secret, message_id, timestamp, body).encode()
    signatures = given.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected, one.encode()) for one in signatures)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int | None
    reason: str | None = None
    retry_after: float | None = None
    may_retry: bool = False


def _post(hook: Webhook, body: bytes, key: str, timestamp: str) -> _Answer:
    parts = urlsplit(hook.url)
    host = parts.hostname or ""
    try:
        address = _address(hook, host, parts.port or (443 if parts.scheme == "https" else 80))
    except _ForbiddenError as error:
        return _Answer(None, str(error))
    except OSError as error:
        return _Answer(None, f"{host} cannot be resolved: {error}", may_retry=True)
    headers = {
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "User-Agent": f"metajudge/{__version__}",
        "webhook-id": key,
        "webhook-timestamp": timestamp,
        "webhook-signature": sign(hook.secret, key, timestamp, body),
        "Connection": "close",
    }
    connection = _Pinned(host, address, parts.scheme == "https", hook.timeout_s)
    # The socket's own time limit begins anew with every byte; this one does not.
    watch = threading.Timer(hook.timeout_s, connection.cut_off)
    watch.daemon = True
    watch.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, headers)
        answer = connection.getresponse()
        return _read(answer.status, answer.getheader("Retry-After"))
    except (OSError, http.client.HTTPException) as error:
        if connection.is_cut_off or isinstance(error, TimeoutError):
            return _Answer(None, f"no answer within {hook.timeout_s:g} s", may_retry=True)
        return _Answer(
            None, f"{type(error).__name__}: {error}", may_retry=not isinstance(error, ssl.SSLCertVerificationError)
        )
    finally:
        watch.cancel()
        connection.close()


def _read(status: int, retry_after: str | None) -> _Answer:
    if 300 <= status < 400:
        return _Answer(status, f"it answered {status}, and redirects are not followed: give the final URL")
    seconds = (
        float(retry_after) if retry_after is not None and retry_after.isascii() and retry_after.isdigit() else None
    )
    return _Answer(status, f"it answered {status}", seconds, status in RETRIED)


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was checked, under the name that was asked for."""

    def __init__(self, host: str, address: tuple[str, int], secure: bool, timeout_s: float) -> None:
        super().__init__(host, address[1], timeout=timeout_s)
        self._address = address
        self._secure = secure
        self.is_cut_off = False

    def cut_off(self) -> None:
        """Ends whatever the connection waits for; called from another thread."""
        self.is_cut_off = True
        if self.sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)  # not TLS's own, which would write

    def connect(self) -> None:
        """Connects without resolving the name again."""
        self.sock = socket.create_connection(self._address, self.timeout)
        if self.is_cut_off:  # while there was nothing to cut off yet
            raise TimeoutError
        if self._secure:
            try:
                context = ssl.create_default_context()
                self.sock = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
                self.sock.do_handshake()
            except BaseException:
                with contextlib.suppress(OSError):
                    self.sock.close()
                raise


class _ForbiddenError(Exception):
    """An address that must not be called."""


def _address(hook: Webhook, host: str, port: int) -> tuple[str, int]:
    """An address of a host, after every address it has was checked."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        _check_address(hook, host, address)
    return addresses[0], port


def _check_address(hook: Webhook, host: str, text: str) -> None:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise _ForbiddenError(f"{host} is at {address}, which is never called")
    if address.is_loopback:
        if host not in LOOPBACK_NAMES:
            raise _ForbiddenError(f"{host} resolves to this machine ({address}); write 127.0.0.1 if that is intended")
        return
    if not address.is_global and not hook.allow_private:
        raise _ForbiddenError(
            f"{host} is at {address}, on a private network: set METAJUDGE_WEBHOOK_PRIVATE=1 if that is intended"
        )


def _check_url(hook: Webhook) -> None:
    if not hook.url.isascii():
        raise ConfigurationError("the webhook's URL contains non-ASCII characters: percent-encode them (%C3%A9)")
    try:
        parts = urlsplit(hook.url)
        (parts.hostname or "").encode("idna")
        is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise ConfigurationError("the webhook's URL is no https:// URL: its host or port is not valid") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_valid:
        raise ConfigurationError(f"the webhook's URL {_shown(hook.url)} is no https:// URL")
    if parts.username or parts.password:
        raise ConfigurationError(
            "the webhook's URL contains a user name or password: remove it; the signature authenticates the sender"
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK_NAMES and not hook.allow_private:
        raise ConfigurationError(
            f"the webhook's URL {_shown(hook.url)} is not https: use https; plain http is only allowed for this machine"
        )
    if any(ord(character) <= 32 or ord(character) == 127 for character in hook.url):
        raise ConfigurationError("the webhook's URL contains white space or control characters: remove them")


def _shown(url: str) -> str:
    """A URL for a message, without what may be a secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"[:120]


async def send_events(
    hook: Webhook,
    events: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]],
    store: Store | None,
    say: Callable[[str], None],
) -> dict[str, int]:
    """Sends every event that the store does not record as delivered to this URL; counts the outcomes.

    Args:
        events: what it is called in messages, what is sent, and what is recorded beside the delivery.
    """
    counts = {"delivered": 0, "known": 0, "failed": 0}
    failed_in_a_row = 0
    for name, event, about in events:
        key = digest([hook.url, event])
        if store is not None and await _delivered(store, key):
            counts["known"] += 1
            continue
        if failed_in_a_row >= GIVE_UP_AFTER:
            counts["failed"] += 1
            continue
        delivery = await hook.send(event, key, clock=time.time)
        if store is not None:
            record = {**about, "host": urlsplit(hook.url).hostname, **asdict(delivery)}
            await store.audit_log.append(KIND, key, record, now=time.time())
        counts["delivered" if delivery.delivered else "failed"] += 1
        failed_in_a_row = 0 if delivery.delivered else failed_in_a_row + 1
        if not delivery.delivered:
            say(f"webhook: {name}: {delivery.reason} ({delivery.attempts} attempts)")
    if failed_in_a_row >= GIVE_UP_AFTER:
        say(f"webhook: {GIVE_UP_AFTER} deliveries failed in a row; run the same command again to send the rest")
    return counts


async def _delivered(store: Store, key: str) -> bool:
    entries = await store.audit_log.entries(KIND, key, limit=1)
    return bool(entries) and entries[-1].payload["delivered"] is True
