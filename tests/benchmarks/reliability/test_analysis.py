"""The reliability of a panel from its evaluations: nothing undecided becomes a mismatch."""

import json
import random

import pytest
from metajudge.benchmarks.figure import to_json
from metajudge.benchmarks.reliability.analysis import analyse, analyse_records, third_run
from metajudge.benchmarks.reliability.records import evaluations_of, read_clash_records
from metajudge.benchmarks.reliability.report import report_of, terminal_table
from metajudge.benchmarks.reliability.run import Protocol, run_panel

from metajudge.clashes.clash import Clash, Judge
from metajudge.errors import InputError
from metajudge.report.html import to_html
from metajudge.report.tables import table_to_text
from tests.doubles.reliability import JUDGES, evaluation, fond_of, pair, panel, steady


def made(seed=1, items=30, runs=2):
    rng = random.Random(seed)
    models = ("gpt-4", "claude-3-opus", "llama-3-70b")
    found = []
    for number in range(items):
        one, other = rng.sample(models, 2)
        skill = rng.random()
        for run in range(1, runs + 1):
            votes = "".join(
                "-" if rng.random() < 0.05 else "a" if rng.random() < 0.3 + 0.6 * skill else "b" for _ in JUDGES
            )
            found.append(evaluation(f"q{number}", votes, run=run, models={"a": one, "b": other}))
    return found


def test_ties_lost_verdicts_and_errors_are_in_no_share_of_the_decided():
    rows = [
        evaluation("q1"),
        evaluation("q2", "bbb"),
        evaluation("q3", "ab-"),
        evaluation("q4", "---"),
        evaluation("q5", "---", status="error"),
    ]
    found = analyse(rows, JUDGES, repeats=1)
    assert found["run1.status"].value == {"ok": 2, "tie": 1, "no_verdict": 1, "error": 1}
    assert (found["run1.concordance"].value, found["run1.concordance"].n) == (50, 2)
    assert (found["run1.concordance_of_all"].value, found["run1.concordance_of_all"].n) == (20, 5)
    assert found["run1.kappa"].n == 2
    assert (found["combined.clustered"].value, found["combined.clustered"].n) == (50, 2)
    assert found["stability.classes"].value["undetermined"] == 5
    assert (found["majority.concordance"].value, found["majority.concordance"].n) == (50, 2)
    assert "3 items have no decided run" in found["majority.concordance"].why


def test_runs_are_compared_by_verdict_not_by_match():
    rows = [evaluation("q1"), evaluation("q1", "bbb", run=2), evaluation("q2"), evaluation("q2", run=2)]
    rows += [evaluation("q3", "ab-"), evaluation("q3", "ab-", run=2), evaluation("q4"), evaluation("q4", "---", run=2)]
    found = analyse(rows, JUDGES, repeats=2)
    same = found["retest.run1_run2.same"]
    assert (same.value, same.n) == (pytest.approx(200 / 3), 3)
    assert "1 items lack a verdict" in same.why
    assert found["retest.run1_run2.matrix"].value == {
        "both_right": 1, "only_run1_right": 1, "only_run2_right": 0, "neither_right": 0
    }  # fmt: skip
    classes = found["stability.classes"].value
    assert classes == {"stable_right": 1, "stable_wrong": 0, "stable_tie": 1, "unstable": 1, "undetermined": 1}


def test_the_third_run_follows_its_rule_and_its_figures_their_groups():
    rows = [evaluation(f"w{n}", "bbb", run=run) for n in range(3) for run in (1, 2)]
    rows += [evaluation("u", "aaa"), evaluation("u", "bbb", run=2)]
    rows += [evaluation(f"r{n}", "aab" if n == 0 else "aaa", run=run) for n in range(4) for run in (1, 2)]
    third = third_run(rows, 5)
    assert third.stable_wrong == ("w0", "w1", "w2")
    assert third.unstable == ("u",)
    assert third.low_confidence == ("r0",)
    again = [evaluation("w0", "bbb", run=3), evaluation("w1", "aaa", run=3), evaluation("w2", "ab-", run=3)]
    again += [evaluation("u", run=3), evaluation("r0", "bbb", run=3)]
    found = analyse([*rows, *again], JUDGES, repeats=2, third=third)
    assert (found["third.still_wrong"].value, found["third.still_wrong"].n) == (50, 2)
    assert "1 of its 5 evaluations came to no winner" in found["third.chosen"].why
    assert found["third.still_wrong_p"].value == 0.75
    assert (found["third.unstable"].value, found["third.lowconf"].value) == (100, 100)
    assert found["run1.n"].value == 8
    assert "run3.n" not in found


def test_a_judge_is_held_against_its_own_votes_and_a_panel_of_fewer_ties():
    rows = [evaluation("q1", "aab"), evaluation("q2", "ab-"), evaluation("q3", "bbb")]
    found = analyse(rows, JUDGES, repeats=1)
    assert (found["judge.owl"].value, found["judge.owl"].n) == (pytest.approx(200 / 3), 3)
    assert found["judge.wren"].n == 2
    assert "1 evaluations have no first choice" in found["judge.wren"].why
    panels = {tuple(one["judges"]): one for one in found["panels"].value}
    assert len(panels) == 7
    assert panels[("owl", "hawk")]["undecided"] == 1
    assert found["unanimity.unanimous"].n == 1
    assert found["unanimity.split"].n == 1
    assert "1 evaluations lack" in found["unanimity.split"].why


