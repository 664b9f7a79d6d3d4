"""What an audit says of rates, juries, independence and clues."""

from datetime import UTC, datetime

import numpy as np
import pytest

from metajudge.audit.gather import PROMPTS, VERSIONS, iso, named, time_of
from metajudge.audit.jury import jury_of
from metajudge.audit.rates import rates_of
from metajudge.audit.report import audit
from metajudge.audit.view import build_peers
from metajudge.report.audit.page import card, page
from metajudge.report.audit.published import published
from metajudge.report.audit.terminal import lines
from metajudge.report.markdown import to_markdown
from tests.audit.records import pair, single, table_of, view
from tests.doubles.dependent_judges import WORTH, judged


def graded(labelled, items=400, sensitivity=0.9, specificity=0.7, rate=0.5):
    rng = np.random.default_rng(6)
    found = []
    for at in range(items):
        truth = rng.random() < rate
        said = rng.random() < (sensitivity if truth else 1 - specificity)
        model = "osprey" if at % 4 else "heron"
        found.append(single(f"i{at}", "j", bool(said), label=bool(truth) if at < labelled else None, model=model))
    return found


def test_rates_overall_and_of_models_and_corrected_ones_that_cover_the_truth():
    found = rates_of(view(graded(200), "j"))
    of = "share that is called true"
    assert [one.of for one in found] == [of, f"{of}, osprey", f"{of}, heron"]
    assert [one.n for one in found] == [400, 300, 100]
    assert found[0].n_labelled == 200
    found = rates_of(view(graded(200, items=2000), "j"))[0]
    assert found.naive.estimate == pytest.approx(0.6, abs=0.03)
    for one in (found.ppi, found.rogan_gladen):
        assert one.interval[0] < 0.5 < one.interval[1]
        assert one.estimate == pytest.approx(0.5, abs=0.06)
    assert not found.naive.interval[0] < 0.5
    assert 0 < found.weight <= 1


def test_few_labels_give_no_corrected_rate():
    found = rates_of(view(graded(6), "j"))[0]
    assert (found.ppi, found.rogan_gladen) == (None, None)
    assert "6 labels" in found.note
    assert rates_of(view(graded(0), "j")) == ()
    one_sided = rates_of(view(graded(60, rate=1.0), "j"))[0]
    assert one_sided.rogan_gladen is None
    assert "one side" in one_sided.note
    assert one_sided.ppi is not None


def test_win_rates_count_ties_half_and_places_only_where_items_share_them():
    judgments = []
    for at in range(60):
        models = {"A": "osprey", "B": "heron"} if at % 2 else {"A": "heron", "B": "osprey"}
        wins = "A>B" if at % 2 else "B>A"  # osprey
        verdict = wins if at % 3 else "A=B"
        label = wins if at < 30 else None
        judgments += [pair(f"i{at}", "j", verdict, order, label=label, models=models) for order in ("AB", "BA")]
    found = {one.of: one for one in rates_of(view(judgments, "j"))}
    assert set(found) == {"win rate of osprey", "win rate of heron"}
    assert found["win rate of osprey"].naive.estimate == pytest.approx(40 / 60 + 20 / 60 / 2)
    assert found["win rate of osprey"].n == 60
    assert found["win rate of osprey"].ppi.estimate == pytest.approx(1.0, abs=0.01)
    judgments = [pair(f"i{at}", "j", "A>B", label="A>B" if at % 2 else "B>A") for at in range(40)]
    assert [one.of for one in rates_of(view(judgments, "j"))] == ["win rate of A"]
    always = [pair(f"i{at}", "j", "A>B", label="A>B") for at in range(40)]
    assert rates_of(view(always, "j")) == ()


def jury(judges, items=400, labelled=True):
    """Judges -> (error rate, seed); the same seed makes the same errors."""
    wrong = {name: np.random.default_rng(seed).random(items) < rate for name, (rate, seed) in judges.items()}
    judgments = [
        single(f"i{at}", name, (at % 2 == 0) != bool(wrong[name][at]), label=at % 2 == 0 if labelled else None)
        for at in range(items)
        for name in judges
    ]
    table = table_of(judgments)
    return jury_of(table, build_peers(table))


