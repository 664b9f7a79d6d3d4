"""The dashboard, called as a browser without scripts would; its figures against the library's own."""

import asyncio
import html
import importlib
import json
import re

import pytest

from metajudge.feedback.loop import FeedbackLoop
from metajudge.stats.intervals import wilson
from metajudge.store import open_store
from tests.api.pages.conftest import words
from tests.api.pages.dashboard_store import fill_dashboard

standing_module = importlib.import_module("metajudge.api.pages.standing")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("dashboard") / "s.duckdb"
    fill_dashboard(found, 30)
    return found


@pytest.fixture(scope="module")
def kept(path):
    """All assessments with their judgments, read by the library."""

    async def read():
        store = await open_store(path)
        try:
            judgments = {one.digest: one for one in await store.judgments()}
            return [(one, judgments[one.judgment_digest]) for _, one in await store.newest_assessments()]
        finally:
            await store.close()

    return asyncio.run(read())


@pytest.fixture
def visitor(visit, path, kept):
    return visit(store=path)


def now(page):
    """The figures at the threshold."""
    found = dict(re.findall(r'id="now-(\w+)">([^<]*)<', page))
    return {name: html.unescape(value) for name, value in found.items()}


def test_precision_at_a_threshold_is_counted_one_by_one(visitor, kept):
    for keep in (2.5, 3.5, 4.2, 5):
        figures = now(visitor.see(f"/dashboard?labels=truth&keep={keep}&discard=2"))
        above = [judgment for one, judgment in kept if one.final_score is not None and one.final_score > keep]
        low = [one for one, _ in kept if one.final_score is not None and one.final_score <= 2]
        right = sum(judgment.correct for judgment in above)
        assert figures["kept"] == str(len(above))
        assert figures["discarded"] == str(len(low))
        assert figures["asked"] == str(len(kept) - len(above) - len(low))
        assert figures["coverage"] == standing_module.tenths(len(above) / len(kept))
        if above:
            found = wilson(right, len(above))
            assert figures["precision"] == standing_module.tenths(found.estimate)
            ends = f"{standing_module.tenths(found.low)} to {standing_module.tenths(found.high)}"
            assert figures["interval"] == f"{ends}, {len(above)} labelled"
        else:
            assert figures["precision"] == "none"


def test_people_change_what_is_right(visitor):
    people = now(visitor.see("/dashboard?labels=people&keep=0"))
    assert people["interval"].endswith(" 12 labelled")
    assert now(visitor.see("/dashboard?labels=all&keep=0"))["interval"].endswith(" 87 labelled")
    assert "12 human reviews of what a policy found doubtful" in words(visitor.see("/dashboard"))


def test_judges_costs_and_failures(visitor, kept):
    said = words(visitor.see("/dashboard"))
    owls = [one for one, _ in kept if one.judge == "owl-large"]
    assert f"owl-large 30 {sum(one.accepted for one in owls)} " in said
    assert f"${sum(one.cost_usd or 0 for pair in kept for one in pair[0].agents):.2f} spent on models" in said
    assert "rate limited 0 " in said
    assert "fox-2" in said


def test_agreement_is_counted_one_by_one(visitor, kept):
    agents = [tuple(agent.score > one.threshold for agent in one.agents) for one, _ in kept]
    same = sum(first == second for first, second in agents)
    said = words(visitor.see("/dashboard"))
    assert f"{100 * same / len(agents):.0f} %" in said[said.index("Agents agree") : said.index("Judges agree")]
    items = {}
    for one, judgment in kept:
        items.setdefault(one.item_id, {})[one.judge] = judgment.verdict.winner
    same = sum(judges["jay"] == judges["crow-2"] for judges in items.values())
    assert f"{100 * same / len(items):.0f} %" in said[said.index("Judges agree") :]


def test_feedback_figures_are_the_librarys(visitor, path):
    said = words(visitor.see("/dashboard"))
    store = visitor.app.state.service.engine.store
    report = visitor.portal.call(FeedbackLoop(store, clock=lambda: 0.0).report, "verdict_score")
    metric = report.overall["accuracy"]
    assert f"accuracy {100 * metric.value:.1f} %" in said
    assert "12 decided cases" in said


def test_the_script_gets_the_counts(visitor):
    page = visitor.see("/dashboard")
    ladder = json.loads(html.unescape(re.search(r"data-ladder='([^']*)'", page)[1]))
    assert sum(row[1] for row in ladder["steps"]) + ladder["without"] == 90
    assert sum(row[2] for row in ladder["steps"]) == 87
    assert ladder["without"] == 3


def test_probabilities_have_thresholds_of_their_own(visitor, kept):
    page = visitor.see("/dashboard?basis=probability&keep=0.7")
    above = [one for one, _ in kept if one.probability is not None and round(one.probability, 9) >= 0.7]
    assert now(page)["kept"] == str(len(above))
    assert "Keep probabilities from" in page


def test_an_empty_store_says_so(visit, tmp_path):
    said = words(visit(store=tmp_path / "e.duckdb").see("/dashboard?days=0"))
    assert "Nothing was judged yet" in said
    assert "%" not in said


def test_a_quiet_period_leads_to_all_time(visit, filled):
    said = words(filled(0, cases=False).see("/dashboard?days=7"))
    assert "Nothing was judged in this period" in said
    assert "Show all time" in said


def test_without_labels_nothing_is_said_to_be_precise(visit, tmp_path):
    path = tmp_path / "u.duckdb"
    fill_dashboard(path, 6, labelled=False, decided=0)
    page = visit(store=path).see("/dashboard")
    assert "No labels yet." in page
    assert now(page)["precision"] == "none"
    assert now(page)["kept"] != "0"
    assert "has both a probability (vet with a calibration) and a label" in words(page)
    assert "precision-line" not in page


def test_the_curve_stands_as_a_table_too(visitor, kept):
    said = words(visitor.see("/dashboard?labels=truth"))
    lowest = min(one.final_score for one, _ in kept if one.final_score is not None)
    scored = [judgment for one, judgment in kept if one.final_score is not None]
    right = wilson(sum(judgment.correct for judgment in scored), len(scored))
    assert f"{lowest - 0.01:.2f} {100 * len(scored) / len(kept):.1f} % {100 * right.estimate:.1f} %" in said


def test_thresholds_beyond_the_scale_are_drawn_to_its_ends(visitor):
    assert now(visitor.see("/dashboard?keep=-7&discard=99"))["asked"] == "3"
    assert now(visitor.see("/dashboard?keep=999"))["kept"] == "0"


def test_wishes_that_make_no_sense(visitor):
    for query in ("keep=nan", "keep=x", "days=3", "basis=luck", "labels=mine"):
        assert "<svg" not in visitor.see(f"/dashboard?{query}", 422)


def test_scripts_in_names_stay_text(filled):
    page = filled(0, cases=False, hostile=True).see("/dashboard?days=0")
    assert "<script>window" not in page
    assert "<img" not in page
    assert "judge &lt;script&gt;" in page


def test_no_store_is_an_error_for_people(visit):
    assert "start it with --store" in words(visit().see("/dashboard", 503))
