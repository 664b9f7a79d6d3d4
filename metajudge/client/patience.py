"""Whether, and when, a request is sent again; errors of ours in place of the transport's."""

import contextlib
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from metajudge.client.errors import ServiceError, ServiceUnreachableError, error_of
from metajudge.errors import ConfigurationError

PAUSE_S = (0.25, 8.0)
REFUSED_S = 10.0
"""How long a service that does not answer at all is tried again: the URL may be wrong."""
HARMLESS = ("/v1/vet", "/v1/vet/stream", "/v1/audit", "/v1/rank", "/v1/peers")
_random = random.Random()


class Patience:
    """Whether, and when, a request is sent again."""

    def __init__(self, seconds: float, method: str, path: str, options: Mapping[str, Any]) -> None:
        self._until = time.monotonic() + seconds
        self._refused_until = min(self._until, time.monotonic() + REFUSED_S)
        self._pause, self._longest = PAUSE_S
        content = options.get("content")
        self._resendable = getattr(content, "again", content is None or isinstance(content, str | bytes))
        keyed = "idempotency-key" in {name.lower() for name in options.get("headers") or {}}
        self._harmless = keyed or method.upper() in ("GET", "HEAD") or path in HARMLESS

    def pause_after(self, error: ServiceError) -> float:
        """Seconds to wait before the request is sent again; raises the error where it must not be."""
        pause = error.retry_after if error.retry_after is not None else self._pause
        pause *= 1 + _random.random() / 2  # those who were refused together do not come back together
        self._pause = min(2 * self._pause, self._longest)
        until = self._until if error.status is not None else self._refused_until
        if not self._again(error) or time.monotonic() + pause > until:
            raise error
        return pause

    def _again(self, error: ServiceError) -> bool:
        if isinstance(error, ServiceUnreachableError) and not error.sent:
            return True
        busy = error.status in (None, 503) or (error.status == 409 and error.retry_after is not None)
        return self._resendable and (error.status == 429 or (busy and self._harmless))

    def end(self) -> None:
        """What has begun to be answered is not asked for again."""
        self._until = self._refused_until = 0.0


@contextlib.contextmanager
def answers(url: httpx2.URL) -> Iterator[None]:
    """Makes errors of ours out of the transport's."""
    try:
        yield
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise ConfigurationError(f"{str(url)!r} is not a service URL: it needs http:// or https://") from error
    except httpx2.HTTPError as error:
        sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        what, hint = ("cannot be reached", "check the URL and that it is running")
        if sent:
            what, hint = ("did not answer", "it may or may not have handled the request")
        raise ServiceUnreachableError(f"the service at {url} {what} ({reason}): {hint}", sent) from error


def checked(response: httpx2.Response) -> httpx2.Response:
    """The response, where it is none of a problem.

    Raises:
        ServiceError: a problem.
    """
    if response.is_success:
        return response
    problem: Any = None
    with contextlib.suppress(ValueError):
        problem = response.json()
    problem = problem if isinstance(problem, dict) else {"detail": response.text[:500]}
    after = response.headers.get("retry-after", "")
    raise error_of(response.status_code, problem, float(after) if after.isdecimal() else None)
