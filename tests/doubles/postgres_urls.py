"""URLs of stores on the PostgreSQL server for tests."""

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator

import pytest

NO_SERVER = "METAJUDGE_TEST_POSTGRES is not set: it names a PostgreSQL server to test with (see .ci/postgres)"


@contextlib.contextmanager
def stores_on_postgres() -> Iterator[Callable[[], str]]:
    """Makes URLs, each with a schema of its own that is gone afterwards; skips the test where there is no server."""
    server = os.environ.get("METAJUDGE_TEST_POSTGRES")
    if not server:
        pytest.skip(NO_SERVER)
    psycopg = pytest.importorskip("psycopg", reason="extra postgres is not installed")
    pytest.importorskip("psycopg_pool", reason="extra postgres is not installed")
    schemas: list[str] = []

    def make() -> str:
        schemas.append(f"test_{uuid.uuid4().hex[:12]}")
        return f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{schemas[-1]}"

    yield make
    with psycopg.connect(server, autocommit=True) as connection:
        for schema in schemas:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
