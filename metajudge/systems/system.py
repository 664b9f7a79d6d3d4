"""One system at one address: the connection to it, and the notes, records and failures that pass.

A connection keeps a rate, tries failures that pass again, and shows keys in no message.
"""

import random
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2

from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.reading.own_notes import KEY, NAME
from metajudge.types import Assessment, digest

__all__ = ["NAME", "Found", "Note", "SystemCallError", "Wrote", "answers_of", "is_uuid", "note_of", "utc"]


class SystemCallError(MetajudgeError):
    """A system did not answer as it should.

    Attributes:
        status: of its answer; None where there was none. 404 says that what a note is about is not there.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Wrote(StrEnum):
    """What became of a note."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    """It was there with the same content."""


@dataclass(frozen=True, slots=True)
class Note:
    """What we say of one verdict, for a person who looks at it where it lives.

    Attributes:
        key: the same for every assessment of the same judgment by any panel: a later one replaces an earlier one.
        target: the trace, span or record that the verdict is about. It is the id of the judgment's item, up to the
            first slash: readers put the name of an assessment behind it where a target has several.
        about: the verdict: the judgment's id.
        name: under which it is shown.
        label: ``keep``, ``ask`` or ``discard``.
        score: P(right) in [0, 1] where it is calibrated, else the score from 1 to 5; None without either.
        explanation: the reason in a sentence, with the address of the assessment where one is given.
        by_models: whether models were asked; without, it is the result of code.
        details: what else is known, plain data.
    """

    key: str
    target: str
    about: str
    name: str
    label: str
    score: float | None
    explanation: str
    by_models: bool
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        """The details with the key."""
        return {KEY: self.key, "judgment_id": self.about, **self.details}

    @property
    def text_metadata(self) -> dict[str, str]:
        """The metadata for a system that keeps texts."""
        return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in self.metadata.items()}

    @property
    def digest(self) -> str:
        """Of everything that it says."""
        return digest([self.target, self.name, self.label, self.score, self.explanation, self.metadata])


def note_of(assessment: Assessment, *, name: str = NAME, link: str | None = None) -> Note:
    """An assessment as a note.

    Args:
        link: the address of an assessment, with ``{judgment_id}`` in it.
    """
    said = assessment.do
    score = assessment.probability if assessment.probability is not None else assessment.final_score
    where = "" if link is None else f" {link.replace('{judgment_id}', assessment.judgment_id)}"
    details = {
        "judge": assessment.judge,
        "action": said.action,
        "decided_by": said.source,
        "status": assessment.status.value,
        "score": assessment.final_score,
        "probability": assessment.probability,
        "calibrated": assessment.calibrated,
        "threshold": assessment.threshold,
        "strategy": assessment.strategy,
        "agents": ", ".join(one.model for one in assessment.agents) or None,
        "panel_digest": assessment.panel_digest,
        "metajudge_version": assessment.metajudge_version,
    }
    return Note(
        key=digest([NAME, assessment.item_id, assessment.judgment_id, name]),
        target=assessment.item_id.partition("/")[0],
        about=assessment.judgment_id,
        name=name,
        label=said.action,
        score=None if score is None else round(score, 4),
        explanation=f"verdict of {assessment.judge}: {said.action}: {said.reason}.{where}",
        by_models=bool(assessment.agents),
        details={detail: value for detail, value in details.items() if value is not None},
    )


@contextmanager
def answers_of(address: str) -> Iterator[None]:
    """Makes a failure of the system out of an answer of another shape than its API documents.

    Raises:
        SystemCallError: as its cause says.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        what = f"without {error}" if isinstance(error, KeyError) else f"of another shape ({error})"
        raise SystemCallError(
            f"{address} gave an answer {what}: is it the system, in a version that is known?"
        ) from error


@dataclass(frozen=True, slots=True)
class Found:
    """One record of a system, as its own export has it.

    Attributes:
        part: which file of the pulled folder it belongs to, such as ``spans``.
        at: when it began or changed, as far as the system says; a later pull starts from the newest. None for notes of
            ours, which come after what they are about.
        record: plain data that the reader of the system's export takes.
    """

    part: str
    at: datetime | None
    record: Mapping[str, Any]


def utc(given: str | None) -> datetime | None:
    """A system's time in UTC, which one without a zone is taken to be; None where it gives none.

    Raises:
        ValueError: no time.
    """
    if given is None:
        return None
    found = datetime.fromisoformat(given)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def is_uuid(text: str) -> bool:
    """Whether a text is an id as systems with UUIDs have them: others are never asked for."""
    try:
        return bool(uuid.UUID(text))
    except ValueError:
        return False


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

    def by_cursor(self, path: str, cursor_of: Callable[[Any], str | None], **params: Any) -> Iterator[list[Any]]:
        """The rows of every page of a list whose pages name the next one."""
        cursor: str | None = None
        while True:
            page = self.get(path, cursor=cursor, **params)
            yield page["data"]
            if (cursor := cursor_of(page)) is None:
                return

    def by_offset(
        self, path: str, size: int, rows_of: Callable[[Any], list[Any]] = lambda page: page, **params: Any
    ) -> Iterator[list[Any]]:
        """The rows of every page of a list that is read by places, up to a page that is not full."""
        offset = 0
        while True:
            rows = rows_of(self.get(path, offset=offset, limit=size, **params))
            yield rows
            if len(rows) < size:
                return
            offset += size

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


class System(ABC):
    """One system at one address.

    Args:
        project: what is pulled: a project, an experiment or a dataset; None for the default one.

    Attributes:
        address: where it is, without keys.
    """

    PROJECT: ClassVar[str] = "project"
    """What the system calls a project."""
    DEFAULT: ClassVar[str | None] = None

    def __init__(self, connection: Connection, project: str | None) -> None:
        self._connection = connection
        self._project = project or self.DEFAULT
        self.address = connection.base

    @property
    def source(self) -> str:
        """The address with the project that is pulled."""
        return f"{self.address} ({self.PROJECT} {self._project})"

    @abstractmethod
    def push(self, note: Note) -> Wrote:
        """Puts a note beside its verdict; a note of the same key is replaced.

        Raises:
            SystemCallError: it was not taken.
        """

    @abstractmethod
    def pull(self, since: datetime | None) -> Iterator[Found]:
        """Everything that began or changed since then; None for everything.

        Raises:
            SystemCallError: it could not be read to the end.
        """

    def identity(self, part: str, record: Mapping[str, Any]) -> str:
        """What a record of a part is known by: a later record of the same identity replaces the earlier one."""
        return str(record["id"])

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def _seconds(given: str | None) -> float | None:
    try:
        return None if given is None else max(0.0, float(given))
    except ValueError:
        return None
