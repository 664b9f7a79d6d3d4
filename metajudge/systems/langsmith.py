"""LangSmith (API as its SDK 0.15 uses it): feedback on runs; pulled is feedback with the runs it is about.

Feedback is written with an id made from our key, on the run, trace and project of the verdict's own feedback.
LangSmith changes score, value and comment of feedback, not its metadata: there is only what stays the same.
"""

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from metajudge.reading.own_notes import KEY, is_ours
from metajudge.systems.system import Found, Note, System, SystemCallError, Wrote, is_uuid, utc

PAGE = 100
_RUN = ["id", "name", "run_type", "start_time", "end_time", "inputs", "outputs", "parent_run_id", "session_id"]
_SELECTED = [*_RUN, "trace_id", "dotted_order", "status", "error"]
_CHANGING = ("score", "value", "comment")


class LangSmith(System):
    """A LangSmith server; a project is a tracing project or an experiment."""

    DEFAULT = "default"

    def push(self, note: Note) -> Wrote:
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, note.key))
        earlier = self._earlier(name)
        wanted = _feedback(note, name)
        if earlier is None:
            self._connection.post("/feedback", {**wanted, **self._place(note)})
            return Wrote.CREATED
        changed = {field: wanted[field] for field in _CHANGING}
        if all(earlier.get(field) == value for field, value in changed.items()):
            return Wrote.UNCHANGED
        self._connection.ask("PATCH", f"/feedback/{name}", json=changed)
        return Wrote.UPDATED

    def pull(self, since: datetime | None) -> Iterator[Found]:
        start = None if since is None else since.isoformat()
        known: set[str] = set()
        asked: dict[str, Any] = {"session": self._session, "min_created_at": start, "include_user_names": True}
        for page in self._connection.by_offset("/feedback", PAGE, **asked):
            missing = list(dict.fromkeys(str(one["run_id"]) for one in page if one.get("run_id")))
            missing = [name for name in missing if name not in known]
            known.update(missing)
            for run in self._runs(missing, session=[self._session]):
                yield Found("runs", None, run)
            for one in page:
                ours = is_ours((one.get("feedback_source") or {}).get("metadata"))
                yield Found("feedback", None if ours else utc(one["created_at"]), one)

    @cached_property
    def _session(self) -> str:
        found = self._connection.get("/sessions", name=self._project, limit=1)
        if not found:
            raise SystemCallError(f"{self.address} has no project named {self._project!r}: name it with --project")
        return str(found[0]["id"])

    def _runs(self, names: list[str], **where: Any) -> Iterator[dict[str, Any]]:
        """Runs by their ids."""
        body: dict[str, Any] = {"id": names, "select": _SELECTED, "limit": PAGE, **where}
        while names:
            page = self._connection.post("/runs/query", body)
            yield from page["runs"]
            cursor = (page.get("cursors") or {}).get("next")
            if not cursor:
                return
            body["cursor"] = cursor

    def _earlier(self, name: str) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = self._connection.get(f"/feedback/{name}")
        except SystemCallError as failure:
            if failure.status != 404:
                raise
            return None
        return found

    def _place(self, note: Note) -> dict[str, Any]:
        """What says where the run is: newer servers find it by its project only."""
        found = self._earlier(note.about) if is_uuid(note.about) else None
        if found is None and is_uuid(note.target):
            found = next(self._runs([note.target]), None)
        if found is None:
            raise SystemCallError(f"{self.address} has no run {note.target}", status=404)
        names = ("trace_id", "session_id", "start_time")
        return {name: found[name] for name in names if found.get(name) is not None}


def _feedback(note: Note, name: str) -> dict[str, Any]:
    about = {KEY: note.key, "judgment_id": note.about, "judge": note.details.get("judge")}
    return {
        "id": name,
        "run_id": note.target,
        "key": note.name,
        "score": note.score,
        "value": note.label,
        "comment": note.explanation,
        "feedback_source": {"type": "model" if note.by_models else "api", "metadata": about},
        "extend_trace_retention": False,  # a note changes neither how long a trace is kept nor what that costs
    }
