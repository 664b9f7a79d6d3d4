"""``metajudge store copy``, and a PostgreSQL URL wherever a store's path can stand."""

import json
from importlib.resources import files
from urllib.parse import urlsplit

import pytest

from tests.doubles.postgres_urls import stores_on_postgres

SAMPLE = str(files("metajudge.benchmarks.sample") / "judgments.jsonl")


@pytest.fixture
def url():
    with stores_on_postgres() as make:
        yield make()


def free_evidence(metajudge, *more):
    """Vets the sample without a model."""
    return metajudge("vet", SAMPLE, "--json", *more)


@pytest.mark.slow
def test_a_postgresql_url_is_taken_from_option_and_environment_and_never_printed_whole(metajudge, url):
    password = urlsplit(url).password
    first = free_evidence(metajudge, "--store", url)
    metajudge.env["METAJUDGE_STORE"] = url
    again = free_evidence(metajudge)
    listed, _ = metajudge.json("runs")
    assert listed["runs"], first.stderr + again.stderr
    shown = metajudge("show", listed["runs"][0]["run_id"])
    said = "".join(one.stdout + one.stderr for one in (first, again, shown))
    assert first.returncode == again.returncode == 0, said
    assert json.loads(again.stdout)["judgments"] > 90
    assert [run["command"] for run in listed["runs"]] == ["vet", "vet"]
    assert ":***@" in said
    assert password not in said
    written = {path.name for path in metajudge.folder.iterdir()}
    assert written <= {"config"}, "something was written beside"


@pytest.mark.slow
def test_copy_there_and_back(metajudge, url):
    free_evidence(metajudge, "--store", "here.duckdb")
    there = metajudge("store", "copy", "here.duckdb", url)
    assert there.returncode == 0, there.stderr
    assert "contains all of here.duckdb" in there.stdout
    assert urlsplit(url).password not in there.stdout + there.stderr
    back, code = metajudge.json("store", "copy", url, "back.duckdb")
    assert code == 0
    rows = {one["table"]: (one["rows"], one["added"]) for one in back["tables"]}
    assert rows["assessments"][0] == rows["assessments"][1] > 90
    again, _ = metajudge.json("store", "copy", url, "back.duckdb")
    assert all(one["added"] == 0 for one in again["tables"])
    one, _ = metajudge.json("runs", "--store", "here.duckdb")
    other, _ = metajudge.json("runs", "--store", "back.duckdb")
    assert one == other


@pytest.mark.slow
def test_export_reads_a_postgresql_store(metajudge, url):
    metajudge("vet", SAMPLE, "--store", url, "--strategy", "signals")
    done = metajudge("export", "preferences", "--store", url, "--out", "pairs", "--all")
    assert done.returncode in (0, 1), done.stderr
    card = (metajudge.folder / "pairs" / "README.md").read_text()
    assert urlsplit(url).password not in card


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("store", "copy", "nowhere.duckdb", "there.duckdb"), "nowhere.duckdb: no such store to copy from", 2),
        (("store", "copy", "a.duckdb", "a.duckdb"), "cannot be copied into itself", 2),
        (("runs", "--store", "mysql://u:s3cret@h/db"), "not a URL with mysql://", 2),
        (
            ("runs", "--store", "postgresql://u:s3cret@127.0.0.1:1/db"),
            "cannot be reached",
            1,
        ),  # the server may answer later
        (("runs", "--store", "postgresql://u:s3cret/x@h/db"), "is not valid", 2),
    ],
)
def test_a_store_that_cannot_be_used_is_said_in_a_sentence_without_the_password(metajudge, arguments, said, code):
    done = metajudge(*arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
