"""The systems there are, and what opens one: its address, its keys, which are read from the usual variables."""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from metajudge.errors import ConfigurationError
from metajudge.readers.own_notes import KEY
from metajudge.systems.argilla import Argilla
from metajudge.systems.connection import Connection
from metajudge.systems.langfuse import Langfuse
from metajudge.systems.langsmith import LangSmith
from metajudge.systems.phoenix import Phoenix
from metajudge.systems.system import NAME, Found, Note, System, SystemCallError, Wrote, utc

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


@dataclass(frozen=True, slots=True)
class Entry:
    """How a system is opened.

    Attributes:
        title: its name for people.
        address: variables that may have its address, the first one set counts.
        default: the address where none is given.
        headers: makes the headers with the key out of the environment.
        keys: variables whose values must appear in no message.
        make: makes the system on a connection, for a project or experiment (None for the default one).
    """

    title: str
    address: tuple[str, ...]
    default: str
    headers: Callable[[Mapping[str, str]], dict[str, str]]
    keys: tuple[str, ...]
    make: Callable[[Connection, str | None], System]


def _mlflow_headers(given: Mapping[str, str]) -> dict[str, str]:
    token, user = given.get("MLFLOW_TRACKING_TOKEN"), given.get("MLFLOW_TRACKING_USERNAME")
    if token:
        return {"authorization": f"Bearer {token}"}
    return _basic(user, given.get("MLFLOW_TRACKING_PASSWORD", "")) if user else {}


def _phoenix_headers(given: Mapping[str, str]) -> dict[str, str]:
    key = given.get("PHOENIX_API_KEY")
    return {"authorization": f"Bearer {key}"} if key else {}


def _langfuse_headers(given: Mapping[str, str]) -> dict[str, str]:
    public, secret = given.get("LANGFUSE_PUBLIC_KEY"), given.get("LANGFUSE_SECRET_KEY")
    return _basic(public, secret) if public and secret else {}


def _langsmith_headers(given: Mapping[str, str]) -> dict[str, str]:
    key = given.get("LANGSMITH_API_KEY") or given.get("LANGCHAIN_API_KEY")
    workspace = given.get("LANGSMITH_WORKSPACE_ID")
    return ({"x-api-key": key} if key else {}) | ({"x-tenant-id": workspace} if workspace else {})


def _argilla_headers(given: Mapping[str, str]) -> dict[str, str]:
    key = given.get("ARGILLA_API_KEY")
    return {"x-argilla-api-key": key} if key else {}


def _basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


SYSTEMS: Mapping[str, Entry] = {
    "mlflow": Entry(
        "MLflow",
        ("MLFLOW_TRACKING_URI",),
        "http://127.0.0.1:5000",
        _mlflow_headers,
        ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD"),
        MLflow,
    ),
    "phoenix": Entry(
        "Phoenix",
        ("PHOENIX_BASE_URL", "PHOENIX_COLLECTOR_ENDPOINT"),
        "http://127.0.0.1:6006",
        _phoenix_headers,
        ("PHOENIX_API_KEY",),
        Phoenix,
    ),
    "langfuse": Entry(
        "Langfuse",
        ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
        "https://cloud.langfuse.com",
        _langfuse_headers,
        ("LANGFUSE_SECRET_KEY",),
        Langfuse,
    ),
    "langsmith": Entry(
        "LangSmith",
        ("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT"),
        "https://api.smith.langchain.com",
        _langsmith_headers,
        ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"),
        LangSmith,
    ),
    "argilla": Entry(
        "Argilla", ("ARGILLA_API_URL",), "http://localhost:6900", _argilla_headers, ("ARGILLA_API_KEY",), Argilla
    ),
}


def open_system(
    name: str,
    environ: Mapping[str, str],
    *,
    address: str | None = None,
    project: str | None = None,
    per_second: float = 10.0,
) -> System:
    """Opens a system by its name.

    Args:
        environ: where keys, and the address if none is given, are read from.
        project: the project or experiment that is pulled.
        per_second: requests at most.

    Raises:
        ConfigurationError: no such system, or an address that is none.
    """
    entry = SYSTEMS.get(name)
    if entry is None:
        raise ConfigurationError(f"there is no system {name!r}; there are {', '.join(SYSTEMS)}")
    if per_second <= 0:
        raise ConfigurationError(f"requests a second must be more than 0, not {per_second:g}")
    given = address or next((environ[one] for one in entry.address if environ.get(one)), entry.default)
    headers = entry.headers(environ)
    secrets = (*(environ.get(one, "") for one in entry.keys), *headers.values())
    return entry.make(Connection(given, headers, secrets, per_second=per_second), project)
