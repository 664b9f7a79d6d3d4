"""``metajudge audit``: the shipped sample, the commands it proposes, files that stay as they are, and what is refused."""

import shlex

import pytest

from metajudge.auditing import audited_by, demo_judgments
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
def run(in_process):
    return in_process


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


class TestANewcomer:
    def test_the_next_commands_name_the_files_and_how_they_are_read(self, run, files):
        done = run("audit", "my grades.csv", "--labels", "people.csv")
        vet, *_ = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("metajudge vet ")]
        words = shlex.split(vet)
        assert words[2] == "my grades.csv"
        assert run(*words[1:], "--dry-run").returncode == 0


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


class TestRefusals:
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
