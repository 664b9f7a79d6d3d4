"""``metajudge store``, ``monitor``, ``outcomes`` and the systems that verdicts come from."""

import gzip
import json
import os
import random
import tarfile
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from metajudge.reading import open_judgments, write_jsonl
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.promised import decide, guaranteed, vetted
from tests.doubles.verdict_systems import MLflowServer
from tests.doubles.webhook_receiver import Receiver
from tests.reviewables.planted import in_store

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


@pytest.mark.slow
class TestCommand:
    def test_a_store_whose_promise_breaks_is_recorded_and_sent_and_vet_stamps_no_more(self, metajudge):
        calibration = guaranteed()
        fresh, later = crowd(40, seed=5, prefix="new"), crowd(20, seed=6, prefix="later")
        (metajudge.folder / "cal.json").write_bytes(calibration.to_json())
        lines = [one.model_dump_json() for one in later]
        (metajudge.folder / "later.jsonl").write_text("\n".join(lines))

        async def fill(store):
            await vetted(store, calibration, fresh)
            await decide(store, lambda review: False)

        in_store(metajudge.folder / "s.duckdb", fill)
        metajudge.env["METAJUDGE_WEBHOOK_SECRET"] = "a secret shared with the receiver"
        with Receiver(204) as receiver:
            done = metajudge("monitor", "--store", "s.duckdb", "--webhook", receiver.url)
        assert done.returncode == 5, done.stderr
        assert "BROKEN" in done.stdout
        assert "Recorded: promise" in done.stdout
        assert len(receiver.requests) == 1
        done = metajudge(
            *("vet", "later.jsonl", "--store", "s.duckdb", "--calibration", "cal.json", "--strategy", "signals")
        )
        assert "120 came after monitoring had found the promise broken" in done.stdout
        assert "The guarantee covers 0 of 120 judgments." in done.stdout


DATA = os.environ.get("METAJUDGE_DATA")
GOOD, WORSE = "openrouter/z-ai/glm-4.7", "claude-3-haiku-20240307"


@pytest.fixture
def recorded(metajudge):
    """Recorded verdicts: a calibration with a promise, and later questions judged by the same judge and a worse one."""
    records = list(open_judgments([f"{DATA}/judgebench"]).all())
    records = [one for one in records if any("claude" in name for name in (one.item.models or {}).values())]
    questions = sorted({one.item.question for one in records})
    random.Random(2).shuffle(questions)

    def write(name, judge, part):
        chosen = [one for one in records if one.judge == judge and one.item.question in set(part)]
        write_jsonl(metajudge.folder / name, [one.model_copy(update={"judge": GOOD}) for one in chosen])

    write("fit.jsonl", GOOD, questions[:40])
    write("labelled.jsonl", GOOD, questions[40:115])
    write("same.jsonl", GOOD, questions[115:])
    write("worse.jsonl", WORSE, questions[115:])
    for step in (
        ("fit", "--data", "fit.jsonl", "--share", "1", "--signals", "order,strength", "--out", "cal.json"),
        (
            *("threshold", "--calibration", "cal.json", "--data", "labelled.jsonl"),
            *("--target", "0.75", "--labels-drawn", "random"),
        ),
    ):
        done = metajudge("calibrate", *step)
        assert done.returncode == 0, done.stdout + done.stderr
    return metajudge


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data")
@pytest.mark.parametrize(("file", "code"), [("same.jsonl", 0), ("worse.jsonl", 5)])
def test_on_recorded_verdicts_the_alarm_tells_the_same_judge_from_a_worse_one(recorded, file, code):
    done = recorded(
        *("vet", file, "--store", "s.duckdb", "--calibration", "cal.json", "--strategy", "signals"),
        *("--policy", "verdict", "--review-sample", "1"),
    )
    assert done.returncode in (0, 1), done.stderr
    in_store(recorded.folder / "s.duckdb", lambda store: decide(store, lambda review: review.truth))
    found = recorded("monitor", "--store", "s.duckdb")
    assert found.returncode == code, found.stdout + found.stderr
    assert ("BROKEN" in found.stdout) == (code == 5)
    assert "with probabilities of all kept:" in found.stdout


@pytest.mark.slow
def test_vet_sends_what_it_escalates_and_reviewing_its_final_outcome(metajudge):
    (metajudge.folder / "j.jsonl").write_text(judgment("j1").model_dump_json() + "\n")
    with LLMServer(answer=score_answer(5)) as server, Receiver(204) as receiver:
        metajudge.env["METAJUDGE_WEBHOOK_SECRET"] = "a secret of many characters"
        agent = ("--agent", f"a=openai:m@{server.url}", "--rubric", "baseline")
        done = metajudge("vet", "j.jsonl", *agent, "--policy", "verdict_score", "--webhook", receiver.url)
        assert "Webhook: 1 delivered, 0 before, 0 failed." in done.stdout, done.stderr
        metajudge.env["METAJUDGE_WEBHOOK"] = receiver.url
        sheet, _ = metajudge.json("outcomes", "list")
        review, _ = metajudge.json("review", "list")
        name = review["reviews"][0]["review"]["review_id"]
        metajudge("review", "claim", name, "--reviewer", "ada")
        metajudge("review", "decide", name, "--reviewer", "ada", "--outcome", "approve")
        metajudge("review", "amend", name, "--reviewer", "ada", "--outcome", "reject", "--reason", "looked again")
    sent = [json.loads(body) for *_, body in receiver.requests]
    assert [one["type"] for one in sent] == ["outcome.escalated", "outcome.approved", "outcome.rejected"]
    assert [one["data"]["by"] for one in sent] == ["machine", "people", "people"]
    assert sheet["outcomes"][0]["event_id"] == sent[0]["data"]["event_id"] == sent[1]["data"]["follows"]
    assert sent[2]["data"]["amends"] == sent[1]["data"]["event_id"]


@pytest.mark.slow
def test_what_is_not_taken_is_told_recorded_and_an_exit_code(metajudge):
    with MLflowServer() as server:
        at = ("--url", server.url, "--per-second", "1000")
        metajudge("pull", "mlflow", *at, "--project", "interop", "--out", "in")
        metajudge("vet", "in", "--out", "a.jsonl")
        del server.traces["tr-1"]
        done = metajudge("push", "mlflow", "a.jsonl", *at)
    assert done.returncode == 1
    assert "2 created" in done.stdout
    assert "1 failed" in done.stdout
    assert done.stderr.startswith("  a-1: ")
    ledger = [json.loads(line) for line in (metajudge.folder / "a.jsonl.mlflow.pushed.jsonl").read_text().splitlines()]
    assert [one.get("wrote") for one in ledger] == ["created", None, "created"]
