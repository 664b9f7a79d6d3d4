"""The first lines of `vet FILE`: what to keep, what to read first, and the labels of the file itself."""

import json
import random

import numpy as np
import pytest

from metajudge.vetting.picture import Doubtful, Shown
from tests.doubles.degenerate import written
from tests.stored.commands import run

AGREEING = 0.95
"""Share right of the verdicts that stay the same in both orders; of others one half."""


def records(questions=60, labelled=60, orders=("AB", "BA"), judges=("owl",), seed=0):
    """Pairs of judges: two in three say the same in both orders, and are mostly right."""
    rng = random.Random(seed)
    found = []
    for number in range(questions):
        truth, same = rng.choice("AB"), rng.random() < 2 / 3
        for judge in judges:
            right = rng.random() < (AGREEING if same else 0.5)
            says = truth if right else "AB".replace(truth, "")
            for at, order in enumerate(orders):
                winner = says if same or at == 0 else "AB".replace(says, "")
                item = {"id": f"i{number}", "question": f"Question {number}?", "responses": {"A": "one", "B": "two"}}
                if number < labelled:
                    item["label"] = f"{truth}>{'AB'.replace(truth, '')}"
                verdict = f"{winner}>{'AB'.replace(winner, '')}"
                name = f"{number}-{judge}-{order}"
                found.append({"id": name, "judge": judge, "verdict": verdict, "order": list(order), "item": item})
    return found


@pytest.fixture
def vetted(tmp_path, monkeypatch):
    """Runs `vet` on records; gives the printed lines after what was read, and the same as data."""
    monkeypatch.chdir(tmp_path)

    def run_on(given, *options):
        written(tmp_path / "in.jsonl", given)
        text = run("vet", "in.jsonl", *options)
        data = run("vet", "in.jsonl", "--json", "--out", "out.jsonl", *options)
        assert (text.code, data.code) == (0, 0), text.stderr
        out = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        lines = text.stdout.splitlines()
        found, fitted = data.json()["found"], data.json()["fitted"]
        assert [*lines[:3], *lines[4 : lines.index("")]] == [*found, *filter(None, [fitted])]
        assert lines[3].startswith(f"for example {given[0]['id']}: {given[0]['judge']} says {given[0]['verdict']}")
        return lines[lines.index("") + 1 :], data.json(), out

    return run_on


def right_among(given, kept):
    """Right ones of the kept verdicts that have a label, and how many these are."""
    said = [one["verdict"] == one["item"]["label"] for one in given if one["id"] in kept and "label" in one["item"]]
    return sum(said), len(said)


@pytest.mark.parametrize(("questions", "labelled"), [(60, 60), (150, 50), (140, 140)])
def test_labels_of_the_file_are_used_by_themselves(vetted, tmp_path, questions, labelled):
    given = records(questions, labelled)
    lines, data, out = vetted(given)
    kept = {one["judgment_id"] for one in out if one["kept"]}
    right, compared = right_among(given, kept)
    assert lines[0].startswith(f"keep {len(kept)} of {len(given)}: {100 * right / compared:.0f} % right (")
    said = {one["id"]: one["verdict"] for one in given}
    assert all(said[one[:-2] + "AB"] == said[one[:-2] + "BA"] for one in kept), "the same in both orders"
    assert len(kept) > (questions if labelled > 100 else 10)
    assert {one["decided_by"] for one in out if one["probability"] is not None} == {"probability"}
    assert all(one["probability"] >= 0.9 for one in out if one["kept"])
    seen = {one["judgment_id"] for one in out if "seen_in_fit" in one["probability_marks"]}
    assert seen == {one["id"] for one in given if "label" in one["item"]}, "labelled rows have their out-of-fold P"
    assert f"{labelled} labelled questions" in data["fitted"]
    assert any(line.startswith(f"what limits you: {labelled} labelled questions") for line in lines)
    assert (tmp_path / "in.vet.html").read_text().count("<table") > 2


def test_without_labels_agreement_of_both_orders_keeps_and_the_rest_is_ranked(vetted):
    given = records(labelled=0)
    lines, data, out = vetted(given)
    said = {one["id"]: one["verdict"] for one in given}
    same = {one for one in said if said[one[:-2] + "AB"] == said[one[:-2] + "BA"]}
    assert {one["judgment_id"] for one in out if one["kept"]} == same
    assert {one["do"]["action"] for one in out} == {"keep", "ask"}, "nothing is discarded"
    assert {one["probability"] for one in out} == {None}
    assert lines[0] == (
        f"keep {len(same)} of {len(given)} by agreement: without labels it is not known how many of them are right"
    )
    assert "%" not in lines[0]
    first = [one["judgment_id"] for one in data["read_first"]]
    assert not same & set(first)
    assert lines[1] == f"read these {len(first)} first: the most doubtful of those not kept"


