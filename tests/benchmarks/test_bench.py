"""A benchmark's figures: its population, precision, selections, and judgments and files of one's own."""

import json
from collections import Counter

import numpy as np
import pytest
from metajudge.benchmarks.bench import ALL_JUDGES, Bench, Request
from metajudge.benchmarks.findings import OVERALL, BenchFindings
from metajudge.benchmarks.observations import Population, Records, observed, stratified
from metajudge.benchmarks.own_judges import NO_ITEM, OTHER_TEXTS, RecordedItems
from metajudge.benchmarks.precision import (
    Score,
    Selection,
    coverage_curve,
    keep_above,
    keep_all,
    keep_share,
    precision_rows,
    reliability,
)
from metajudge.benchmarks.probabilities import fit_out_of_fold
from metajudge.benchmarks.score_lines import score_lines

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.formats.realmistake import WITHHELD
from metajudge.report.document import Absent
from metajudge.types import Item, Judgment, parse_right, parse_verdict
from tests.benchmarks.benches import bench_of, found, rows
from tests.doubles.graded import truth, verdicts, written
from tests.doubles.judgebench import CATEGORIES, game, pair


def test_offline_rows_by_hand(small):
    findings = found(bench_of(small))
    owl = rows(findings, "owl")
    assert (owl["decided verdicts"].n, owl["decided verdicts"].right) == (24, 20)
    agree = owl["both orders agree"]
    assert (agree.selected, agree.selected_right, agree.recall) == (16, 16, 16 / 20)
    assert [one.judge for one in findings.judges] == [ALL_JUDGES, "owl", "hawk"]
    assert rows(findings, ALL_JUDGES)["decided verdicts"].n == 36


def test_evidence_comes_from_all_judges_even_those_not_reported(small):
    everyone = {line["judgment_id"]: line for line in map(json.loads, score_lines(bench_of(small), (), None))}
    only = [json.loads(line) for line in score_lines(bench_of(small, judges=("hawk",), limit=4), (), None)]
    assert len(only) == 4
    assert all(line["signals"]["peers"]["value"] is not None for line in only)
    assert only == [everyone[line["judgment_id"]] for line in only]


def test_lines_that_could_not_be_read_and_missing_labels_are_said_not_dropped_in_silence(folder):
    pairs = [pair(0), pair(1), {**pair(2), "label": "C"}, {**pair(3), "label": None}]
    games = [game(number, "AB", "A>B") for number in range(3)] + [{**game(3, "AB", "A>B"), "label": None}]
    notes = found(bench_of(folder(pairs, games))).notes
    assert any(note.startswith("2 bad lines are in no figure, the first pairs.jsonl:3: ") for note in notes)
    assert "1 of the judgments asked for have no label and are in no figure" in notes


def test_without_labels_there_is_no_precision_but_an_error(folder):
    games = [game(0, "AB", "A>B", label=None)]
    with pytest.raises(InputError, match=r"precision needs true labels"):
        bench_of(folder([pair(0, label=None)], games))


def test_where_nobody_decided_the_counts_are_said(folder):
    games = [game(0, "AB", "A=B"), game(1, "AB", None, judgment_text="")]
    with pytest.raises(InputError, match="1 ties, 1 without a verdict"):
        bench_of(folder([pair(0), pair(1)], games))


def test_the_findings_survive_their_own_json(small):
    findings = found(bench_of(small))
    assert BenchFindings.model_validate_json(findings.model_dump_json()) == findings


def bench_of_file(tmp_path, rows, **changes):
    return Bench(Request(benchmark="file", **changes), open_judgments([written(tmp_path / "v.jsonl", rows)]))


def test_the_rule_given_decides_what_is_right(tmp_path):
    rows = verdicts(10)
    for row in rows:
        row["verdict"], row["item"]["label"] = (4 if row["verdict"] == "good" else 3), 5
    with pytest.raises(InputError, match="does not apply"):
        bench_of_file(tmp_path, rows, rule=parse_right("top1"))
    near = bench_of_file(tmp_path, rows, rule=parse_right("within:1"))
    assert set(near.observations.correct.tolist()) == {True, False}
    assert not bench_of_file(tmp_path, rows).observations.correct.any()


def test_the_counts_take_the_same_judgments_for_dependent_as_the_precision(tmp_path):
    """One text asked of every item is an instruction: each item is a question of its own, in every table."""
    rows = []
    for number in range(12):
        item = {"id": f"q{number}", "question": "Is it polite?", "responses": {"A": "a", "B": "b"}, "label": "A>B"}
        rows.append({"id": f"j{number}", "item": item, "judge": "owl", "verdict": "A>B" if number % 3 else "B>A"})
    (judge,) = found(bench_of_file(tmp_path, rows)).judges
    assert judge.rows[0].cells["Overall"].precision.questions == 12
    assert judge.counts["all"].share.clusters == 12


