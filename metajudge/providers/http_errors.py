"""From what went wrong on the wire to a typed error: status and body, or a broken connection."""

import contextlib
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final

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
from metajudge.files.packaged import packaged

_EXCERPT = 200
_WORDS = 8_000
"""Characters of an error that are looked at."""
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


@cache
def _wordings() -> dict[str, re.Pattern[str]]:
    return {name: re.compile("|".join(one), re.IGNORECASE) for name, one in packaged("providers", "wordings").items()}


def says(kind: str, words: str) -> bool:
    """Whether an error's words are known to mean this; the kinds are those of ``wordings.toml``."""
    return _wordings()[kind].search(words) is not None


def error_from_response(status: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> ProviderError:
    """The typed error for an answer that is not a success (or says in a success that it is none)."""
    said, words = _read_problem(body, asked)
    message = f"HTTP {status} from {asked}: {said.rstrip('.') or 'no message'}"
    wrong = status in {400, 422}
    afford = status == 402 and says("afford", words)
    no_credit = status == 402 or says("quota", words)
    of_day = status == 429 and says("day", words)
    too_long = status == 413 or ((wrong or (status == 429 and "too large" in words)) and says("too_long", words))
    declined = (wrong or status in {403, 451}) and says("refused", words)
    walled = status == 403 and says("firewall", words)
    key = f". Check the key in {asked.key_variable} and what it may use"
    target = headers.get("location", "elsewhere")
    kinds: list[tuple[object, type[ProviderError], str]] = [
        (300 <= status < 400, NotFoundError, f". The server redirects to {target}: use the base URL it names"),
        (declined, RefusedError, ". The provider's filter declined the prompt"),
        (walled, RefusedError, f". Something before the server declined this request{key}"),
        (status in {401, 403}, AuthError, key),
        (afford, RateLimitedError, ". The credit left does not reach for this call: add credit, or lower max_tokens"),
        (no_credit, RateLimitedError, ". The account has no credit left: waiting does not help, add credit"),
        (of_day, RateLimitedError, ". The quota of the day is used up: run the same command again when it is renewed"),
        (too_long, ContextTooLongError, ". Shorten the input or use a model with a larger context"),
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
    error.status, error.retry_after, error.words = status, retry_after(headers, words), words
    if kind is RateLimitedError and (afford or no_credit or of_day):
        error.retryable = False
        error.tells = "all" if of_day or (says("quota", words) and not afford) else "something"
    if walled and not declined:
        error.tells = "something"
    if kind is BadRequestError and says("curable", words):
        error.retryable, error.tells = True, "nothing"
    return error


def _read_problem(body: bytes, asked: Asked) -> tuple[str, str]:
    """What is shown of an error, and all its words: messages, codes, and what a router passes on of its provider's."""
    text = body[: 8 * _WORDS].decode("utf-8", "replace")
    try:
        data: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return asked.excerpt(body), asked.redact(text[:_WORDS])
    texts = list(dict.fromkeys(_texts(data)))
    error = data[0] if isinstance(data, list) and data else data
    error = error.get("error", error) if isinstance(error, dict) else error
    message = error.get("message", error.get("detail")) if isinstance(error, dict) else error
    if message is not None and not isinstance(message, str):
        message = orjson.dumps(message).decode()
    shown = message or text
    raw = error.get("metadata") if isinstance(error, dict) else None
    passed_on = next(_texts(raw.get("raw")), "") if isinstance(raw, dict) else ""
    if passed_on and passed_on not in shown:
        shown = f"{passed_on} ({shown})"
    return asked.excerpt(shown), asked.redact(" ".join(texts)[:_WORDS])


def _texts(data: Any, depth: int = 0) -> Iterator[str]:
    """The texts and numbers of plain data, messages first; JSON within a text is read, too."""
    if depth > 6:
        return
    if isinstance(data, str):
        inner: Any = None
        if data.lstrip()[:1] in ("{", "["):
            with contextlib.suppress(orjson.JSONDecodeError):
                inner = orjson.loads(data)
        yield from _texts(inner, depth + 1) if inner is not None else iter([data])
    elif isinstance(data, dict):
        for name in sorted(data, key=lambda one: one not in ("error", "message", "detail")):
            if name != "failed_generation":
                yield from _texts(data[name], depth + 1)
    elif isinstance(data, list):
        for one in data[:50]:
            yield from _texts(one, depth + 1)


_IN_WORDS: Final = re.compile(
    r"(?:retry|try again|wait|available|reset)\w{0,20}\W{1,3}(?:again |after |in |for |delay\W{1,4}){0,2}"
    r"((?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|milliseconds?|hours?|h|minutes?|mins?|m|seconds?|secs?|s)\s?)+)(?![a-z])",
    re.IGNORECASE,
)
_DELAY: Final = re.compile(r"^(\d+(?:\.\d+)?)s$")
_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(ms|milli|h|m|s)", re.IGNORECASE)
_UNITS: Final = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_RESETS: Final = (
    *("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset", "ratelimit-reset"),
    *("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-reset"),
)


def retry_after(headers: Mapping[str, str], words: str = "") -> float | None:
    """Seconds the provider asked us to wait: by ``retry-after-ms`` or ``retry-after``, in its words, or by its resets.

    Args:
        words: of the error; ``Please retry in 20s`` and ``retryDelay: 20s`` are read.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name), unit)
        if seconds is not None:
            return seconds
    if found := _IN_WORDS.search(words):
        return _duration(found[1])
    delays = [float(found[1]) for word in words.split() if (found := _DELAY.match(word))]
    if delays:
        return max(delays)
    resets = [seconds for name in _RESETS if (seconds := _seconds(headers.get(name), 1.0)) is not None]
    return min(resets, default=None)


def _seconds(value: str | None, unit: float) -> float | None:
    """A header's value as seconds from now: a number, a duration, a time since 1970, or a date."""
    if value is None:
        return None
    try:
        seconds = float(value) * unit
    except ValueError:
        seconds = _duration(value) if _PART.match(value.strip()) else _seconds_until(value)
    now = time.time()
    if seconds > 1e12:
        seconds /= 1000
    if seconds > 1e9:
        seconds -= now
    return seconds if 0 <= seconds < 1e9 else None


def _duration(text: str) -> float:
    return sum(float(count) * _UNITS[unit.lower()] for count, unit in _PART.findall(text))


def _seconds_until(date: str) -> float:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with contextlib.suppress(ValueError, TypeError):
            return max(0.0, read(date.strip()).timestamp() - time.time())
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
    untrusted = ConnectionFailedError(
        f"{unreached}: {detail}. The certificate is not trusted here: name its authority's file in SSL_CERT_FILE",
        sent=False,
    )
    untrusted.retryable, untrusted.tells = False, "all"
    kinds: list[tuple[tuple[type[BaseException], ...], ProviderError]] = [
        ((aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError), untrusted),
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
