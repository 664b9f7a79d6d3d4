"""A verdict that stands alone is answered by a stored fit of its judge's history, or a person is asked and told why."""

import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import metajudge
from metajudge.calibration.calibration import Calibration
from metajudge.cli.app import app
from metajudge.errors import InputError
from metajudge.monitor.stored import CALIBRATION
from metajudge.reading.reasons import as_judgment
from metajudge.reviews.review import HumanDecision
from metajudge.store import open_store
from metajudge.vetting.history import FEWEST, fit_history, put_in_force, versions
from tests.doubles.judgments import review_on

NEW = {"question": "Which?", "responses": ["long " * 9, "no"], "judge": "owl", "rationale": "A is better."}


def record(number, judge="owl", **changes):
    """A judge whose strong verdicts are right in 9 of 10 cases, and whose others are in 1 of 4."""
    rng = np.random.default_rng([number, 5])
    strong = bool(rng.random() < 0.5)
    right = bool(rng.random() < (0.9 if strong else 0.25))
    loose = {
        "question": f"Question {number}?",
        "responses": ["yes " * (1 + number % 7), "no"],
        "verdict": "A>>B" if strong else "A>B",
        "label": "A" if right else "B",
        "judge": judge,
        "rationale": "A is better.",
    }
    return as_judgment({**loose, **changes})


def peer(number, owl):
    """Another judge, who is always right."""
    return record(number, "fox", verdict="A" if owl.correct else "B", label="A" if owl.correct else "B")


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path / "s.db")
    yield opened
    await opened.close()


async def keep(store, records):
    async with metajudge.Engine(store=store) as engine:
        await engine.vet_all(records)


async def answer(store, **changes):
    async with metajudge.Engine(store=store) as engine:
        return await engine.vet({**NEW, "verdict": "A>>B", **changes})


async def fitted(store, judge="owl"):
    made, refused = await fit_history(store, judge, now=1.0)
    return made, refused


async def test_a_named_judges_history_gives_the_probability_by_which_the_verdict_is_decided(store):
    await keep(store, [record(number) for number in range(120)])
    [made], refused = await fitted(store)
    assert (made.number, made.questions, made.labels, made.people, refused) == (1, 120, 120, 0, [])
    strong, plain = await answer(store), await answer(store, verdict="A")
    assert strong.probability == pytest.approx(0.9, abs=0.1)
    assert plain.probability == pytest.approx(0.25, abs=0.12)
    for one in (strong, plain):
        assert (one.decided_by, one.cut, one.calibration) == ("probability", 0.9, made.calibration)
        assert one.kept == (one.probability >= 0.9)
    assert strong.defaulted == ("id", "item_id")


async def test_a_fit_reads_what_a_verdict_alone_has_whatever_stood_beside_it(store, tmp_path):
    own = [record(number) for number in range(80)]
    await keep(store, own)
    [alone], _ = await fitted(store)
    other = await open_store(tmp_path / "with-peers.db")
    await keep(other, own + [peer(number, one) for number, one in enumerate(own)])
    [beside], _ = await fitted(other)
    [entry] = await other.audit_log.entries(CALIBRATION, beside.calibration)
    await other.close()
    assert beside.calibration == alone.calibration
    fit = Calibration.model_validate(entry.payload)
    assert set(fit.identity.signals) == {"strength", "rationale", "format"}
    assert not [name for name in fit.profiles if name.partition(".")[0] in ("peers", "order", "consensus", "voices")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"judge": None}, "its judge is not named"),
        ({"judge": "a cat"}, "there is no history of judge 'a cat'"),
        ({"instruction": "Be strict."}, "under another instruction"),
        ({"responses": ["yes"], "verdict": 4}, "has no grades"),
        ({"verdict": "tie"}, "says nothing of a tie"),
    ],
)
async def test_without_a_history_that_fits_a_person_is_asked_and_told_what_would_answer(store, changes, reason):
    await keep(store, [record(number) for number in range(40)])
    await fitted(store)
    found = await answer(store, **changes)
    assert (found.do.action, found.kept, found.probability) == ("ask", None, None)
    assert reason in found.do.reason
    assert "give agents, or other verdicts on the item" in found.do.reason