def test_two_orders_stay_apart_where_the_ids_written_together_are_the_same(tmp_path):
    item = {"id": "q", "question": "?", "responses": {"a": "x", "aa": "y"}, "label": "a>aa"}
    orders = (("a", "aa"), ("aa", "a"))
    shown = [
        {"id": str(n), "item": item, "judge": "owl", "verdict": "a>aa", "order": one} for n, one in enumerate(orders)
    ]
    (judge,) = found(bench_of_file(tmp_path, shown)).judges
    assert judge.swap.both_right == 1


def judgment(name, responses, verdict="A>B", question="Q?", judge="mine", **changes):
    item = Item(id=name, question=question, responses=responses)
    return Judgment(id=f"{name}-{judge}", item=item, judge=judge, verdict=parse_verdict(verdict), **changes)


@pytest.fixture
def items():
    recorded = RecordedItems()
    recorded.add(judgment("p1", {"A": "four", "B": "five"}, judge="owl"))
    return recorded


def test_another_id_is_matched_by_its_texts_and_the_verdict_follows_them(items):
    matched = items.match(judgment("mine-7", {"x": "five ", "y": "four"}, "x>y"))
    assert (matched.item.id, str(matched.verdict), matched.order) == ("p1", "B>A", ("B", "A"))


def test_what_is_not_recorded_says_why(items):
    assert items.match(judgment("p2", {"A": "six", "B": "five"})) == NO_ITEM
    assert items.match(judgment("p1", {"A": "six", "B": "five"})) == OTHER_TEXTS
    assert items.match(judgment("p2", {"A": "four", "B": "five"}, question="Another?")) == NO_ITEM


def test_items_whose_texts_are_withheld_are_matched_by_id_alone():
    recorded = RecordedItems()
    recorded.add(judgment("r1", {"A": WITHHELD}, "error", judge="owl"))
    assert recorded.match(judgment("r1", {"A": "the real text"}, "error")).item.responses == {"A": WITHHELD}
    assert recorded.match(judgment("r1", {"B": "the real text"}, "error")) == OTHER_TEXTS


def test_own_judgments_stand_beside_the_recorded_ones_and_the_rest_is_counted(small, tmp_path):
    rows = []
    for number in range(13):
        one = pair(number)
        texts = {"A": one["response_a"], "B": one["response_b"]}
        item = {"id": one["item_id"], "question": one["question"], "responses": texts}
        rows.append({"id": f"m{number}", "item": item, "judge": "mine", "verdict": "A>B"})
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    findings = found(Bench(Request(benchmark="judgebench", data=small), open_judgments([path])))
    assert [one.judge for one in findings.judges] == ["all judges", "owl", "hawk", "mine"]
    assert findings.judges[-1].decided == 12
    assert any(note.startswith("12 judgments of your own by mine") for note in findings.notes)
    assert any("1 judgments of your own are left out, the first 'm12'" in note for note in findings.notes)


PUBLISHED = {
    f"{name[0]}{number}": name
    for name, size in {"Knowledge": 154, "Reasoning": 98, "Math": 56, "Coding": 42}.items()
    for number in range(size)
}


def members(judgments, **rule):
    member = Population(**rule).members()
    return [judgment.id for judgment in judgments if member(judgment)]


def test_the_first_game_is_the_one_in_the_items_own_order_and_repeats_of_it_do_not_count(folder):
    games = [
        game(0, "BA", "A>B", label="B>A"),
        game(0, "AB", "A>B"),
        game(1, "AB", "A>B"),
        game(1, "BA", "B>A", label="B>A"),
    ]
    judgments = list(Bench(Request("judgebench", folder([pair(0), pair(1)], games))).source.all())
    assert members(judgments, games="first") == ["p0/owl/AB", "p1/owl/AB"]
    again = judgments[1].model_copy(update={"id": "again"})
    assert members([judgments[1], again], games="first") == ["p0/owl/AB"]
    assert len(members(judgments)) == 4


def test_the_sample_of_80_is_the_proportional_one():
    counts = Counter(PUBLISHED[name] for name in stratified(PUBLISHED, 80, seed=1))
    # 80 * (154, 98, 56, 42) / 350 = 35.2, 22.4, 12.8, 9.6
    assert counts == {"Knowledge": 35, "Reasoning": 22, "Math": 13, "Coding": 10}


