"""MLflow (REST API of 3.x): feedback on traces; what is pulled are traces as ``Trace.to_json()`` writes them.

MLflow knows no identity given from outside: before a note is written, the trace's feedback is read, and ours, found by
its key, is updated.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from metajudge.readers.own_notes import KEY
from metajudge.systems.connection import Connection
from metajudge.systems.system import NAME, Found, Note, SystemCallError, Wrote, utc

TRACES = "/api/3.0/mlflow/traces"
EXPERIMENT = "/api/2.0/mlflow/experiments/get-by-name"
ARTIFACT = "/ajax-api/3.0/mlflow/get-trace-artifact"
PAGE = 100


class MLflow:
    """A tracking server.

    Args:
        project: the experiment's name, for pulling.
    """

    def __init__(self, connection: Connection, project: str | None) -> None:
        self._connection = connection
        self._project = project or "Default"
        self.address = connection.base
        self.source = f"{connection.base} (experiment {self._project})"

    def push(self, note: Note) -> Wrote:
        path = f"{TRACES}/{quote(note.target, safe='')}"
        info = self._connection.get(path)["trace"]["trace_info"]
        wanted = _assessment(note)
        for one in info.get("assessments") or ():
            if (one.get("metadata") or {}).get(KEY) != note.key:
                continue
            if all(one.get(name) == wanted[name] for name in ("assessment_name", "feedback", "rationale", "metadata")):
                return Wrote.UNCHANGED
            mask = "assessmentName,feedback,rationale,metadata"
            body = {"assessment": wanted, "update_mask": mask}
            self._connection.ask("PATCH", f"{path}/assessments/{quote(one['assessment_id'], safe='')}", json=body)
            return Wrote.UPDATED
        self._connection.post(f"{path}/assessments", {"assessment": wanted})
        return Wrote.CREATED

    def pull(self, since: datetime | None) -> Iterator[Found]:
        experiment = self._connection.get(EXPERIMENT, experiment_name=self._project)["experiment"]["experiment_id"]
        place = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
        wanted: dict[str, Any] = {"locations": [place], "max_results": PAGE, "order_by": ["timestamp_ms ASC"]}
        if since is not None:
            wanted["filter"] = f"attributes.timestamp_ms >= {int(since.timestamp() * 1000)}"
        while True:
            page = self._connection.post(f"{TRACES}/search", wanted)
            for info in page.get("traces") or ():
                yield self._trace(info)
            token = page.get("next_page_token")
            if not token:
                return
            wanted["page_token"] = token

    def _trace(self, info: Mapping[str, Any]) -> Found:
        name = str(info["trace_id"])
        try:
            data = self._connection.get(ARTIFACT, request_id=name)
        except SystemCallError as failure:
            if failure.status not in (404, 400):
                raise
            data = {"spans": []}  # its texts are gone; the previews in its head are what is left
        return Found("traces", utc(info.get("request_time")), {"info": dict(info), "data": data})

    def identity(self, part: str, record: Mapping[str, Any]) -> str:
        return str(record["info"]["trace_id"])

    def close(self) -> None:
        self._connection.close()


def _assessment(note: Note) -> dict[str, Any]:
    kind = "LLM_JUDGE" if note.by_models else "CODE"
    return {
        "assessment_name": note.name,
        "trace_id": note.target,
        "source": {"source_type": kind, "source_id": NAME},
        "feedback": {"value": note.label},
        "rationale": note.explanation,
        "metadata": note.text_metadata,
        "valid": True,
    }
