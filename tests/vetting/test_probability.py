"""Probabilities laid over assessments: the same as the calibration's own, and never a number out of nothing."""

import asyncio

import numpy as np
import pytest

from metajudge import Engine
from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import FailureKind, InputError
from metajudge.evidence.verdicts import collected
from metajudge.monitor.report import promise_id
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName
from metajudge.types import Status
from metajudge.vetting.annotating import annotated_column
from metajudge.vetting.probability import Probabilities
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded
from tests.doubles.judgments import judgment, reply
from tests.doubles.promised import promise

FREE = ["order", "strength", "peers"]
FITTED_ON = crowd(60)
FRESH = crowd(20, seed=9, prefix="new")


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(build_table(FITTED_ON, FREE), repeats=1)


def opinion(request):
    """A score that leans on the judged text alone, so that it is the same for the same judgment."""
    rubric = load_rubric("short").for_verdict_alone()  # the crowd gives no rationales
    return reply(3 + sum(map(ord, request.messages[-1].text)) % 3, rubric)


def scripted(name="opinion", model="scripted"):
    found = ScriptedModel(opinion, name=model)
    found.agent = name
    return found


async def vetted(judgments, agents=(), **options):
    results = {}
    async with Engine(agents, **options) as engine:
        summary = await engine.vet_all(
            judgments, on_result=lambda _index, one, result: results.update({one.id: result})
        )
    return results, summary


def guaranteed(calibration, threshold, judges=()):
    return calibration.with_guarantee(promise(threshold, judges=judges))


PANEL = Panel((), StrategyName.SIGNALS, 4.5)


def completed(overlay, owns, broken=frozenset()):
    """The assessments of all rows with what the calibration says."""
    rows = np.arange(len(owns))
    column = annotated_column(owns, rows, lambda _: PANEL, probabilities=overlay, rows=rows, broken=broken)
    return [column.at(at, own) for at, own in enumerate(owns)]


class TestProbabilities:
    async def test_are_the_calibrations_own_and_out_of_fold_for_judgments_fitted_on(self, calibration):
        found, summary = await vetted(FRESH, calibration=calibration)
        table = build_table(FRESH, FREE)
        expected = np.ma.getdata(calibration.probabilities(table).probabilities)
        assert [found[name].probability for name in table.judgment_ids] == pytest.approx(list(expected), abs=1e-9)
        assert {one.calibration for one in found.values()} == {calibration.digest}
        assert all(one.calibrated for one in found.values())
        assert summary.with_probability == len(FRESH)
        found, _ = await vetted(FITTED_ON, calibration=calibration)
        stored = {name: p for one in calibration.provenance.questions.values() for name, p in one.items()}
        assert {name: one.probability for name, one in found.items()} == stored
        assert {one.probability_marks for one in found.values()} == {("seen_in_fit",)}

    async def test_a_broken_promise_is_stamped_on_nothing_and_one_judgment_weighed_among_the_others(self, calibration):
        both = guaranteed(guaranteed(calibration, 0.5, ("owl",)), 0.5, ("wren",))
        overlay = Probabilities.of_facts(both, collected(FRESH))
        found, _ = await vetted(FRESH, calibration=calibration)
        mine = next(one for one in both.promises if one.judges == ("owl",))
        broken = {promise_id(both.digest, mine.stamp())}
        after = completed(overlay, [found[one.id] for one in FRESH], broken)
        assert {one.judge for one in after if one.guarantee} == {"wren"}
        assert {one.probability_marks for one in after if one.judge == "owl"} == {("promise_broken",)}
        before = {one.judgment_id: one for one in completed(overlay, [found[one.id] for one in FRESH])}
        assert all(one == before[one.judgment_id] for one in after if one.judge != "owl")
        found, _ = await vetted(FRESH, calibration=calibration)
        one = FRESH[0]
        async with Engine(calibration=calibration) as engine:
            together = await engine.vet(one, others=FRESH)
            alone = await engine.vet(one)
        assert together.probability == found[one.id].probability
        assert alone.probability != together.probability

    async def test_a_tie_or_an_unknown_judge_has_none_unless_allowed_and_unknown_ones_alone_are_refused(
        self, calibration
    ):
        tie = judgment("tie", judge="owl", verdict="A=B")
        found, _ = await vetted([*FRESH, tie], calibration=calibration)
        assert (found["tie"].probability, found["tie"].probability_marks) == (None, ("undecided_verdict",))
        assert found["tie"].calibrated is False
        other = judgment("other", judge="stork")
        found, _ = await vetted([*FRESH, other], calibration=calibration)
        assert (found["other"].probability, found["other"].probability_marks) == (None, ("other_judge",))
        with pytest.raises(InputError, match="fitted on judgments by jay, owl, wren, and the input's are by stork"):
            await vetted([judgment("other", judge="stork")], calibration=calibration)
        found, _ = await vetted(
            [judgment("other", judge="stork")], calibration=calibration, allow_other_calibration=True
        )
        assert 0 < found["other"].probability < 1
        assert "other_judge" in found["other"].probability_marks