def test_a_sample_depends_on_its_seed_and_not_on_the_order_of_the_input():
    backwards = dict(reversed(PUBLISHED.items()))
    assert stratified(PUBLISHED, 40, seed=5) == stratified(backwards, 40, seed=5)
    assert stratified(PUBLISHED, 40, seed=5) != stratified(PUBLISHED, 40, seed=6)
    assert stratified(PUBLISHED, 350, seed=5) == stratified(PUBLISHED, 400, seed=6) == frozenset(PUBLISHED)


def test_every_judge_is_reported_on_the_same_sample_of_all_categories(small):
    seen = bench_of(small, limit=8, seed=2).observations
    items = {judge: set(seen.only({judge}).of("item")) for judge in ("owl", "hawk")}
    assert items["owl"] == items["hawk"]
    assert len(items["owl"]) == 8
    assert set(seen.of("category")) == set(CATEGORIES)
    assert items["owl"] != set(bench_of(small, limit=8, seed=3).observations.of("item"))


def observations(correct, *, questions=None, categories=None, orders=None):
    records = Records()
    for number, right in enumerate(correct):
        name, order = questions[number] if questions else f"q{number}", orders[number] if orders else "AB"
        category = categories[number] if categories else "Math"
        item = Item(id=name, question=name, responses={"A": "", "B": ""}, label="A>B", category=category)
        verdict = "A>B" if right else "B>A"
        records.add_block([Judgment(id=f"j{number}", item=item, judge="owl", verdict=verdict, order=tuple(order))])
    return observed(records, np.arange(len(correct)))


def selection(kept, name="kept", kind="configuration"):
    mask = np.array(kept, dtype=bool)
    return Selection(name, kind, mask, np.ones(len(mask), dtype=bool))


def test_precision_coverage_and_recall_by_hand():
    seen = observations([1, 1, 1, 0, 0, 0, 1, 0] * 5)
    raw, kept = precision_rows(seen, [keep_all(seen), selection([1, 1, 0, 1, 0, 0, 0, 0] * 5)], ["Math"])
    cell = kept.cells[OVERALL]
    assert (cell.n, cell.right, cell.selected, cell.selected_right) == (40, 20, 15, 10)
    assert cell.precision.share == pytest.approx(2 / 3)
    assert (cell.coverage, cell.recall) == (3 / 8, 2 / 4)
    assert cell.against_raw.value == pytest.approx(2 / 3 - 1 / 2)
    assert raw.cells[OVERALL].precision.share == 0.5
    assert isinstance(raw.cells[OVERALL].against_raw, Absent)


def test_nothing_selected_has_no_precision_and_no_difference():
    seen = observations([1, 0, 1])
    (row,) = precision_rows(seen, [selection([0, 0, 0])], ["Math"])
    cell = row.cells[OVERALL]
    assert cell.precision == Absent(absent="nothing selected")
    assert cell.against_raw == Absent(absent="nothing selected")
    assert (cell.coverage, cell.recall) == (0.0, 0.0)


def test_categories_without_judgments_are_left_out_and_orders_stand_apart():
    seen = observations([1, 0, 1, 1], categories=["Math", "Math", "Coding", "Coding"], orders=["AB", "BA"] * 2)
    (row,) = precision_rows(seen, [keep_all(seen)], ["Knowledge", "Math", "Coding"])
    assert list(row.cells) == [OVERALL, "Math", "Coding"]
    assert {order: cell.precision.share for order, cell in row.orders.items()} == {"AB": 1.0, "BA": 0.5}


def test_questions_not_judgments_are_resampled():
    """The same figures with every judgment repeated four times: the interval must not shrink."""
    correct, kept = [1, 0, 1, 1, 0, 1, 0, 1] * 3, [1, 0, 1, 1, 1, 0, 0, 1] * 3
    single = observations(correct)
    names = [f"q{number}" for number in range(24)]
    fourfold = observations(correct * 4, questions=names * 4)
    (one,) = precision_rows(single, [selection(kept)], [])
    (four,) = precision_rows(fourfold, [selection(kept * 4)], [])
    narrow, wide = one.cells[OVERALL].against_raw, four.cells[OVERALL].against_raw
    assert wide.questions == narrow.questions == 24
    assert (wide.low, wide.high) == pytest.approx((narrow.low, narrow.high))