async def test_where_nothing_is_stored_the_reason_says_so():
    async with metajudge.Engine() as engine:
        assert "nothing is stored here" in (await engine.vet({**NEW, "verdict": "A"})).do.reason


async def test_beside_another_verdict_the_history_is_silent(store):
    await keep(store, [record(number) for number in range(40)])
    await fitted(store)
    async with metajudge.Engine(store=store) as engine:
        loose = {**NEW, "verdict": "A>>B"}
        found = await engine.vet(loose, others=[{**loose, "judge": "fox"}])
    assert (found.probability, found.calibration) == (None, None)


@pytest.mark.parametrize("options", [{"threshold": 3.0}, {"policy": "verdict_score"}])
async def test_a_typed_threshold_or_a_policy_decides_before_the_history(store, options):
    await keep(store, [record(number) for number in range(40)])
    await fitted(store)
    async with metajudge.Engine(store=store, **options) as engine:
        found = await engine.vet({**NEW, "verdict": "A>>B"})
    assert found.decided_by != "probability"
    assert found.probability is not None


async def test_an_instruction_has_a_history_of_its_own(store):
    await keep(store, [record(number, instruction="Be strict.") for number in range(60)])
    await keep(store, [record(number, instruction="Be mild.") for number in range(10)])
    made, [refused] = await fitted(store)
    assert len(made) == 1
    assert f"10 labelled questions, and a fit needs {FEWEST}: label 20 more" in refused
    assert (await answer(store, instruction="Be strict.")).probability is not None
    assert (await answer(store, instruction="Be mild.")).probability is None


async def test_a_version_changes_by_command_alone(store):
    await keep(store, [record(number) for number in range(60)])
    [first], _ = await fitted(store)
    before = await answer(store)
    await keep(store, [record(number, label="B") for number in range(60, 120)])
    assert (await answer(store)).calibration == first.calibration
    [second], _ = await fitted(store)
    assert second.number == 2
    assert (await answer(store)).calibration == second.calibration
    await put_in_force(store, "owl", 1, now=2.0)
    assert await answer(store) == before
    assert [one.in_force for one in await versions(store)] == [True, False]
    await put_in_force(store, "owl", 0, now=3.0)
    assert (await answer(store)).probability is None
    with pytest.raises(InputError, match=r"no version 3 .* there are: 1, 2"):
        await put_in_force(store, "owl", 3, now=4.0)


async def test_peoples_reviews_are_labels_and_count_before_the_items(store):
    records = [record(number) for number in range(80)]
    await keep(store, records)
    [plain], _ = await fitted(store)
    some = records[:40]
    await store.reviews.open([review_on(one, verdict=one.verdict) for one in some])
    said = [(one.id, "reject" if one.correct else "approve") for one in some]
    await store.reviews.import_decisions(
        [HumanDecision(review_id=name, reviewer="ada", outcome=one, decided_at=2.0) for name, one in said]
    )
    [reviewed], _ = await fitted(store)
    assert (reviewed.labels, reviewed.people, reviewed.questions) == (40, 40, 80)
    assert reviewed.calibration != plain.calibration


def test_the_command_that_a_reason_names_answers_the_next_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAJUDGE_STORE", str(tmp_path / "s.db"))
    options = {"store": "s.db"}
    metajudge.vet([record(number, "a cat") for number in range(60)], **options)
    asked = metajudge.vet({**NEW, "judge": "a cat", "verdict": "A"}, **options)
    [command] = re.findall(r"`metajudge (.*?)`", asked.do.reason)
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert "a cat version 1, pairs, no instruction: 60 labelled questions (60 labels of items, 0 of reviews)" in (
        done.stdout
    )
    assert metajudge.vet({**NEW, "judge": "a cat", "verdict": "A"}, **options).probability is not None
    listed = CliRunner().invoke(app, ["calibrate", "history"])
    assert listed.stdout == done.stdout
    for words, said in (
        (["--judge", "fox"], "no judgment by 'fox' is stored; the judges here are a cat"),
        (["--judge", "unknown"], "any judge that was not named"),
        (["--activate", "1"], "name it with --judge"),
    ):
        refused = CliRunner().invoke(app, ["calibrate", "history", *words])
        assert (type(refused.exception), said in str(refused.exception)) == (InputError, True)
