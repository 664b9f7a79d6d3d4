"""The systems there are, and what opens one: its address, its keys, which are read from the usual variables."""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from metajudge.errors import ConfigurationError
from metajudge.readers.own_notes import KEY
from metajudge.systems.argilla import Argilla
from metajudge.systems.langfuse import Langfuse
from metajudge.systems.langsmith import LangSmith
from metajudge.systems.phoenix import Phoenix
from metajudge.systems.system import NAME, Connection, Found, Note, System, SystemCallError, Wrote, utc

TRACES = "/api/3.0/mlflow/traces"
EXPERIMENT = "/api/2.0/mlflow/experiments/get-by-name"
ARTIFACT = "/ajax-api/3.0/mlflow/get-trace-artifact"
PAGE = 100


class MLflow(System):
    """A tracking server; a project is an experiment."""

    PROJECT = "experiment"
    DEFAULT = "Default"

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
        headers: header and value, with ``{VARIABLE}`` in it; of several values the first whose variables are all set.
            What follows ``Basic`` is encoded.
        keys: variables whose values must appear in no message.
        make: makes the system on a connection, for a project or experiment (None for the default one).
    """

    title: str
    address: tuple[str, ...]
    default: str
    headers: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    make: Callable[[Connection, str | None], System]

    def headers_from(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The headers with the key, as far as the environment has it."""
        found: dict[str, str] = {}
        for name, template in self.headers:
            if name not in found and all(environ.get(one) for one in _VARIABLE.findall(template)):
                found[name] = template.format_map(environ)
                if template.startswith(_BASIC):
                    pair = found[name].removeprefix(_BASIC).encode()
                    found[name] = f"{_BASIC}{base64.b64encode(pair).decode()}"
        return found


_VARIABLE, _BASIC = re.compile(r"\{(\w+)\}"), "Basic "

SYSTEMS: Mapping[str, Entry] = {
    "mlflow": Entry(
        "MLflow",
        ("MLFLOW_TRACKING_URI",),
        "http://127.0.0.1:5000",
        (
            ("authorization", "Bearer {MLFLOW_TRACKING_TOKEN}"),
            ("authorization", "Basic {MLFLOW_TRACKING_USERNAME}:{MLFLOW_TRACKING_PASSWORD}"),
            ("authorization", "Basic {MLFLOW_TRACKING_USERNAME}:"),
        ),
        ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD"),
        MLflow,
    ),
    "phoenix": Entry(
        "Phoenix",
        ("PHOENIX_BASE_URL", "PHOENIX_COLLECTOR_ENDPOINT"),
        "http://127.0.0.1:6006",
        (("authorization", "Bearer {PHOENIX_API_KEY}"),),
        ("PHOENIX_API_KEY",),
        Phoenix,
    ),
    "langfuse": Entry(
        "Langfuse",
        ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
        "https://cloud.langfuse.com",
        (("authorization", "Basic {LANGFUSE_PUBLIC_KEY}:{LANGFUSE_SECRET_KEY}"),),
        ("LANGFUSE_SECRET_KEY",),
        Langfuse,
    ),
    "langsmith": Entry(
        "LangSmith",
        ("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT"),
        "https://api.smith.langchain.com",
        (
            ("x-api-key", "{LANGSMITH_API_KEY}"),
            ("x-api-key", "{LANGCHAIN_API_KEY}"),
            ("x-tenant-id", "{LANGSMITH_WORKSPACE_ID}"),
        ),
        ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"),
        LangSmith,
    ),
    "argilla": Entry(
        "Argilla",
        ("ARGILLA_API_URL",),
        "http://localhost:6900",
        (("x-argilla-api-key", "{ARGILLA_API_KEY}"),),
        ("ARGILLA_API_KEY",),
        Argilla,
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
    headers = entry.headers_from(environ)
    secrets = (*(environ.get(one, "") for one in entry.keys), *headers.values())
    return entry.make(Connection(given, headers, secrets, per_second=per_second), project)