def test_the_curve_falls_from_the_best_scored_and_ends_at_everything():
    correct = [1] * 40 + [0, 1] * 20
    seen = observations(correct)
    curve = coverage_curve(seen, Score("s", [1 - number / 100 for number in range(80)]))
    first, last = curve.points[0], curve.points[-1]
    assert first.value == 1.0
    assert (last.coverage, last.selected) == (1.0, 80)
    assert last.value == pytest.approx(60 / 80)
    assert all(point.low <= point.value <= point.high for point in curve.points)
    assert all(one.coverage < other.coverage for one, other in zip(curve.points, curve.points[1:], strict=False))


def test_reliability_bins_hold_every_judgment_once_and_equal_probabilities_together():
    correct = [1, 0] * 30
    values = [0.2] * 20 + [0.6] * 20 + [0.9] * 19 + [None]
    series = reliability(observations(correct), Score("p", values, probability=True))
    assert [(b.n, round(b.predicted, 9)) for b in series.bins] == [(20, 0.2), (20, 0.6), (19, 0.9)]
    assert series.bins[0].value == 0.5


def test_the_interval_of_a_precision_is_by_question_and_copies_do_not_narrow_it():
    """Eight judges on each question know no more of it than one: as independent judgments they would seem to."""
    correct, names = [1, 0, 1, 1] * 25, [f"q{number}" for number in range(100)]
    (one,) = precision_rows(observations(correct), [selection([1] * 100)], [])
    eightfold = observations(correct * 8, questions=names * 8)
    (eight,) = precision_rows(eightfold, [selection([1] * 800)], [])
    few, many = one.cells[OVERALL].precision, eight.cells[OVERALL].precision
    assert (many.n, many.questions) == (800, 100)
    assert many.high - many.low > 0.9 * (few.high - few.low)
    assert many.method == "percentile cluster bootstrap"


def test_equal_scores_stay_together_so_the_order_of_lines_settles_nothing():
    values = [0.9, 0.5, 0.5, 0.5, 0.1]
    kept = keep_share(Score("s", values), 0.4, "evidence")
    assert kept.kept.tolist() == [True, True, True, True, False]
    turned = keep_share(Score("s", values[::-1]), 0.4, "evidence")
    assert turned.kept.tolist() == [False, True, True, True, True]
    assert kept.threshold.value == 0.5


def test_a_share_that_the_scores_cannot_fill_is_no_row():
    assert keep_share(Score("s", [0.9, None, None, None]), 0.8, "evidence") is None


def test_exactly_the_threshold_is_not_kept():
    score = Score("s", [4.5, 4.5 + 1e-12, 4.6, None])
    assert keep_above(score, 4.5, "s").kept.tolist() == [False, False, True, False]
    assert keep_above(score, 4.5, "s").scored.tolist() == [True, True, True, False]


def test_a_row_is_called_by_the_coverage_it_reaches_where_equal_scores_raise_it():
    tied = keep_share(Score("s", [0.9] * 6 + [0.1] * 4), 0.4, "evidence")
    assert tied.name == "s, best 60.0 % (equal scores; 40 % asked)"
    assert tied.column == "s, best 40 %"
    assert keep_share(Score("s", [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), 0.4, "evidence").name == "s, best 40 %"


@pytest.fixture
def bench(tmp_path):
    return Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "v.jsonl", verdicts(60))]))


@pytest.mark.slow
def test_no_probability_saw_the_label_of_its_own_question(bench, tmp_path):
    rows = verdicts(60)
    for row in rows:
        if row["item"]["id"] == "q7":
            row["item"]["label"] = "bad" if truth(7) == "good" else "good"
    turned = Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "t.jsonl", rows)]))
    before, after = (fit_out_of_fold(one, 1).probabilities for one in (bench, turned))
    # A fit starts where another fold's ended: equal up to what is left when it stops, far below a label's weight.
    assert [after[f"q7-{judge}"] for judge in ("ant", "bee", "cat", "dog")] == pytest.approx(
        [before[f"q7-{judge}"] for judge in ("ant", "bee", "cat", "dog")], rel=0, abs=1e-9
    )
    assert before != after


def test_scores_have_a_line_for_every_labelled_judgment_and_null_where_nothing_is_fitted(bench, tmp_path):
    lines = [json.loads(line) for line in score_lines(bench, (), fit_out_of_fold(bench, 1))]
    assert len(lines) == 240
    assert all(0 < line["probability"] < 1 and line["judge"] and line["correct"] in (True, False) for line in lines)
    few = Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "few.jsonl", verdicts(1))]))
    fitted = fit_out_of_fold(few, 1)
    assert {json.loads(line)["probability"] for line in score_lines(few, (), fitted)} == {None}
    assert any(note.startswith("nothing is fitted for verdicts of kind category") for note in fitted.meaning)
