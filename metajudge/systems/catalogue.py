"""The systems there are, and what opens one: its address, its keys, which are read from the usual variables."""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from metajudge.errors import ConfigurationError
from metajudge.files.packaged import packaged
from metajudge.reading.own_notes import KEY
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


class Entry(NamedTuple):
    """How a system is opened; see ``systems.toml``."""

    title: str
    address: list[str]
    default: str
    headers: list[tuple[str, str]]
    keys: list[str]

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

SYSTEMS: Mapping[str, Entry] = {name: Entry(**one) for name, one in packaged("systems", "systems").items()}
_MADE: Mapping[str, Callable[[Connection, str | None], System]] = {
    "mlflow": MLflow,
    "phoenix": Phoenix,
    "langfuse": Langfuse,
    "langsmith": LangSmith,
    "argilla": Argilla,
}
"""What makes a system on a connection, for a project or experiment (None for the default one)."""


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
    return _MADE[name](Connection(given, headers, secrets, per_second=per_second), project)
