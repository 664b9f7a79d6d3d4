"""Argilla (API v1 as its SDK 2.8 uses it): suggestions on records; pulled are records as its SDK exports them.

A record has one suggestion a question, with a value, a score and an agent, and nothing else. Notes go to a question of
their own, which the dataset must have: ``NAME_QUESTION`` for the verdicts on QUESTION, or ``NAME`` for all. The note's
key is in the agent. Argilla does not say when a person answered a record, so every pull reads the whole dataset.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from metajudge.reading.own_notes import AGENT
from metajudge.systems.system import Found, Note, System, SystemCallError, Wrote, is_uuid, utc

PAGE = 100
_INCLUDED = ["suggestions", "responses"]


class Argilla(System):
    """An Argilla server; a project is a dataset: its name, or ``WORKSPACE/NAME``."""

    PROJECT = "dataset"

    def push(self, note: Note) -> Wrote:
        record, judged = self._record(note)
        question = self._question(note.name, judged)
        wanted = _suggestion(note, question)
        earlier = next((one for one in record.get("suggestions") or () if one["question_id"] == question["id"]), None)
        if earlier is not None and earlier.get("agent") != wanted["agent"]:
            whose = "another verdict" if str(earlier.get("agent")).startswith(AGENT) else f"{earlier.get('agent')!r}"
            raise SystemCallError(
                f"record {note.target}: question {question['name']!r} has a suggestion on {whose} already: give the "
                f"dataset a question {note.name}_{judged}"
            )
        if earlier is not None and all(earlier.get(name) == wanted[name] for name in ("value", "score")):
            return Wrote.UNCHANGED
        self._connection.ask("PUT", f"/api/v1/records/{record['id']}/suggestions", json=wanted)
        return Wrote.CREATED if earlier is None else Wrote.UPDATED

    def pull(self, since: datetime | None) -> Iterator[Found]:
        names = {one["id"]: one["name"] for one in self._questions}
        path = f"/api/v1/datasets/{self._dataset}/records"
        for page in self._connection.by_offset(path, PAGE, lambda page: list(page["items"]), include=_INCLUDED):
            for one in page:
                at = _changed(one)
                if since is None or at is None or at >= since:
                    yield Found("records", None, _exported(one, names))

    @cached_property
    def _dataset(self) -> str:
        """The dataset's id."""
        items = self._connection.get("/api/v1/me/datasets")["items"]
        workspace, _, name = (self._project or "").rpartition("/")
        found = [one for one in items if one["name"] == name]
        if workspace:
            places = self._connection.get("/api/v1/me/workspaces")["items"]
            ids = {one["id"] for one in places if one["name"] == workspace}
            found = [one for one in found if one["workspace_id"] in ids]
        if len(found) == 1:
            return str(found[0]["id"])
        names = ", ".join(sorted({str(one["name"]) for one in items})) or "none"
        if found:
            raise SystemCallError(
                f"{self.address} has several datasets named {name!r}: give --project WORKSPACE/{name}"
            )
        which = f"no dataset named {self._project!r}" if self._project else "no default dataset"
        raise SystemCallError(f"{self.address} has {which}: give --project with one of: {names}")

    @cached_property
    def _questions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.get(f"/api/v1/datasets/{self._dataset}/questions")["items"]
        return found

    def _question(self, name: str, judged: str | None) -> Mapping[str, Any]:
        """Where notes on a question are put."""
        wanted = [name] if judged is None else [f"{name}_{judged}", name]
        for title in wanted:
            for one in self._questions:
                if one["name"] == title and one["settings"]["type"] in ("label_selection", "text"):
                    return one
        raise SystemCallError(
            f"the dataset has no question {' or '.join(wanted)}: add one, with the labels keep, ask and discard or for "
            "text, before the dataset is published"
        )

    def _record(self, note: Note) -> tuple[Mapping[str, Any], str | None]:
        """The record, and the question that the verdict answers: a verdict's id is RECORD/QUESTION/AGENT."""
        judged = next((one["name"] for one in self._questions if f"/{one['name']}/" in note.about), None)
        name = note.target if judged is None else note.about.partition(f"/{judged}/")[0]
        scope = {"entity": "record", "property": "external_id"}
        terms = {"type": "terms", "scope": scope, "values": [name]}
        found = self._connection.ask(
            "POST",
            f"/api/v1/datasets/{self._dataset}/records/search",
            params={"include": _INCLUDED[:1], "limit": 1},
            json={"query": None, "filters": {"and": [terms]}},
        )["items"]
        if found:
            return found[0]["record"], judged
        if not is_uuid(name):
            raise SystemCallError(f"the dataset has no record {name}", status=404)
        record: Mapping[str, Any] = self._connection.get(f"/api/v1/records/{name}")
        return record, judged

    def identity(self, part: str, record: Mapping[str, Any]) -> str:
        return str(record["_server_id"])


def _suggestion(note: Note, question: Mapping[str, Any]) -> dict[str, Any]:
    probability = note.details.get("probability")
    return {
        "question_id": question["id"],
        "value": note.label if question["settings"]["type"] == "label_selection" else note.explanation,
        "score": probability if isinstance(probability, float) else None,  # it must lie in [0, 1]
        "type": "model",
        "agent": f"{AGENT}{note.key}",
    }


def _changed(record: Mapping[str, Any]) -> datetime | None:
    """The newest time that a record names, of itself or of what was said of it."""
    parts = [record, *(record.get("responses") or ()), *(record.get("suggestions") or ())]
    times = [utc(one.get(name)) for one in parts for name in ("inserted_at", "updated_at")]
    return max((one for one in times if one is not None), default=None)


def _exported(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A record as ``Record.to_dict()`` gives it, with when people answered and whether they submitted it."""
    suggestions = {
        names.get(one["question_id"], str(one["question_id"])): {
            name: one.get(name) for name in ("value", "score", "agent", "updated_at")
        }
        for one in record.get("suggestions") or ()
    }
    responses: dict[str, list[dict[str, Any]]] = {}
    for one in record.get("responses") or ():
        for question, said in (one.get("values") or {}).items():
            answer = {"value": said["value"], "user_id": one.get("user_id")}
            answer |= {"status": one.get("status"), "updated_at": one.get("updated_at")}
            responses.setdefault(question, []).append(answer)
    return {
        "id": record.get("external_id") or record["id"],
        "fields": record["fields"],
        "metadata": record.get("metadata") or {},
        "suggestions": suggestions,
        "responses": responses,
        "status": record.get("status"),
        "_server_id": record["id"],
    }
