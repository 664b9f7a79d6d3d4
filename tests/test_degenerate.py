"""Every command and page answers input in which nothing varies: a card, or a sentence on what is missing."""

import contextlib
import re

import pytest

from metajudge.audit.report import CHECKS, audit
from metajudge.types import Judgment
from tests.api.conftest import app_module, running
from tests.doubles.degenerate import KINDS, SHAPES, records, written
from tests.stored.commands import run

ANSWERED = {
    "audit x.jsonl --json": SHAPES,
    "audit x.jsonl --out audit": SHAPES,
    "inspect x.jsonl": SHAPES,
    "import x.jsonl --yes": SHAPES,
    "vet x.jsonl --store s.db --policy verdict_score --review-sample 1 --out v.jsonl --report v.html": SHAPES,
    "vet x.jsonl --calibration shipped --json": SHAPES,
    "runs --store s.db": SHAPES,
    "review list --store s.db": SHAPES,
    "feedback report --store s.db": SHAPES,
    "diff v.jsonl v.jsonl --labels x.jsonl": {"constant", "identical", "ties"},
    "bench x.jsonl --report b.html": {"constant", "constant_wrong", "identical", "single"},
    "calibrate fit --data x.jsonl --out c.json": (),
    "export preferences --store s.db --out pairs": (),
    "export preferences --judgments x.jsonl --assessments v.jsonl --all --out all": (),
    "monitor --store s.db": (),
    "rank x.jsonl": (),
    "peers --rankings x.jsonl": (),
}
"""Command -> the shapes for which it has an answer; for others it may say what is missing."""
NAMED = ("dashboard", "assessments", "reviews", "runs", "jobs", "monitor", "outcomes", "policies", "clash")
PAGES = [f"/{name}" for name in ("", *NAMED, "audit-log", "proposals")]


def no_fault(text):
    return not re.search(r"Traceback|nexpected error|an error of metajudge", text)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_command_answers_or_says_what_is_missing(tmp_path, monkeypatch, kind, shape):
    written(tmp_path / "x.jsonl", records(kind, shape))
    monkeypatch.delenv("METAJUDGE_STORE", raising=False)
    with contextlib.chdir(tmp_path):
        for command, shapes in ANSWERED.items():
            done = run(*command.split())
            assert no_fault(done.stdout + done.stderr), (command, done.stderr)
            assert done.code == 0 or shape not in shapes, (command, done.stderr)
            assert done.code in (0, 1, 2), command
            assert done.code == 0 or done.stderr.strip() or done.stdout.strip(), command


@pytest.mark.parametrize("shape", SHAPES)
def test_the_service_audits_it_and_shows_its_pages(tmp_path, shape):
    rows = records("pairwise", shape)
    with running(app_module.ServiceOptions(store=tmp_path / "s.db")) as client:
        found = client.post("/v1/audit", json={"judgments": rows})
        assert (found.status_code, no_fault(found.text)) == (200, True)
        lines = "".join(f"{written(tmp_path / 'one', [row]).read_text()}" for row in rows)
        vetted = client.post("/v1/vet/batch", content=lines, headers={"content-type": "application/x-ndjson"})
        assert vetted.status_code == 202, vetted.text
        for path in PAGES:
            assert client.get(path, follow_redirects=True).status_code == 200, path


@pytest.mark.parametrize("text", ["", "id,question,response_a,response_b,judge,verdict\n"])
def test_a_file_without_a_record_is_named(tmp_path, text):
    name = "empty.csv"
    (tmp_path / name).write_text(text)
    with contextlib.chdir(tmp_path):
        for command in ("audit", "vet", "bench", "inspect"):
            done = run(*command.split(), name)
            assert done.code == 2, command
            assert f"{name} is empty" in done.stderr, done.stderr


def audited(shape, kind="pairwise"):
    return audit([Judgment.model_validate(row) for row in records(kind, shape)])


def test_cards_of_a_judge_that_never_varies_and_of_a_file_without_a_verdict():
    for judge in audited("constant").judges:
        assert (judge.accuracy, judge.figures["accuracy"].n, judge.kappa) == (0.5, 60, 0.0)
        copy = next(check for check in judge.checks if check.name == "copy")
        assert (copy.status, copy.estimate, copy.p_value) == ("not_estimable", None, None)
        assert copy.sentence.startswith("No estimate: for every label, it and ")
    assert {judge.accuracy for judge in audited("constant_wrong").judges} == {0.0}
    found = audited("missing")
    assert (found.judges, found.holdings.judgments, found.holdings.no_verdict) == ((), 120, 120)
    assert "Judges without any verdict have no card: a, b." in found.notices
    assert not any(one.possible for one in found.supports)


def test_a_part_that_fails_is_an_error_in_its_place_and_ends_nothing(monkeypatch):
    def fails(_view):
        raise ZeroDivisionError("by zero")

    whole = audited("identical").judges[0]
    monkeypatch.setitem(CHECKS, "copy", fails)
    monkeypatch.setattr("metajudge.audit.report.kappa", fails)
    found = audited("identical")
    judge = found.judges[0]
    copy = next(check for check in judge.checks if check.name == "copy")
    assert (copy.status, copy.estimate) == ("error", None)
    assert re.fullmatch(
        r"Not computed: an error of metajudge \(ZeroDivisionError: by zero, at .*:\d+\); .*", copy.sentence
    )
    assert (judge.kappa, judge.accuracy) == (None, whole.accuracy)
    assert [text.split(",")[0] for text in found.notices if "Not computed" in text] == [
        f"Not computed: fails of {name}: an error of metajudge (ZeroDivisionError: by zero" for name in "abc"
    ]