def test_independent_judges_count_in_full_and_copies_once():
    apart = jury({"a": (0.3, 1), "b": (0.3, 2), "c": (0.3, 3)})
    assert apart.effective.estimate == pytest.approx(3, abs=0.2)
    alike = jury({"a": (0.3, 1), "b": (0.3, 1), "c": (0.3, 1)})
    assert alike.effective.estimate == pytest.approx(1)
    assert alike.pairs[0].error_correlation.estimate == pytest.approx(1)
    assert alike.pairs[0].agreement.estimate == 1
    found = jury({"a": (0.3, 1), "copy": (0.3, 1), "c": (0.3, 3)})
    # 3^2 / (3 + 2 * 1), with the correlations of a and c near 0
    assert found.effective.estimate == pytest.approx(9 / 5, abs=0.15)
    assert found.effective.interval[0] < found.effective.estimate < found.effective.interval[1]


def test_the_cheapest_panel_that_is_as_good_drops_the_rest_and_none_where_each_adds():
    found = jury({"good": (0.05, 1), "bad": (0.4, 2), "worse": (0.45, 3)}, items=800)
    assert found.panels[0].judges == ("good",)
    assert found.cheapest.judges == ("good",)
    assert {name for name, _ in found.drop} == {"bad", "worse"}
    assert found.panels[-1].difference.estimate == 0
    assert "good alone" in found.sentence
    found = jury({"a": (0.3, 1), "b": (0.3, 2), "c": (0.3, 3)}, items=1500)
    assert found.cheapest is None
    assert found.drop == ()
    assert found.panels[-1].accuracy.estimate > found.panels[0].accuracy.estimate + 0.04


def test_without_labels_only_agreement_is_given():
    found = jury({"a": (0.2, 1), "b": (0.2, 1), "c": (0.2, 3)}, labelled=False)
    assert (found.reference, found.panels, found.cheapest, found.effective) == ("nothing", (), None, None)
    assert (found.pairs[0].agreement.estimate, found.pairs[0].error_correlation) == (1, None)
    assert "Without labels" in found.sentence
    assert jury({"a": (0.2, 1)}) is None


# What an audit says of the independence of judges.
def said(found):
    return " ".join(" ".join(line.plain for line in lines(published(found))).split())


def test_copies_are_named_with_what_judges_count_as_and_independent_ones_told_apart():
    found = audit(judged(copies=("ant-2", "ant-3"), judges=("ant", "bee", "cat")))
    (group,) = found.independence
    assert [pair.finding for pair in group.pairs] == ["copy"] * 3
    told = said(found)
    assert "comes from 5 judges that count as 2.3 independent ones" in told
    assert "ant and ant-2 gave the same verdict on 100 % of 600 answers to 300 questions" in told
    for report in (page(published(found)), card(published(found))):
        assert "count as 2.3 independent ones" in to_markdown(report)
    assert "None of 10 pairs of judges follow each other (choice of 2, 150 questions)." in said(audit(judged(150)))
    assert "It cannot be tested (choice of 2)" in said(audit(judged(150, judges=tuple(WORTH)[:3])))


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("meta", "time"),
    [
        *(({"time": time}, NOON) for time in ("2026-03-01T12:00:00+00:00", NOON * 1000, str(NOON))),
        ({"timestamp": "2026-03-01T12:00:00Z"}, NOON),
        ({"created_at": "2026-03-01T12:00:00"}, NOON),
        ({"tstamp": NOON}, NOON),
        ({"time": "soon", "date": "2026-03-01T12:00:00"}, NOON),
        ({"time": datetime(2026, 3, 1, 12, tzinfo=UTC)}, NOON),
        *((meta, None) for meta in ({}, {"other": 5}, *({"time": time} for time in ("soon", True, -5, None)))),
    ],
)
def test_times_in_their_usual_forms_and_what_is_none(meta, time):
    assert time_of(meta) == time
    assert iso(NOON) == "2026-03-01T12:00:00+00:00"


def test_names_of_versions_and_prompts():
    assert named({"version": 2}, VERSIONS) == "2"
    assert named({"judge_version": " a ", "version": "b"}, VERSIONS) == "a"
    assert named({"prompt": "x" * 200, "template": "short"}, PROMPTS) == "short"
    assert named({"prompt": "x" * 200}, PROMPTS) is None
    assert named({"version": True}, VERSIONS) is None
