"""``metajudge audit``: a newcomer's files to a card, the shipped sample, output files, exit codes, and what is refused."""

import csv
import io
import json
import shlex
import sys
from types import SimpleNamespace

import jsonschema
import pytest

from metajudge.auditing import audited_by, demo_judgments
from metajudge.cli import main
from metajudge.cli.audit import CHECKS
from metajudge.report.audit.published import AuditDocument
from metajudge.types import Judgment
from tests.doubles.judgments import judgment
from tests.test_sample import SAMPLE

FOLDER = SAMPLE.parent / "audit"
PLANTED = {
    "osprey-70b": ("position",),
    "kestrel-32b": ("length",),
    "heron-70b": ("own_family",),
    "merlin-xl": ("drift",),
    "sparrow-1b": ("weaker_than_peers",),
    "plover-2": ("copy",),
    "siskin-3": ("copy",),
}
"""The shipped sample's judges -> the checks that must find something."""
UNBIASED = ("wren-9b", "robin-4")
"""Judges in whose cards nothing may be found."""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command, in this process and in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("METAJUDGE_STORE", raising=False)

    def _run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["metajudge", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=out, stderr=err)

    return _run


@pytest.fixture(scope="module")
def demo():
    """The audit of the shipped sample."""
    return audited_by(demo_judgments()).found


GRADES = "item_id,question,response,judge,grade\n" + "".join(
    f"q{n},What is {n} + {n}?,{2 * n}.,{judge},{1 + (n + shift) % 5}\n"
    for n in range(20)
    for judge, shift in (("owl", 0), ("wren", n % 2))
)
PEOPLE = "item_id,annotator,grade\n" + "".join(f"q{n},ada,{1 + n % 5}\n" for n in range(15))


@pytest.fixture
def files(tmp_path):
    """A table of grades and a table of people's labels."""
    (tmp_path / "my grades.csv").write_text(GRADES)
    (tmp_path / "people.csv").write_text(PEOPLE)


def write(path, *judgments):
    path.write_text("".join(one.model_dump_json() + "\n" for one in judgments))
    return path.name


class TestTheDemo:
    def test_every_planted_bias_is_found_and_nothing_else(self, demo):
        found = {card.judge: tuple(one.name for one in card.checks if one.status == "finding") for card in demo.judges}
        assert found == {**PLANTED, **dict.fromkeys(UNBIASED, ())}

    def test_the_jury_drops_one_of_two_copies_and_keeps_the_unbiased(self, demo):
        (jury,) = demo.juries
        dropped = {judge for judge, _ in jury.drop}
        assert len(dropped & {"plover-2", "siskin-3"}) == 1
        assert not dropped & set(UNBIASED)

    def test_the_corrected_rate_is_far_from_the_naive_one_where_a_judge_favours_its_family(self, demo):
        heron = next(card for card in demo.judges if card.judge == "heron-70b")
        rate = next(one for one in heron.rates if one.of == "win rate of heron-8b")
        assert rate.naive.estimate - rate.ppi.estimate > 0.1
        assert abs(rate.labels_only.estimate - rate.ppi.estimate) < 0.05

    @pytest.mark.slow
    def test_it_runs_without_a_key_a_network_or_a_file(self, run, tmp_path):
        done = run("audit", "--demo")
        assert (done.returncode, done.stderr) == (0, "")
        assert "5,760 verdicts of 9 judges" in done.stdout
        assert "Your own verdicts: metajudge audit FILE" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert list(tmp_path.iterdir()) == []


