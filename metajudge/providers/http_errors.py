"""From what went wrong on the wire to a typed error: status and body, or a broken connection."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from metajudge.errors import (
    AuthError,
    BadReplyError,
    BadRequestError,
    ConnectionFailedError,
    ContextTooLongError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    ProviderError,
    RateLimitedError,
    RefusedError,
    ServerError,
)

_EXCERPT = 200
_TOO_LONG = re.compile(
    r"context_length_exceeded|prompt is too long|maximum context length|context window|"
    r"reduce the length of the messages|request_too_large|exceeds? the (available )?context|string_above_max_length",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"content_policy_violation|content_filter|content management policy", re.IGNORECASE)
_NEVER_FITS = re.compile(r"request too large", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|billing_error|billing_hard_limit|credit balance is too low", re.IGNORECASE)
_KEY_LIKE = re.compile(r"\b(sk|gsk|xai|tgp)[-_][A-Za-z0-9_*.-]{6,}")
_TAGS = re.compile(r"(?s)<(script|style).*?</\1>|<[^>]*>")


@dataclass(frozen=True, slots=True)
class Asked:
    """The model asked, for messages. The only secret it could print is the key, which is removed.

    Attributes:
        key_variable: the environment variable of the key.
        key: the key in use, so that an echo of it can be blotted out.
    """

    model: str
    url: str
    key_variable: str
    key: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.model} at {self.url}"

    def redact(self, text: str) -> str:
        """The text without the key, or anything that looks like one."""
        if len(self.key) >= 4:
            text = text.replace(self.key, "[key]")
        return _KEY_LIKE.sub("[key]", text)

    def excerpt(self, body: bytes | str) -> str:
        """At most 200 characters of a body, on one line, markup and keys removed."""
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        text = " ".join(self.redact(_TAGS.sub(" ", text[:4_000])).split())
        return text if len(text) <= _EXCERPT else text[: _EXCERPT - 3] + "..."


def error_from_response(status: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> ProviderError:
    """The typed error for an answer that is not a success (or says in a success that it is none)."""
    said, codes = _read_problem(body, asked)
    message = f"HTTP {status} from {asked}: {said.rstrip('.') or 'no message'}"
    wrong, text = status in {400, 422}, f"{codes} {said}"
    no_credit = status == 402 or _QUOTA.search(text) is not None
    too_long = status == 413 or (status == 429 and _NEVER_FITS.search(text)) or (wrong and _TOO_LONG.search(text))
    target = headers.get("location", "elsewhere")
    kinds: list[tuple[object, type[ProviderError], str]] = [
        (300 <= status < 400, NotFoundError, f". The server redirects to {target}: use the base URL it names"),
        (status in {401, 403}, AuthError, f". Check the key in {asked.key_variable} and what it may use"),
        (no_credit, RateLimitedError, ". The account has no credit left: waiting does not help, add credit"),
        (too_long, ContextTooLongError, ". Shorten the input or use a model with a larger context"),
        (wrong and _REFUSED.search(text), RefusedError, ". The provider's filter declined the prompt"),
        (status in {404, 405}, NotFoundError, ". Check the model's name and the base URL"),
        (status in {408, 504}, ModelTimeoutError, ""),
        (status == 429, RateLimitedError, ". Lower the concurrency or set requests a minute for this endpoint"),
        (status in {503, 529}, OverloadedError, ""),
        (status >= 500, ServerError, ""),
        (status < 400, BadReplyError, ""),
        (True, BadRequestError, ""),
    ]
    kind, advice = next((kind, advice) for applies, kind, advice in kinds if applies)
    error = kind(message + advice)
    error.status, error.retry_after = status, retry_after(headers)
    if no_credit and kind is RateLimitedError:
        error.retryable = False
    return error


def _read_problem(body: bytes, asked: Asked) -> tuple[str, str]:
    """Message and codes, in the shapes in which servers describe errors; falls back to an excerpt of the body."""
    try:
        data: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return asked.excerpt(body), ""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return asked.excerpt(body), ""
    error = data.get("error", data)
    if isinstance(error, str):
        return asked.excerpt(error), ""
    if not isinstance(error, dict):
        return asked.excerpt(body), ""
    message = error.get("message", error.get("detail"))
    if message is not None and not isinstance(message, str):
        message = orjson.dumps(message).decode()
    codes = [error.get(name) for name in ("type", "code", "param", "status")]
    named = " ".join(code for code in codes if isinstance(code, str))
    return asked.excerpt(message or body), named


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the provider asked us to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            seconds = _seconds_until(value)
        if 0 <= seconds < 1e9:
            return seconds
    return None


def _seconds_until(date: str) -> float:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except ValueError:
        return -1.0


def error_from_exception(error: BaseException, asked: Asked, timeout_s: float) -> ProviderError | None:
    """The typed error for a request that got no answer; None for what is no matter of the network.

    The first kind that any exception of the chain of causes is of decides.
    """
    import aiohttp
    from aiohttp.http_exceptions import ContentEncodingError

    chain = list(_causes(error))
    detail = asked.excerpt(str(chain[-1]) or type(chain[-1]).__name__)
    late = f"no complete answer from {asked} within {timeout_s:g} s. Allow more time or ask for shorter answers"
    unreached, right = f"no connection for {asked}", f"{detail}. Is the base URL right?"
    garbled = f"the answer of {asked} is not valid HTTP: {detail}"
    cut = f"the connection was cut before the answer of {asked} was complete: {detail}"
    kinds: list[tuple[tuple[type[BaseException], ...], ProviderError]] = [
        (
            (aiohttp.ClientConnectorError, aiohttp.InvalidURL),
            ConnectionFailedError(f"{unreached}: {detail}. Is the server running and the base URL right?", sent=False),
        ),
        ((aiohttp.ConnectionTimeoutError,), ModelTimeoutError(f"{unreached} in time: {right}", sent=False)),
        ((aiohttp.ServerTimeoutError,), ModelTimeoutError(late)),
        ((ContentEncodingError,), BadReplyError(garbled)),
        ((aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, ConnectionError), ConnectionFailedError(cut)),
        ((TimeoutError,), ModelTimeoutError(late)),
        ((aiohttp.ClientResponseError,), BadReplyError(garbled)),
        (
            (aiohttp.ClientError, OSError),
            ConnectionFailedError(f"the connection failed while asking {asked}: {detail}"),
        ),
    ]
    return next((typed for wanted, typed in kinds if any(isinstance(one, wanted) for one in chain)), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
