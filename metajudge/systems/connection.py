"""HTTP to a system: a rate that is kept, failures that pass tried again, and keys that appear in no message."""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from metajudge.errors import ConfigurationError
from metajudge.systems.system import SystemCallError

TRIES = 5
PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
TIMEOUT_S = 60.0
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed later."""

_random = random.Random()


class Connection:
    """Requests to one base URL, one after the other.

    Every request may be sent twice: what it writes has an identity of its own.

    Args:
        base: the system's address; http:// or https://.
        headers: with the key.
        secrets: what must appear in no message.
        per_second: requests at most.
        wait, clock: for tests.

    Raises:
        ConfigurationError: an address that is none.
    """

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str],
        secrets: tuple[str, ...] = (),
        *,
        per_second: float = 10.0,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"{base!r} is no address of a system: it needs http:// or https://")
        if parts.username or parts.password:
            raise ConfigurationError("the address has a user or a password in it: give the key by its variable")
        self.base = base.rstrip("/")
        self._secrets = tuple(one for one in secrets if one)
        self._http = httpx2.Client(headers=dict(headers), timeout=TIMEOUT_S, follow_redirects=False)
        self._gap = 1 / per_second
        self._next = 0.0
        self._wait = wait
        self._clock = clock

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a GET; parameters that are None are left out."""
        return self.ask("GET", path, params={name: value for name, value in params.items() if value is not None})

    def post(self, path: str, body: object) -> Any:
        """The JSON of the answer to a POST."""
        return self.ask("POST", path, json=body)

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """One request, sent again where that may help.

        Returns:
            The JSON of the answer; None where it has no body.

        Raises:
            SystemCallError: no answer, or one that is no success.
        """
        pause = PAUSE_S
        for left in range(TRIES - 1, -1, -1):
            self._keep_rate()
            try:
                response = self._http.request(method, self.base + path, **options)
            except httpx2.HTTPError as error:
                failure = SystemCallError(
                    self._clean(f"{self._host} cannot be reached: {error or type(error).__name__}")
                )
                after = None
            else:
                if response.is_success:
                    return self._json(response)
                failure = self._refused(response, method, path)
                after = _seconds(response.headers.get("retry-after"))
                if response.status_code not in PASSING:
                    raise failure
            if not left:
                raise failure
            self._wait(min(pause if after is None else after, LONGEST_PAUSE_S) * (1 + _random.random() / 4))
            pause *= 2
        raise AssertionError("the last try raises")

    def close(self) -> None:
        self._http.close()

    @property
    def _host(self) -> str:
        return urlsplit(self.base).netloc

    def _keep_rate(self) -> None:
        now = self._clock()
        if now < self._next:
            self._wait(self._next - now)
        self._next = max(now, self._next) + self._gap

    def _json(self, response: httpx2.Response) -> Any:
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            kind = response.headers.get("content-type", "no content type")
            raise SystemCallError(
                f"{self._host} answered with {kind} in place of JSON: is it the address of the API?"
            ) from None

    def _refused(self, response: httpx2.Response, method: str, path: str) -> SystemCallError:
        said = " ".join(response.text[:300].split())
        advice = {401: "; check the key", 403: "; the key may not do that"}.get(response.status_code, "")
        message = f"{self._host} answered {response.status_code} to {method} {path}{advice}: {said or 'nothing'}"
        return SystemCallError(self._clean(message), status=response.status_code)

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text


def _seconds(given: str | None) -> float | None:
    try:
        return None if given is None else max(0.0, float(given))
    except ValueError:
        return None