class TestANewcomer:
    def test_a_csv_of_grades_and_one_of_labels_without_a_mapping(self, run, files, tmp_path):
        done = run("audit", "my grades.csv", "--labels", "people.csv")
        assert done.returncode == 0, done.stderr
        assert "40 verdicts of 2 judges on 20 questions, 15 items with a label" in done.stdout
        assert "The columns are guessed: --map" in done.stdout
        assert "owl                            20 100.0 (" in done.stdout
        assert sorted(one.name for one in tmp_path.iterdir()) == ["my grades.csv", "people.csv"]

    def test_the_next_commands_name_the_files_and_how_they_are_read(self, run, files):
        done = run("audit", "my grades.csv", "--labels", "people.csv")
        vet, *_ = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("metajudge vet ")]
        words = shlex.split(vet)
        assert words[2] == "my grades.csv"
        assert run(*words[1:], "--dry-run").returncode == 0

    def test_without_labels_it_says_what_labels_would_add(self, run, files):
        done = run("audit", "my grades.csv")
        assert done.returncode == 0
        assert "no   agreement with people" in done.stdout
        assert "Add labels: no verdict has a label" in done.stdout
        assert "metajudge audit 'my grades.csv' --labels labels.csv" in done.stdout

    def test_the_items_to_label_are_written_and_read_back_once_labelled(self, run, files, tmp_path):
        done = run("audit", "my grades.csv", "--out", "out")
        assert "--labels out/to-label.csv" in done.stdout
        rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "to-label.csv").read_text())))
        assert len(rows) == 20
        for row in rows:
            row["label"], row["annotator"] = "3", "ada"
        with (tmp_path / "out" / "to-label.csv").open("w") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        done = run("audit", "my grades.csv", "--labels", "out/to-label.csv", "--out", "out")
        assert "20 items with a label" in done.stdout
        assert ",3,ada," in (tmp_path / "out" / "to-label.csv").read_text()  # labels are kept


def test_the_transcript_of_the_documentation_is_what_is_printed(run, tmp_path):
    page = (SAMPLE.parents[2] / "docs" / "audit.md").read_text()
    shown = page.split("<!-- transcript -->\n```text\n")[1].split("```")[0].splitlines()
    copied = tmp_path / "benchmarks" / "sample" / "audit"
    copied.mkdir(parents=True)
    for name in ("grades.csv", "people.csv"):
        (copied / name).write_text((FOLDER / name).read_text())
    grades, people = (f"benchmarks/sample/audit/{name}" for name in ("grades.csv", "people.csv"))
    printed = iter(run("audit", grades, "--labels", people, "--out", "audit").stdout.splitlines())
    assert len(shown) > 80
    assert [line for line in shown if line != "..." and line not in printed] == []


class TestOutputs:
    def test_the_folder_holds_page_card_and_json(self, run, files, tmp_path):
        done = run("audit", "my grades.csv", "--labels", "people.csv", "--out", "new/folder")
        folder = tmp_path / "new" / "folder"
        assert "Written: new/folder/report.html" in done.stdout
        assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
        assert (folder / "card.md").read_text().startswith("# Judge audit\n")
        found = AuditDocument.model_validate_json((folder / "audit.json").read_text())
        assert [one.judge for one in found.judges] == ["owl", "wren"]
        assert found.inputs == ("my grades.csv",)
        joined = [Judgment.model_validate_json(line) for line in (folder / "judgments.jsonl").read_text().splitlines()]
        assert sum(one.item.truth is not None for one in joined) == 30

    def test_json_is_the_same_document_and_fits_the_published_schema(self, run, files):
        found = json.loads(run("audit", "my grades.csv", "--labels", "people.csv", "--json").stdout)
        schema = json.loads(run("schema", "audit").stdout)
        jsonschema.validate(found, schema)
        assert found["judges"][0]["accuracy"] == 1.0
        assert {"name", "status", "estimate", "interval", "smallest_effect"} <= found["judges"][0]["checks"][0].keys()

    def test_what_counts_as_right_can_be_declared(self, run, files):
        found = json.loads(
            run("audit", "my grades.csv", "--labels", "people.csv", "--right", "within:1", "--json").stdout
        )
        assert found["holdings"]["kinds"]["grade"]["right"] == "within:1"
        assert found["judges"][1]["accuracy"] > 0.8

    def test_an_input_in_the_folder_is_not_replaced(self, run, files, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "audit.json").write_text("[]")
        done = run("audit", "out/audit.json", "--out", "out")
        assert (done.returncode, "out/audit.json" in done.stderr) == (2, True)
        assert (tmp_path / "out" / "audit.json").read_text() == "[]"

    def test_a_file_in_place_of_the_folder_is_refused(self, run, files):
        done = run("audit", "my grades.csv", "--out", "people.csv")
        assert done.returncode == 2
        assert "people.csv" in done.stderr


