"""Figures of the recomputed study on small made evaluations: what is counted, what is not, and what is explained."""

import json
import random

import pytest
from metajudge.benchmarks.agent_clash.figures import PUBLISHED, agrees, beside
from metajudge.benchmarks.agent_clash.records import load_study
from metajudge.benchmarks.agent_clash.report import recompute, report_of
from metajudge.benchmarks.figure import Explanation, Figure, to_json

from metajudge.errors import InputError
from metajudge.report.html import to_html
from tests.doubles.clash_study import PANEL, lost, relabelled, row, study, values, vote, write


def test_no_statistic_is_made_up_where_rows_are_missing(figures):
    found = figures([row(1)])
    assert {"t6.run1.matches", "e2e.stable", "run3.still_wrong", "t9.z", "self.first"} <= set(found)
    for name in (
        "t6.run1.wilson",
        "e2e.stable",
        "run3.still_wrong_p",
        "t9.z",
        "self.first",
        "exp1.kappa_side",
        "t3.ids",
    ):
        assert found[name].value in (None, []), name
    assert all(one.why for one in found.values() if one.value is None)
    assert {name for name in PUBLISHED if not name.startswith(("ablation", "split.by"))} <= set(found)
    parsed = json.loads(to_json(found))
    assert parsed["elo.direction"]["value"] is None
    assert "not published" in parsed["elo.direction"]["why"]


def shown(value, explanation=None):
    return beside("exp1.sign_p_exact", Figure(value=value, n=11, definition="d", explanation=explanation))


def test_an_explanation_counts_only_where_it_gives_the_papers_figure():
    good = shown(0.2266, Explanation(how="another test", value=0.1317))
    assert good.why == "The paper's figure is another test."
    bad = shown(0.2266, Explanation(how="another test", value=0.5))
    assert "here that gives 0.5" in str(bad.why)
    assert shown(0.1317).why is None
    assert "No computation" in str(shown(0.3).why)


def test_agreement_is_to_the_last_printed_digit():
    assert agrees(0.7604, PUBLISHED["exp1.kappa_side"])
    assert not agrees(0.7639, PUBLISHED["exp1.kappa_side"])  # printed 0.760
    assert agrees({"difference": -24.96, "n": 44, "more": 1}, PUBLISHED["self.by_model.gpt-4"])
    assert not agrees({"n": 44}, PUBLISHED["self.by_model.gpt-4"])
    assert not agrees(None, PUBLISHED["t9.z"])


@pytest.mark.parametrize("ranking", [["A1", "A0", "A0"], ["A0"], [], ["A0", "A7"], ["A7", "A0"]])
def test_a_ranking_that_is_no_permutation_is_found_and_an_unknown_label_chooses_nobody(figures, ranking):
    bad = row(1)
    bad["judges"][0]["ranking"] = ranking
    found = figures([bad, row(2)])
    assert found["audit.invalid_rankings"].value == 1
    chose = bool(ranking) and ranking[0] in ("A0", "A1")
    assert found[f"ablation.mtbench.{PANEL[0]}"].n == 1 + chose


def test_an_evaluation_without_a_verdict_is_in_n_but_in_no_kappa(figures):
    found = figures([row(1), row(2, "bbb"), row(3), lost(4)])
    assert found["exp1.n"].value == 4
    assert found["exp1.n_valid"].value == 3
    assert found["exp1.matches"].value == 2
    assert found["exp1.concordance"].value == 50
    assert "1 of them without a verdict" in found["exp1.concordance"].definition
    assert "3 rows with a verdict it is 66.7" in found["exp1.concordance"].why
    assert found["exp1.kappa_side"].n == 3
    assert found["exp1.kappa_ci"].n == 3
    assert found["audit.fewer_than_panel"].value == 1


def test_a_human_tie_is_neither_match_nor_mismatch(figures):
    found = figures([row(1), row(2, human=None), row(3, "bbb")])
    assert found["exp1.n_valid"].value == 2
    assert found["t3.ids"].value == [3]
    assert found["exp1.kappa_side"].n == 2


def test_a_lost_judge_makes_no_panel_unanimous(figures):
    found = figures([row(1, "aa-"), row(2, "ab-"), row(3, "aaa"), row(4, "aab"), row(5, "b--")])
    assert found["unanimity.unanimous"].n == 1
    assert found["unanimity.split"].n == 1
    assert "3 rows that lack a panel judge" in found["unanimity.unanimous"].why
    # two of three decide, one of two does not
    assert found["ablation.panel"].n == 3
    assert "2 more rows have no majority" in found["ablation.panel"].why
    assert found["audit.fewer_than_panel"].value == 3
    assert found[f"ablation.mtbench.{PANEL[2]}"].n == 2


def test_ties_of_the_weighted_score_are_found_and_candidates_votes_counted(figures):
    # panel 2-1 is 4 against 2; two candidate votes for the other side make it even
    both = [vote("openai/gpt-4", "A1", "candidate"), vote("anthropic/claude-v1", "A1", "candidate")]
    tied = row(1, "aab")
    tied["judges"] = both + tied["judges"]
    found = figures([tied, row(2, "aab", candidate="a"), row(3)])
    assert found["audit.ties"].value == 1
    assert "mtbench-r1-1" in found["audit.ties"].why
    assert found["audit.candidate_votes"].value == 2


def test_a_majority_over_two_runs_that_differ_is_no_match(figures):
    rows = [row(1, run=run, experiment="arena", votes=votes) for run, votes in ((1, "aaa"), (2, "bbb"))]
    found = figures([*rows, row(2, experiment="arena")])
    assert found["majority.concordance"].value == 50
    assert "1 evaluations have as many" in found["majority.concordance"].why
    assert found["stability.classes"].value == {"stable_right": 0, "stable_wrong": 0, "unstable": 1}


