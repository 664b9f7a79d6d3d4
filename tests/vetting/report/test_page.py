"""The report of a run: the same counts as the run's own, texts escaped, blind where a policy says so, bounded."""

import asyncio
import json
import re
from dataclasses import replace

import pytest

from metajudge import vet
from metajudge.decision import load_policy
from metajudge.decision.policy import ReviewRule
from metajudge.report.document import CoverageChart, Exhibit, Histogram, Tiles
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from metajudge.store import open_store
from metajudge.types import Judgment
from metajudge.vetting.demo import sample_text
from metajudge.vetting.engine import Engine
from metajudge.vetting.report.demo import report_of_results
from metajudge.vetting.report.doubtful import MOST_SHOWN
from metajudge.vetting.report.exhibits import LONGEST
from metajudge.vetting.report.picture import Picture
from metajudge.vetting.report.stored import report_of_run
from metajudge.vetting.report.telling import Place
from metajudge.vetting.results import Results


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


def test_headline_tiles_and_chart_have_the_runs_own_numbers(judgments, assessments):
    report = report_of_results(judgments, assessments)
    kept = sum(one.accepted is True for one in assessments)
    assert report.summary[0].startswith(
        f"{kept} of 96 judgments are kept; by the labels 90.0 % (50.9 to 98.7) of the kept are right, of all 71.0 %"
    )
    (tiles,) = blocks(report, Tiles)
    assert [one.figure for one in tiles.tiles] == ["40", "3", "53", "90.0 %", "71.0 %"]
    assert "36 of 40; 95 % interval 50.9 to 98.7 % by 9 questions" in tiles.tiles[3].note
    (chart,) = blocks(report, Histogram)
    assert sum(sum(part.counts) for part in chart.parts) == 93, "those without a score are not drawn"
    assert chart.reference == 4.5
    assert {part.name: sum(part.counts) for part in chart.parts} == {"kept": 40, "discarded": 53}


def test_the_curve_keeps_equal_scores_together_and_its_last_point_is_everything(judgments, assessments):
    (chart,) = blocks(report_of_results(judgments, assessments), CoverageChart)
    points = chart.curves[0].points
    assert (points[-1].selected, points[-1].precision) == (93, pytest.approx(66 / 93))
    scores = sorted((one.final_score for one in assessments if one.final_score is not None), reverse=True)
    for point in points[:-1]:
        assert scores[point.selected - 1] > scores[point.selected], "a selection that cuts through equal scores"
        assert point.low <= point.precision <= point.high
    assert chart.marks[0].precision == pytest.approx(0.9)


def test_blocks_and_single_results_give_the_same_picture(judgments):
    async def pictured(**how):
        picture = Picture()
        async with Engine() as engine:
            results = Results(watcher=picture)
            if how:
                await engine.vet_all(judgments, results=results)
            else:
                results.expect(judgments)
                await engine.vet_all(judgments, on_result=results.add)
        return picture

    one, other = asyncio.run(pictured()), asyncio.run(pictured(blocks=True))
    assert one.fates == other.fates
    assert one.judges == other.judges
    assert one.values == other.values
    assert sorted(one.labelled.values) == sorted(other.labelled.values)
    names = [[shown.assessment.judgment_id for shown in picture.doubtful.shown()] for picture in (one, other)]
    assert names[0] == names[1]
    assert all(shown.judgment is not None for shown in other.doubtful.shown())
    assert {item: one.judgment.id for item, one in other.doubtful.wrong.items()} == {
        item: one.judgment.id for item, one in one.doubtful.wrong.items()
    }


def test_the_doubtful_ones_are_the_nearest_at_most_one_of_each_item(judgments, assessments):
    picture_of = {one.judgment_id: abs(one.final_score - 4.5) for one in assessments if one.final_score is not None}
    report = report_of_results(judgments, assessments)
    section = next(section for section in report.sections if section.title == "The doubtful ones")
    shown = [block.title for block in section.blocks]
    assert len(shown) == MOST_SHOWN
    assert len({name.split("/")[0] for name in shown}) == MOST_SHOWN
    distances = [picture_of[name] for name in shown]
    assert distances == sorted(distances)
    assert shown[0] == min(picture_of, key=picture_of.get)


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
    named = [
        one.model_copy(
            update={
                "item": one.item.model_copy(
                    update={"responses": {"A": "I am osprey-70b and I say yes", "B": one.item.responses["B"]}}
                ),
            }
        )
        for one in judgments[:1]
    ]
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
    assert "right" not in report.summary[0]
    assert not blocks(report, CoverageChart)


@pytest.mark.slow
def test_a_stored_run_gives_the_same_report(judgments, tmp_path):
    async def stored():
        path = tmp_path / "s.duckdb"
        async with Engine(store=path) as engine:
            await engine.vet_all(judgments)
        store = await open_store(path)
        try:
            (run,) = await store.runs(1)
            return await report_of_run(store, run, Place())
        finally:
            await store.close()

    report = asyncio.run(stored())
    assert report.summary[0].startswith("40 of 96 judgments are kept; by the labels 90.0 %")
    assert len(blocks(report, Exhibit)) == MOST_SHOWN + 1
    assert json.loads(report.model_dump_json())["version"] == 1


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


def test_the_policy_is_known_before_the_first_result(judgments):
    seen = []

    class Watched(Picture):
        def expect_blocks(self, intake, correct, questions):
            seen.append(self.policy)
            super().expect_blocks(intake, correct, questions)

    async def pictured():
        async with Engine(policy="verdict") as engine:
            await engine.vet_all(judgments, results=Results(watcher=Watched()))
            return engine.policy

    policy = asyncio.run(pictured())
    assert policy is not None
    assert seen == [policy]
