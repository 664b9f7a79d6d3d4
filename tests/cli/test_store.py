"""``metajudge store copy``, and a PostgreSQL URL wherever a store's path can stand."""

import gzip
import json
import tarfile
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.doubles.postgres_urls import stores_on_postgres

SAMPLE = str(files("metajudge.benchmarks.sample") / "judgments.jsonl")


@pytest.fixture
def url():
    with stores_on_postgres() as make:
        yield make()


TESTS = Path(__file__).parents[1]


@pytest.fixture
def old(metajudge):
    """The default store of version 0.2, with what lies beside it."""
    with tarfile.open(TESTS / "store" / "data" / "store-0.2.tar.gz") as archive:
        archive.extractall(metajudge.folder, filter="data")
    for path in metajudge.folder.glob("store.duckdb*"):
        path.rename(path.with_name(path.name.replace("store.", "metajudge.", 1)))
    return metajudge.folder / "metajudge.duckdb"


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
def test_export_reads_a_postgresql_store(metajudge, url):
    metajudge("vet", SAMPLE, "--store", url, "--strategy", "signals")
    done = metajudge("export", "preferences", "--store", url, "--out", "pairs", "--all")
    assert done.returncode in (0, 1), done.stderr
    card = (metajudge.folder / "pairs" / "README.md").read_text()
    assert urlsplit(url).password not in card


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("store", "copy", "nowhere.db", "there.db"), "nowhere.db: no such store to copy from", 2),
        (("store", "copy", "a.db", "a.db"), "cannot be copied into itself", 2),
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


def test_where_the_default_store_is_one_of_version_02_each_command_names_the_line_that_copies_it(metajudge, old):
    line = "metajudge store copy metajudge.duckdb metajudge.db"
    for arguments in (("runs",), ("show", "judgment-0"), ("vet", SAMPLE)):
        done = metajudge(*arguments)
        assert (done.returncode, line in done.stderr, "0.2" in done.stderr) == (2, True, True), done.stderr
    checked, code = metajudge.json("doctor")
    assert code == 1
    assert [line in one["said"] for one in checked["checks"] if one["name"] == "store"] == [True]
    done = metajudge(*line.split()[1:])
    assert done.returncode == 0, done.stderr
    assert "metajudge.db contains all of metajudge.duckdb" in done.stdout
    found, code = metajudge.json("runs")
    assert (code, len(found["runs"])) == (0, 5)
    assert old.exists()
    shown, code = metajudge.json("show", "judgment-0")
    assert (code, len(shown["assessments"])) == (0, 1)


def test_a_command_that_names_such_a_file_names_the_line_too_and_it_can_keep_its_name(metajudge):
    stored = TESTS / "stored" / "data" / "store.db.gz"
    (metajudge.folder / "team.db").write_bytes(gzip.decompress(stored.read_bytes()))
    done = metajudge("runs", "--store", "team.db")
    place = metajudge.folder.resolve()
    assert f"metajudge store copy {place / 'team.db'} {place / 'team-new.db'} --rename" in done.stderr
    assert done.returncode == 2
    found, code = metajudge.json("store", "copy", "team.db", "team-new.db", "--rename")
    assert (code, found["renamed"]) == (0, True)
    rows = {one["table"]: (one["rows"], one["added"], len(one["digest"])) for one in found["tables"]}
    assert (rows["calls"], rows["event_queue"][0]) == ((182, 182, 64), 18)
    assert {path.name for path in metajudge.folder.glob("team*")} == {"team.db", "team.db.old"}
    found, code = metajudge.json("runs", "--store", "team.db")
    assert (code, len(found["runs"])) == (0, 13)
    again = metajudge("store", "copy", "team.db.old", "team.db", "--rename")
    assert (again.returncode, "team.db.old.old" in again.stdout) == (0, True), again.stderr
