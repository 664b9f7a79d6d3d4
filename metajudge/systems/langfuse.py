"""Langfuse (public API as in its SDK 5.0): scores beside scores; pulled are scores with what they are about.

A score is written with an id of ours, and on the subject of the verdict's own score: a trace, an observation, a session
or an experiment. Langfuse takes scores in the background: one that was just written may take seconds to be found.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import orjson

from metajudge.errors import ConfigurationError
from metajudge.reading.own_notes import is_ours
from metajudge.systems.system import Connection, Found, Note, System, SystemCallError, Wrote, answers_of, utc

SCORES = "/api/public/v3/scores"
NEW_SCORES = "/api/public/scores"
OBSERVATIONS = "/api/public/v2/observations"
PROJECTS = "/api/public/projects"
PAGE = 100
_SUBJECTS = {"trace": "traceId", "observation": "observationId", "session": "sessionId", "experiment": "datasetRunId"}


class Langfuse(System):
    """A Langfuse server, without a project: a key of Langfuse belongs to one.

    Raises:
        ConfigurationError: a project is named.
    """

    def __init__(self, connection: Connection, project: str | None) -> None:
        if project is not None:
            raise ConfigurationError("the keys of Langfuse say which project is meant: leave out --project")
        super().__init__(connection, None)

    @cached_property
    def source(self) -> str:
        """The address with the project that the keys belong to.

        Raises:
            SystemCallError: Langfuse cannot be asked.
        """
        with answers_of(self.address):
            names = ", ".join(str(one["name"]) for one in self._connection.get(PROJECTS)["data"])
        return f"{self.address} (project {names})"

    def push(self, note: Note) -> Wrote:
        found = {one["id"]: one for page in self._scores(id=f"{note.about},{note.key}") for one in page}
        if note.about not in found:
            raise SystemCallError(f"{self.address} has no score {note.about}", status=404)
        wanted = _score(note, found[note.about])
        earlier = found.get(note.key)
        if earlier is not None:
            if all(earlier.get(name) == wanted[name] for name in ("name", "value", "comment", "metadata")):
                return Wrote.UNCHANGED
            wanted["timestamp"] = earlier["timestamp"]  # a score is replaced by one of the same id and time
        answer = self._connection.post(NEW_SCORES, [wanted])
        if answer is not None and answer.get("rejected"):
            said = "; ".join(str(one.get("message")) for one in answer.get("errors") or ())
            raise SystemCallError(f"{self.address} did not take the score: {said or 'without a reason'}", status=207)
        return Wrote.CREATED if earlier is None else Wrote.UPDATED

    def pull(self, since: datetime | None) -> Iterator[Found]:
        start = None if since is None else since.isoformat()
        known: set[tuple[str, str | None]] = set()
        for page in self._scores(limit=PAGE, fromTimestamp=start):
            for one in page:
                about = _about(one)
                if about is not None and about not in known:
                    known.add(about)
                    for row in self._observations(*about):
                        yield Found("observations", None, row)
                yield Found("scores", None if is_ours(one.get("metadata")) else utc(one["timestamp"]), one)

    def _scores(self, **params: Any) -> Iterator[list[dict[str, Any]]]:
        try:
            yield from self._pages(SCORES, fields="details,subject,annotation", **params)
        except SystemCallError as failure:
            if failure.status != 404:
                raise
            raise SystemCallError(
                f"{self.address} has no {SCORES}: for an older Langfuse, vet its blob storage export"
            ) from None

    def _observations(self, trace: str, observation: str | None) -> Iterator[dict[str, Any]]:
        """The observation, or the roots of the trace."""
        which = ("boolean", "isRootObservation", True) if observation is None else ("string", "id", observation)
        conditions = [
            {"type": kind, "column": column, "operator": "=", "value": value}
            for kind, column, value in (("string", "traceId", trace), which)
        ]
        fields = "core,basic,io,model,trace_context"
        for page in self._pages(OBSERVATIONS, fields=fields, limit=PAGE, filter=orjson.dumps(conditions).decode()):
            yield from page

    def _pages(self, path: str, **params: Any) -> Iterator[list[dict[str, Any]]]:
        return self._connection.by_cursor(path, lambda page: page["meta"].get("cursor"), **params)


def _about(score: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """The trace, and the observation where it is about one; None for a session or an experiment."""
    subject = score.get("subject") or {}
    if subject.get("kind") == "trace":
        return str(subject["id"]), None
    if subject.get("kind") == "observation" and subject.get("traceId"):
        return str(subject["traceId"]), str(subject["id"])
    return None


def _score(note: Note, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A note as a request, on what the verdict's score is about."""
    subject = verdict["subject"]
    where = {_SUBJECTS[subject["kind"]]: subject["id"]}
    if subject.get("traceId"):
        where["traceId"] = subject["traceId"]
    environment = str(verdict.get("environment") or "")
    if environment and not environment.startswith("langfuse"):  # those names are Langfuse's own
        where["environment"] = environment
    return {
        "id": note.key,
        **where,
        "name": note.name,
        "dataType": "CATEGORICAL",
        "value": note.label,
        "comment": note.explanation,
        "metadata": note.text_metadata,
    }