@pytest.fixture(scope="module")
def scored():
    found, _ = asyncio.run(vetted(FITTED_ON, [scripted()]))
    return fit_calibration(
        build_table(FITTED_ON, [*FREE, "agents"], agent_scores=AgentScores.from_assessments(found.values())), repeats=1
    )


class TestAgentScores:
    async def test_probability_follows_the_agents_scores_and_no_other_agents_rubric_failures_or_early_exit(
        self, scored
    ):
        found, _ = await vetted(FRESH, [scripted()], calibration=scored)
        table = build_table(FRESH, [*FREE, "agents"], agent_scores=AgentScores.from_assessments(found.values()))
        expected = np.ma.getdata(scored.probabilities(table).probabilities)
        assert [found[name].probability for name in table.judgment_ids] == pytest.approx(list(expected), abs=1e-9)
        async with Engine([scripted()], calibration=scored, early_exit=True) as engine:
            assert engine.vetter.default.early_exit is False
        with pytest.raises(InputError, match="its agents are scripted"):
            await vetted(FRESH, [scripted(model="another")], calibration=scored)
        with pytest.raises(InputError, match="another rubric"):
            await vetted(FRESH, [scripted()], calibration=scored, rubric="long")
        mute = ScriptedModel(lambda _request: "no score at all", name="scripted")
        found, _ = await vetted(FRESH[:6], [mute], calibration=scored)
        assert {(one.probability, one.probability_marks) for one in found.values()} == {(None, ("no_agent_scores",))}