class TestExitCodes:
    def biased(self, tmp_path):
        """A judge that prefers what is shown first, in 40 pairs."""
        pairs = [
            judgment(
                id=f"{n}/{order}",
                item_id=f"q{n}",
                question=f"{n}?",
                verdict=f"{order[0]}>{order[1]}",
                order=list(order),
            )
            for n in range(40)
            for order in ("AB", "BA")
        ]
        return write(tmp_path / "pairs.jsonl", *pairs)

    @pytest.mark.parametrize(("checks", "code"), [((), 0), (("position",), 5), (("any",), 5), (("length", "drift"), 0)])
    def test_a_finding_fails_only_if_its_check_is_named(self, run, tmp_path, checks, code):
        done = run("audit", self.biased(tmp_path), *(word for one in checks for word in ("--fail-on", one)))
        assert done.returncode == code
        assert ("--fail-on: owl, position:" in done.stderr) == (code == 5)

    def test_an_unknown_check_is_refused_before_anything_is_read(self, run):
        done = run("audit", "no-such-file.csv", "--fail-on", "possition")
        assert done.returncode == 2
        assert all(name in done.stderr for name in CHECKS)


class TestRefusals:
    def test_nothing_to_audit(self, run):
        for words in (("audit",), ("audit", "--demo", "a.csv")):
            done = run(*words)
            assert (done.returncode, "--demo" in done.stderr) == (2, True)

    def test_an_empty_file(self, run, tmp_path):
        (tmp_path / "empty.jsonl").write_text("")
        done = run("audit", "empty.jsonl")
        assert (done.returncode, "empty.jsonl" in done.stderr) == (2, True)

    def test_judgments_without_any_verdict(self, run, tmp_path):
        name = write(tmp_path / "none.jsonl", judgment(verdict=None, no_verdict="timed out"))
        done = run("audit", name)
        assert done.returncode == 2
        assert "none of the 1 judgments has a verdict (the first one: timed out)" in done.stderr

    def test_labels_that_match_nothing(self, run, files, tmp_path):
        (tmp_path / "others.csv").write_text("item_id,grade\nx1,3\nx2,4\n")
        done = run("audit", "my grades.csv", "--labels", "others.csv")
        assert done.returncode == 2
        assert "no label matches a judgment" in done.stderr
        assert "item_id='x1'" in done.stderr

    def test_one_judge_without_labels_is_audited_as_far_as_that_goes(self, run, tmp_path):
        name = write(tmp_path / "one.jsonl", *(judgment(id=f"j{n}", item_id=f"q{n}", label=None) for n in range(12)))
        done = run("audit", name)
        assert done.returncode == 0
        assert "no verdict has a label" in done.stdout
        assert "no   agreement with the other judges" in done.stdout

    def test_a_rule_that_is_none(self, run, files):
        done = run("audit", "my grades.csv", "--right", "close")
        assert (done.returncode, "within:T" in done.stderr) == (2, True)

    def test_bad_lines_are_counted_and_strict_refuses_them(self, run, tmp_path):
        write(tmp_path / "some.jsonl", *(judgment(id=f"j{n}", item_id=f"q{n}") for n in range(5)))
        with (tmp_path / "some.jsonl").open("a") as file:
            file.write("{broken\n")
        done = run("audit", "some.jsonl")
        assert (done.returncode, "1 record could not be read" in done.stdout) == (0, True)
        assert run("audit", "some.jsonl", "--strict").returncode == 1