def test_random_panels_give_a_complete_report_without_numbers_for_nothing():
    for seed in range(8):
        rows = made(seed, items=random.Random(seed).randrange(1, 25), runs=1 + seed % 3)
        found = analyse(rows, JUDGES, repeats=max(one.run for one in rows), third=None)
        for entry in json.loads(to_json(found)).values():
            assert entry["value"] is not None or entry["why"]
        page = to_html(report_of(found, title="Panel", summary=("s",), provenance={}))
        assert " nan" not in table_to_text(terminal_table(found))
        assert "Concordance with humans" in page


async def test_records_survive_a_file_and_are_analysed_alone(tmp_path):
    items = [pair(n, label="B>A" if n % 3 == 0 else "A>B") for n in range(9)]
    done = await run_panel(items, steady(), Protocol(runs=2))
    path = tmp_path / "records.jsonl"
    path.write_text("".join(record.model_dump_json() + "\n" for record in done.records))
    found = analyse_records(read_clash_records(path))
    assert found.figures["run1.concordance"].value == pytest.approx(200 / 3)
    assert found.figures["retest.run1_run2.same"].value == 100
    assert found.figures["stability.classes"].value["stable_wrong"] == 3
    with path.open("a") as stream:
        stream.write('{"version": 1}\n')
    with pytest.raises(InputError, match=r"records\.jsonl:19: "):
        read_clash_records(path)


async def test_one_judge_or_one_model_under_several_names_is_never_called_unanimous():
    one = fond_of("good", "owl")
    for judges in ((Judge("a", one),), (Judge("a", one), Judge("b", one), Judge("c", one))):
        done = await run_panel([pair(n) for n in range(3)], Clash(judges), Protocol(runs=1))
        assert all(record.tally.triage == "escalate" for record in done.records)
        found = analyse_records(done.records)
        for name in ("unanimity.unanimous", "unanimity.split", "unanimity.fisher_p"):
            assert found.figures[name].value is None
            assert "cannot agree with itself" in found.figures[name].why
        assert any("No verdict is called unanimous" in sentence for sentence in found.summary)
        page = to_html(report_of(found.figures, title="Panel", summary=found.summary, provenance={}))
        assert "cannot agree with itself" in page


async def test_an_observers_vote_is_in_no_figure():
    observer = Judge("gpt-4", fond_of("bad", "gpt-4"), own="A")
    clash = panel(*(judge.model for judge in steady().judges), observers=(observer,))
    done = await run_panel([pair(n) for n in range(3)], clash, Protocol(runs=1))
    assert all(len(record.votes) == 4 for record in done.records)
    for one in evaluations_of(done.records).evaluations:
        assert set(one.votes) == set(one.shown_first) == {"owl", "hawk", "wren"}
    found = analyse_records(done.records).figures
    assert [name for name in found if name.startswith("self.")] == ["self.first", "self.by_model.A"]
    assert found["self.by_model.A"].value == {"first": 0, "panel": 100, "difference": -100, "p": 0.25}
    assert found["self.first"].n == 3
    assert found["judges.fleiss_kappa"].definition.startswith("judges' first choices")
    assert found["unanimity.split"].n == 3


async def test_records_of_another_panel_are_not_gone_on_from():
    items = [pair(1)]
    done = await run_panel(items, steady(), Protocol(runs=1))
    with pytest.raises(InputError, match="another panel"):
        await run_panel(items, panel(fond_of("good", "crow")), Protocol(runs=1), earlier=done.records)
    with pytest.raises(InputError, match="another seed"):
        await run_panel(
            items, panel(*(j.model for j in steady().judges), seed=5), Protocol(runs=1), earlier=done.records
        )
    other = await run_panel(items, panel(fond_of("good", "crow")), Protocol(runs=1))
    with pytest.raises(InputError, match="different panels"):
        evaluations_of([*done.records, *other.records])


async def test_the_targeted_third_run_takes_what_the_rule_says():
    judges = [fond_of("good", name, wrong=0.35, seed=seed) for seed, name in enumerate(("owl", "hawk", "wren"))]
    items = [pair(n) for n in range(20)]
    done = await run_panel(items, panel(*judges), Protocol(runs=2, targeted=True, third_size=12))
    third = [record.item_id for record in done.records if record.repeat == 3]
    assert sorted(third) == sorted(done.third.chosen)
    assert done.third.unstable
    found = analyse_records(done.records, 2, done.third)
    assert found.figures["third.chosen"].n == len(third)
    assert found.figures["run1.n"].value == found.figures["run2.n"].value == 20
    assert any("targeted run took" in sentence for sentence in found.summary)


async def test_what_could_not_be_asked_is_attempted_again_and_nothing_is_overwritten():
    items = [pair(n) for n in range(10)]
    models = [fond_of("good", name) for name in ("owl", "hawk", "wren")]
    flaky = fond_of("good", "owl", fails=0.5, seed=4)
    first = await run_panel(items, panel(flaky, *models[1:]), Protocol(runs=1))
    lost = [record for record in first.records if not record.everybody_asked]
    assert 0 < len(lost) < 10
    second = await run_panel(items, panel(*models), Protocol(runs=1), earlier=first.records)
    assert second.records[:10] == first.records
    assert [record.attempt for record in second.records[10:]] == [2] * len(lost)
    assert len(models[1].requests) == 10  # whoever answered is not asked again
    found = evaluations_of(second.records)
    assert len(found.evaluations) == 10
    assert all(None not in one.votes.values() for one in found.evaluations)
