"""The systems there are, and what opens one: its address, its keys, which are read from the usual variables."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from metajudge.errors import ConfigurationError
from metajudge.systems.argilla import Argilla
from metajudge.systems.connection import Connection
from metajudge.systems.langfuse import Langfuse
from metajudge.systems.langsmith import LangSmith
from metajudge.systems.mlflow import MLflow
from metajudge.systems.phoenix import Phoenix
from metajudge.systems.system import System


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
        "Argilla",
        ("ARGILLA_API_URL",),
        "http://localhost:6900",
        _argilla_headers,
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
    headers = entry.headers(environ)
    secrets = (*(environ.get(one, "") for one in entry.keys), *headers.values())
    return entry.make(Connection(given, headers, secrets, per_second=per_second), project)