def test_the_report_takes_any_text_for_data(tmp_path):
    rows = [row(n, "aab", category="<script>") for n in range(1, 5)]
    for one in rows:
        one["judges"][0]["judge"] = "<b>judge</b>"
    study_read = load_study(write(tmp_path / "data", rows))
    page = to_html(report_of(study_read, recompute(study_read)))
    assert "<b>judge" not in page


def test_an_unpublished_attempt_counts_for_self_votes_and_positions_alone(figures):
    rows = [row(1, candidate="a"), row(2, candidate="b")]
    extra = row(1, "bbb", candidate="b", published=False, row_id="mtbench-r1-1-unpublished1")
    one, other = figures(rows), figures([*rows, extra])
    changed = {name for name in one if values(one)[name] != values(other)[name]}
    assert {name.partition(".")[0] for name in changed} == {"self", "audit"}
    assert other["self.first"].n == 3
    assert other["self_published.first"].n == 2
    assert other["audit.unpublished_attempts"].value == 1
    never_published = row(7, "bbb", published=False)
    assert figures([*rows, never_published])["exp1.n"].value == 2
    assert figures([*rows, never_published])["exp1.human_winners"].n == 2


def test_exchanging_labels_everywhere_changes_nothing_but_positions(figures):
    rows = study()
    one, other = values(figures(rows)), values(figures(relabelled(rows)))
    changed = {name for name in one if one[name] != other[name]}
    assert changed <= {name for name in one if name.startswith("audit.position.")}
    assert changed


def test_altered_studies_never_crash_and_never_print_a_number_that_is_none(figures):
    rng = random.Random(11)
    for _ in range(25):
        rows = rng.sample(study(rng.randrange(100)), rng.randrange(1, 60))
        for one in rows:
            if rng.random() < 0.2:
                one["judges"] = [v for v in one["judges"] if rng.random() < 0.6]
            if rng.random() < 0.1:
                one["human_winner"] = rng.choice([None, "tie", ""])
            if rng.random() < 0.1:
                one.update(status="no_verdict", ai_winner=None, judges=[], label_map=None)
            if rng.random() < 0.1:
                one.update(cost_usd=None, elapsed_s=None, e2e=None, confidence_recorded=None)
        text = to_json(figures(rows))
        assert "NaN" not in text
        assert "Infinity" not in text
        for entry in json.loads(text).values():
            assert entry["value"] is not None or entry["why"]
            assert set(entry) <= {"value", "n", "interval", "definition", "paper", "why"}


def test_the_order_of_the_file_changes_nothing(figures):
    rows = [row(number, votes, cost_usd=0.1 * number) for number, votes in enumerate(["aaa", "aab", "abb"] * 4, 1)]
    rows += [row(number, "aa-", experiment="arena", cost_usd=0.7 / number) for number in range(1, 14)]
    assert to_json(figures(rows)) == to_json(figures(rows[::-1]))


def test_an_experiment_that_is_not_there_has_no_figures_rather_than_zeros(figures):
    found = figures([row(1), row(2, "abb")])
    zeros = {name: one.value for name, one in found.items() if one.n == 0 and one.value not in (None, [])}
    assert zeros == {}
    assert found["t6.run1.matches"].why == "There are no such rows in these data."


def test_choices_are_read_by_the_label_map_not_by_the_label(figures):
    rows = [row(n, "aab", swapped=n % 2 == 0, candidate="b") for n in range(1, 9)]
    found = figures(rows)
    assert found["self.first"].value == 0
    assert found["self.by_model.gpt-4"].value["first"] == 0
    assert found["self.by_model.gpt-4"].value["expected"] == 100
    assert found[f"ablation.mtbench.{PANEL[0]}"].value == 100
    assert found[f"ablation.mtbench.{PANEL[2]}"].value == 0


def test_an_evaluation_published_twice_counts_once(figures):
    rows = [row(1), row(2, "bbb")]
    again = row(1, row_id="again")
    found = figures([*rows, again])
    assert values(found)["exp1.n"] == (2, 2, None)
    later = row(1, "bbb", row_id="later", timestamp_utc="2026-02-14T00:00:00Z")
    assert figures([*rows, later])["exp1.matches"].value == 0
    with_verdict = figures([lost(1, timestamp_utc="2027"), {**row(1), "row_id": "second"}])
    assert (with_verdict["exp1.n"].value, with_verdict["exp1.n_valid"].value) == (1, 1)


def test_two_published_verdicts_between_which_nothing_decides_are_refused_with_their_lines(tmp_path):
    data = write(tmp_path / "data", [row(1), row(2), row(1, "bbb", row_id="other")])
    with pytest.raises(InputError, match=r"lines 1 and 3 .* mtbench run 1 id 1.*published to false"):
        load_study(data)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"ai_winner": "nobody-13b"}, "ai_winner is 'nobody-13b'"),
        ({"human_winner": "alpaca"}, "human_winner is 'alpaca'"),
        ({"model_b": "gpt-4"}, "both gpt-4"),
        ({"label_map": None}, "no label_map"),
        ({"label_map": {"A0": "gpt-4", "A1": "gpt-4"}}, "one label"),
        ({"judges": [vote(PANEL[0], "A0")] * 2}, "appears twice: acme/judge-a"),
        ({"judges": [{"judge": "x", "role": "jury", "ranking": ["A0"]}]}, "role"),
        ({"experiment": None}, "'experiment' must be a string"),
        ({"cost_usd": "much"}, "cost_usd"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(tmp_path, broken, message):
    data = write(tmp_path / "data", [row(1), {**row(2), **broken}])
    with pytest.raises(InputError, match=message) as caught:
        load_study(data)
    assert "evaluations.jsonl:2" in str(caught.value)
