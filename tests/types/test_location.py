"""Where a store is, and that no password is printed."""

from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from metajudge.types.location import PostgresUrl, store_location


@pytest.mark.parametrize("given", ["runs.duckdb", Path("runs.duckdb")])
def test_a_path_is_a_file(given):
    assert store_location(given) == Path("runs.duckdb")


@pytest.mark.parametrize("given", ["postgresql://host/db", "postgres://host/db", "POSTGRESQL://host/db"])
def test_a_url_is_a_database(given):
    found = store_location(given)
    assert isinstance(found, PostgresUrl)
    assert found.secret == given
    assert store_location(found) is found
    assert found.exists()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://ada:s3cret@host:5432/db", "postgresql://ada:***@host:5432/db"),
        ("postgresql://ada:p@ss@host/db", "postgresql://ada:***@host/db"),
        ("postgresql://ada@host/db", "postgresql://ada@host/db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://host/db?user=ada&password=s3cret&x=1", "postgresql://host/db?user=ada&password=***&x=1"),
        ("postgresql://host/db?sslpassword=s3cret", "postgresql://host/db?sslpassword=***"),
    ],
)
def test_a_database_is_printed_without_its_password(given, shown):
    url = PostgresUrl(given)
    assert str(url) == shown
    assert repr(url) == f"PostgresUrl({shown!r})"
    assert "s3cret" not in f"{url} {url!r}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mysql://host/db", "not a URL with mysql://"),
        ("postgresql:/host/db", "named by its whole URL"),
        (Path("postgresql://host/db"), "named by its whole URL"),
    ],
)
def test_what_is_neither_is_refused(given, message):
    with pytest.raises(ConfigurationError, match=message):
        store_location(given)