def test_one_order_without_labels_keeps_nothing_ranks_all_and_says_what_would_decide(vetted):
    given = records(labelled=0, orders=("AB",))
    given[3]["verdict"] = "A=B"
    given[4]["rationale"] = f"My final verdict is: [[{'A>B' if given[4]['verdict'] == 'B>A' else 'B>A'}]]"
    lines, data, out = vetted(given)
    assert {one["do"]["action"] for one in out} == {"ask"}
    assert lines[0].startswith("keep 0 of 60: one judge in one order says little about itself; ")
    assert "responses swapped" in lines[0]
    first = [one["judgment_id"] for one in data["read_first"]]
    assert first[:2] == [given[4]["id"], given[3]["id"]], "a contradicting rationale, then a tie"
    assert len(first) == 40


def test_a_cut_that_keeps_few_is_told_with_what_lower_ones_keep(vetted):
    rng = random.Random(1)
    given = records(80, 80, orders=("AB",))
    for one in given:
        one["verdict"] = (
            one["item"]["label"] if rng.random() < 0.84 else ">".join(one["item"]["label"].split(">")[::-1])
        )
    lines, _, out = vetted(given)
    p = [one["probability"] for one in out if one["probability"] is not None]
    assert sum(value >= 0.9 for value in p) < 8
    expected = [f"from P {cut} on {sum(value >= cut for value in p)}" for cut in (0.8, 0.7)]
    assert all(one in lines[1] for one in expected), lines[1]
    typed, _, out = vetted(given, "--cut", "0.7")
    assert typed[0].startswith(f"keep {sum(value >= 0.7 for value in p)} of 80: ")
    assert not any(line.startswith("below P") for line in typed)


def test_labels_can_be_left_unused_and_a_cut_needs_some(vetted, tmp_path):
    lines, data, out = vetted(records(), "--calibration", "none")
    assert (data["fitted"], data["calibrated"]) == (None, False)
    assert {one["probability"] for one in out} == {None}
    assert lines[0].startswith("keep ")
    written(tmp_path / "in.jsonl", records(labelled=0))
    refused = run("vet", "in.jsonl", "--cut", "0.8")
    assert refused.code == 2
    assert "without a calibration there is none" in refused.stderr


def test_running_again_is_no_other_answer_and_the_page_of_another_program_stays(vetted, tmp_path):
    given = records()
    first, _, _ = vetted(given)
    again = run("vet", "in.jsonl").stdout.splitlines()
    again = again[again.index("") + 1 :]
    assert again[: first.index("")] == first[: first.index("")]
    page = tmp_path / "in.vet.html"
    page.write_text("mine")
    assert "in.vet.html is another file" in run("vet", "in.jsonl").stderr
    assert page.read_text() == "mine"
    page.unlink()
    page.mkdir()
    done = run("vet", "in.jsonl")
    assert (done.code, "in.vet.html is another file" in done.stderr) == (0, True)
    assert "on the page" not in done.stdout


@pytest.mark.parametrize("key", ["id", "item_id", "pair"])
def test_a_table_with_usual_names_is_read_without_a_question(tmp_path, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    rows = [f"{n},Question {n}?,one {n},two {n},owl,{'A' if n % 3 else 'tie'}" for n in range(40)]
    table = "\n".join([f"{key},question,response_a,response_b,judge,verdict", *rows])
    (tmp_path / "in.csv").write_text(table)
    done = run("vet", "in.csv", "--json")
    assert done.code == 0, done.stderr
    assert (done.json()["judgments"], done.json()["found"][0]) == (40, "40 pairs by owl on 40 questions")
    assert "in.csv is read by the names of its columns: --map verdict=verdict" in done.stderr
    (tmp_path / "in.csv").write_text(table.replace(",A\n", ",1\n").replace("tie", "2"))
    refused = run("vet", "in.csv")
    assert (refused.code, "`metajudge import in.csv` asks" in refused.stderr) == (2, True), refused.stdout


def test_on_a_terminal_what_a_table_leaves_open_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"Question {n}?,one {n},two {n},owl,{1 + n % 2}" for n in range(40)]
    (tmp_path / "in.csv").write_text("\n".join(["question,response_a,response_b,judge,verdict", *rows]))
    answers = iter(["A", "B", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    done = run("vet", "in.csv")
    assert done.code == 0, done.stderr
    assert "keep 0 of 40" in done.stdout
    assert next(answers, None) is None
    assert "keep 0 of 40" in run("vet", "in.csv").stdout, "the answers are saved"


def test_what_is_read_first_does_not_depend_on_the_order_in_which_blocks_come():
    later = {f"i{row}": Shown((1, 0.1, row), f"i{row}", None, None, blind=False, row=row) for row in range(100, 140)}
    chosen = Doubtful(near=later).nearest(np.array([0.1, 0.2]), np.array([1, 1]), np.zeros(2, dtype=bool))
    assert chosen.tolist() == [0]