class TestGuarantee:
    async def test_the_guaranteed_threshold_decides(self, calibration):
        sure = guaranteed(calibration, 0.7)
        found, summary = await vetted(FRESH, calibration=sure)
        assert {one.accepted for one in found.values()} == {True, False}
        assert all(one.accepted == (one.probability >= 0.7) for one in found.values())
        stamped = {name for name, one in found.items() if one.guarantee is not None}
        assert stamped == {name for name, one in found.items() if one.accepted}, "only what passes its threshold"
        assert {(one.decided_by, one.cut, one.cut_from) for one in found.values()} == {("probability", 0.7, "promise")}
        assert "at least 80 % of them are right, one judgment drawn per question" in summary.guarantees[0]
        assert "Judgments by jay, owl and wren, taken together and not each judge alone" in summary.guarantees[0]
        assert {found[name].guarantee.judges for name in stamped} == {("jay", "owl", "wren")}

    async def test_no_probability_and_other_judges_decide_nothing_under_a_guarantee(self, calibration):
        tie = judgment("tie", judge="owl", verdict="A=B")
        found, _ = await vetted([*FRESH, tie], calibration=guaranteed(calibration, 0.7))
        assert (found["tie"].status, found["tie"].accepted) == (Status.UNSCORED, None)
        assert found["tie"].failure.kind is FailureKind.NO_EVIDENCE
        found, _ = await vetted(FRESH, calibration=guaranteed(calibration, 0.7, judges=("owl",)))
        assert {one.judge for one in found.values() if one.guarantee is not None} == {"owl"}

    async def test_a_question_seen_in_the_fit_is_never_stamped_also_when_judged_again(self, calibration):
        found, summary = await vetted(FITTED_ON[:60], calibration=guaranteed(calibration, 0.01))
        assert {one.probability_marks for one in found.values()} == {("seen_in_fit",)}
        assert {one.guarantee for one in found.values()} == {None}
        assert all(one.probability is not None for one in found.values())
        assert all(one.kept is (one.probability >= 0.9) for one in found.values())
        assert summary.kept_under_guarantee == 0
        assert summary.kept_without_guarantee == {"seen_in_fit": summary.accepted}
        again = [one.model_copy(update={"id": f"again-{one.id}"}) for one in FITTED_ON[:12]]
        found, _ = await vetted(again, calibration=guaranteed(calibration, 0.01))
        assert {one.guarantee for one in found.values()} == {None}
        assert {one.probability_marks for one in found.values()} == {("question_seen_in_fit",)}

    async def test_a_judges_file_without_its_peers_is_never_stamped(self, calibration):
        alone = [one for one in FRESH if one.judge == "owl"]
        found, summary = await vetted(alone, calibration=guaranteed(calibration, 0.01))
        assert all("absent_signal" in one.probability_marks for one in found.values())
        assert {one.guarantee for one in found.values()} == {None}
        assert {one.status for one in found.values()} <= {Status.ASSESSED, Status.UNSCORED}
        assert summary.kept_under_guarantee == 0
        assert {one.cut_from for one in found.values() if one.probability is not None} == {"default"}
        assert {one.outside_guarantee for one in found.values() if one.probability is not None} == {("absent_signal",)}
        assert summary.outside_guarantee["absent_signal"] == summary.with_probability
        assert summary.to_json()["guarantees"] == [], "nothing may be called guaranteed"

    async def test_an_unknown_category_or_judge_is_never_stamped_though_its_probability_is_allowed(self, calibration):
        other = crowd(6, seed=9, prefix="odd", categories=("Poetry",))
        found, _ = await vetted(other, calibration=guaranteed(calibration, 0.01))
        assert all("unknown_category" in one.probability_marks for one in found.values())
        assert {one.guarantee for one in found.values()} == {None}
        found, _ = await vetted(
            [*FRESH, judgment("other", judge="stork")],
            calibration=guaranteed(calibration, 0.01, judges=("owl", "stork")),
            allow_other_calibration=True,
        )
        assert "other_judge" in found["other"].probability_marks
        assert found["other"].guarantee is None

    async def test_what_the_guarantee_does_not_cover_is_not_counted_under_it_also_over_http_and_alone(
        self, calibration
    ):
        sure = guaranteed(calibration, 0.7, judges=("owl",))
        found, summary = await vetted(FRESH, calibration=sure)
        kept = [one for one in found.values() if one.accepted]
        assert summary.kept_under_guarantee == sum(one.judge == "owl" for one in kept) > 0
        assert {one.outside_guarantee for one in found.values() if one.judge == "owl"} == {()}
        assert {one.outside_guarantee for one in found.values() if one.judge != "owl"} == {("judge_not_covered",)}
        assert summary.kept_without_guarantee == {"judge_not_covered": sum(one.judge != "owl" for one in kept)}
        assert set(summary.judges_without_guarantee) == {one.judge for one in kept} - {"owl"}
        assert summary.kept_under_guarantee + summary.kept_without_guarantee.total() == summary.accepted
        data = summary.to_json()
        assert data["kept_under_guarantee"] == summary.kept_under_guarantee
        assert data["kept_without_guarantee"] == dict(summary.kept_without_guarantee)
        async with Engine(calibration=guaranteed(calibration, 0.01)) as engine:
            alone = await engine.vet(FRESH[0])  # without its peers
            among = await engine.vet(FRESH[0], others=FRESH)
        assert (alone.guarantee, alone.probability_marks) == (None, ("absent_signal",))
        assert among.guarantee is not None


