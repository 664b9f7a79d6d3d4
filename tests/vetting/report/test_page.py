"""The report of a run: equal scores together, texts escaped, blind where a policy says so."""

import asyncio
import re
from dataclasses import replace

import pytest

from metajudge import vet
from metajudge.decision import load_policy
from metajudge.decision.policy import ReviewRule
from metajudge.report.document import CoverageChart, Exhibit
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from metajudge.store import open_store
from metajudge.types import Judgment
from metajudge.vetting.demo import sample_text
from metajudge.vetting.engine import Engine
from metajudge.vetting.report.charts import LONGEST
from metajudge.vetting.report.demo import report_of_results
from metajudge.vetting.report.page import Place
from metajudge.vetting.report.stored import report_of_run


@pytest.fixture(scope="module")
def judgments():
    return [Judgment.model_validate_json(line) for line in sample_text().splitlines()]


@pytest.fixture(scope="module")
def assessments(judgments):
    return vet(judgments)


def blocks(report, kind):
    return [block for section in report.sections for block in section.blocks if isinstance(block, kind)]


def texts(report):
    return " ".join([*report.summary, *(paragraph for section in report.sections for paragraph in section.paragraphs)])


def test_the_curve_keeps_equal_scores_together_and_its_last_point_is_everything(judgments):
    assessments = vet(judgments, cut=0.8)
    (chart,) = blocks(report_of_results(judgments, assessments), CoverageChart)
    points = chart.curves[0].points
    assert (points[-1].selected, points[-1].value) == (90, pytest.approx(66 / 90)), "a tie has no probability"
    scores = sorted((one.probability for one in assessments if one.probability is not None), reverse=True)
    for point in points[:-1]:
        assert scores[point.selected - 1] > scores[point.selected], "a selection that cuts through equal scores"
        assert point.low <= point.value <= point.high
    correct = {one.id: one.correct for one in judgments}
    kept = [correct[one.judgment_id] for one in assessments if one.kept]
    assert chart.marks[0].precision == pytest.approx(sum(kept) / len(kept))


def test_texts_are_escaped_cut_and_nothing_is_loaded(judgments, assessments):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>" + "x" * (2 * LONGEST)
    item = judgments[0].item.model_copy(update={"responses": {**judgments[0].item.responses, "A": evil}})
    one = judgments[0].model_copy(update={"item": item})
    page = to_html(report_of_results([one], vet([one])))
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "more characters)" in page
    assert len(page) < 60_000
    assert not re.search(r"""(?:src|href)=["'](?!#)""", page), "it loads something"
    assert "prefers-color-scheme: dark" in page
    assert "&lt;script&gt;" not in to_markdown(report_of_results([one], vet([one])))


def test_a_policy_that_wants_blind_decisions_gets_texts_without_result_or_names(judgments):
    policy = load_policy("verdict_score")
    policy = policy.model_copy(update={"review": ReviewRule(labels=True)})
    item = judgments[0].item
    responses = {"A": "I am osprey-70b and I say yes", "B": item.responses["B"]}
    named = [judgments[0].model_copy(update={"item": item.model_copy(update={"responses": responses})})]
    found = vet(named, policy=policy)
    assert found[0].do.action == "ask"
    (exhibit,) = blocks(report_of_results(named, found, policy=policy), Exhibit)
    said = exhibit.model_dump_json()
    assert exhibit.title == "Judgment 1"
    assert exhibit.below == () or "wrote" not in said
    for secret in (named[0].id, "osprey", str(named[0].verdict), "score 4", "label"):
        assert secret not in said, secret
    open_one = policy.model_copy(update={"review": ReviewRule(blind=False)})
    (exhibit,) = blocks(report_of_results(named, found, policy=open_one), Exhibit)
    assert exhibit.title == named[0].id


def test_an_empty_run_and_one_without_labels_say_so_without_a_figure(judgments):
    empty = report_of_results([], [])
    assert empty.summary[0] == "0 of 0 judgments are kept."
    to_html(empty)
    bare = [one.model_copy(update={"item": one.item.model_copy(update={"label": None})}) for one in judgments]
    report = report_of_results(bare, vet(bare))
    assert report.summary[0].endswith("without labels it is not known how many of them are right.")
    assert "%" not in report.summary[0]
    assert not blocks(report, CoverageChart)


def test_a_run_recorded_with_a_panel_of_an_earlier_version_has_its_report(judgments, tmp_path):
    agent = {"model": "local:tiny.gguf", "name": "tiny", "score": "expected", "samples": 1}
    panel = {"strategy": "cascade", "cascade": {"plan": "p.json"}, "agents": [agent]}

    async def stored():
        async with Engine(store=tmp_path / "s.duckdb") as engine:
            await engine.vet_all(judgments[:2])
        store = await open_store(tmp_path / "s.duckdb")
        try:
            (run,) = await store.runs(1)
            return await report_of_run(store, replace(run, config={"panel": panel}), Place())
        finally:
            await store.close()

    assert "Vetted by cascade of tiny=local:tiny.gguf with rubric short" in texts(asyncio.run(stored()))
