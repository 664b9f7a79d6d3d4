"""Phoenix (REST API of 20.x): annotations of spans; pulled are spans and annotations as its client gives them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from metajudge.systems.system import Found, Note, System, Wrote, utc

PAGE = 100
"""Spans a page; their annotations are asked for by their ids, which an address must have room for."""


class Phoenix(System):
    """A Phoenix server."""

    DEFAULT = "default"

    def push(self, note: Note) -> Wrote:
        annotation = {
            "span_id": note.target,
            "name": note.name,
            "annotator_kind": "LLM" if note.by_models else "CODE",
            "result": {"label": note.label, "score": note.score, "explanation": note.explanation},
            "metadata": note.metadata,
            "identifier": note.key,  # an annotation of the same name and identifier is replaced
        }
        pages = self._pages("span_annotations", span_ids=[note.target], identifier=note.key, limit=10)
        earlier = next((one for page in pages for one in page if one["name"] == note.name), None)
        if earlier is not None and all(earlier.get(name) == value for name, value in annotation.items()):
            return Wrote.UNCHANGED
        self._connection.ask("POST", "/v1/span_annotations", params={"sync": "true"}, json={"data": [annotation]})
        return Wrote.CREATED if earlier is None else Wrote.UPDATED

    def pull(self, since: datetime | None) -> Iterator[Found]:
        start = None if since is None else since.isoformat()
        for page in self._pages("spans", limit=PAGE, sort="start_time", order="asc", start_time=start):
            yield from (Found("spans", utc(one.get("start_time")), one) for one in page)
            names = [one["context"]["span_id"] for one in page]
            for some in self._pages("span_annotations", span_ids=names, limit=10 * PAGE) if names else ():
                yield from (Found("annotations", None, one) for one in some)

    def _pages(self, what: str, **params: Any) -> Iterator[list[dict[str, Any]]]:
        path = f"/v1/projects/{quote(str(self._project), safe='')}/{what}"
        return self._connection.by_cursor(path, lambda page: page.get("next_cursor"), **params)

    def identity(self, part: str, record: Mapping[str, Any]) -> str:
        return str(record["context"]["span_id"] if part == "spans" else record["id"])