class TestStore:
    async def test_a_promise_stamped_by_an_earlier_version_does_not_come_back_from_the_store(
        self, calibration, tmp_path, monkeypatch
    ):
        store, sure = tmp_path / "metajudge.db", guaranteed(calibration, 1e-6)
        with monkeypatch.context() as earlier:  # which withheld nothing
            earlier.setattr("metajudge.calibration.calibration.outside_domain", lambda _marks: ())
            stamped, _ = await vetted(FITTED_ON[:6], store=store, calibration=sure)
        assert all(one.guarantee is not None for one in stamped.values())
        await vetted(FITTED_ON[:6], store=store, calibration=sure)
        async with Engine(store=store) as engine:
            shown = await engine.store.show(FITTED_ON[0].id)
        newest = max(shown["assessments"], key=lambda one: one["assessment_id"])
        assert newest["payload"]["guarantee"] is None

    async def test_a_calibration_asks_no_model_anew(self, calibration, tmp_path):
        store = tmp_path / "metajudge.db"
        plain, _ = await vetted(FRESH[:12], [scripted()], store=store)
        again = scripted()
        found, summary = await vetted(FRESH[:12], [again], store=store, calibration=calibration)
        assert (len(again.requests), summary.reused) == (0, 12)
        assert {name: one.final_score for name, one in found.items()} == {n: o.final_score for n, o in plain.items()}
        assert all(one.probability is not None for one in found.values())


def test_ids_given_twice_are_refused(calibration):
    with pytest.raises(InputError, match="twice"):
        Probabilities.of_facts(calibration, collected([FRESH[0], FRESH[0]]))


def test_categories_have_probabilities_and_other_kinds_say_why_not():
    fitted = fit_calibration(build_table(graded(60), ["peers"]), repeats=1)
    new = graded(10, seed=3, prefix="fresh")
    stray = [one.model_copy(update={"id": f"{one.id}/pair", "judge": "owl"}) for one in FRESH[:2]]
    found = Probabilities.of_facts(fitted, collected([*new, *stray]))
    expected = fitted.probabilities(build_table(new, ["peers"]).with_scales(fitted.scales))
    said = found.column(np.arange(len(new) + len(stray)), frozenset(), [])
    assert said.probabilities[: len(new)] == pytest.approx(np.asarray(expected.probabilities).round(9))
    assert np.isnan(said.probabilities[len(new)])
    assert said.kinds[said.codes[len(new)]].marks == ("other_kind",)


class TestOpen:
    async def test_what_free_evidence_leaves_open_a_guarantee_decides(self):
        """A calibration over the judge's own word alone: without peers the score is no decision, the probability is."""
        alone = [one for one in crowd(40, seed=3, prefix="own") if one.judge == "owl"]
        own = fit_calibration(build_table(alone, ["strength", "order"]), repeats=1)
        fresh = [one for one in crowd(20, seed=4, prefix="later") if one.judge == "owl"]
        plain, _ = await vetted(fresh, calibration="none")
        found, summary = await vetted(fresh, calibration=guaranteed(own, 0.01))
        assert Status.UNSCORED in {one.status for one in plain.values()}
        stamped = [one for one in found.values() if one.guarantee is not None]
        assert {one.status for one in stamped} == {Status.ASSESSED}
        assert {one.failure for one in stamped} == {None}
        assert summary.kept_under_guarantee == len(stamped) > 0


class TestShipped:
    """The shipped default in vetting."""

    def test_decides_on_pairs_with_peers_and_beside_agents_where_a_threshold_is_given(self) -> None:
        found, _ = asyncio.run(vetted(FRESH, calibration="shipped"))
        decided = [one for one in found.values() if one.decided_by == "probability"]
        assert decided
        for one in decided:
            assert one.probability_source == "transferred"
            assert not one.calibrated
            assert one.guarantee is None
            assert one.kept is (one.probability >= 0.9)
            assert (one.cut, one.cut_from) == (0.9, "default")
        again, _ = asyncio.run(vetted(FRESH, calibration="shipped", cut=0.5))
        kept, fewer = (sum(one.kept is True for one in each.values()) for each in (again, found))
        assert kept > fewer
        found, _ = asyncio.run(vetted(FRESH[:3], (scripted(),), calibration="shipped", threshold=4.0))
        assert {(one.decided_by, one.cut, one.cut_from) for one in found.values()} == {("score", 4.0, "typed")}
        assert {one.probability_source for one in found.values()} == {"transferred"}
