"""Reviews of judgments vetted together: those, and as stored, that vetting each alone queues."""

import orjson
import pytest

from metajudge import Engine
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.decision import load_policy, parse_policy
from metajudge.store import open_store
from metajudge.types import parse_verdict
from metajudge.vetting import queueing
from tests.decision.policy_texts import band, small
from tests.doubles.crowds import crowd
from tests.doubles.graders import chosen, graded
from tests.doubles.judgments import judgment

FITTED_ON = crowd(60)
ODD = 'sums "50 %s" é'
RECORDS = [
    *crowd(20, seed=9, prefix="new", categories=(ODD, "Code")),
    *crowd(4, seed=2, prefix="bare", labelled=False),
    *FITTED_ON[:9],
    judgment("tie %d", judge="owl", verdict="A=B"),
    judgment("none", judge="owl", verdict=None, no_verdict="cut"),
    judgment("other", judge='st"ork'),
]
SCALED = [
    one.model_copy(update={"item": one.item.model_copy(update={"scale": (1.0, 5.0)})})
    for one in graded(6, kind="grade", prefix="n")
]
SINGLE = [*graded(12), *SCALED, *chosen(6), judgment("ranked", verdict=[["A"], ["B"]], label=["A", "B"])]
BANDS = [
    band("REJECT", {"below": 0.4}),
    band("REVIEW", {"at_least": 0.4, "below": 0.8}),
    band("REVIEW_PRIORITY", {"at_least": 0.8, "below": 0.9}),
    band("APPROVE", {"at_least": 0.9}),
]
LEARNED = {"recalibration": {"intercept": 0.2, "slope": 0.7}}


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(build_table(FITTED_ON, ["order", "strength", "peers"]), repeats=1)


async def queued(place, records, *, one_by_one=False, times=1, **options):
    """All columns of all reviews in their order of opening, without the time; and how many each run opened."""
    store, opened = await open_store(place), []
    for _ in range(times):
        async with Engine(store=store, **options) as engine:
            if one_by_one:
                for one in records:
                    await engine.vet(one, others=records)
                opened.append(engine.finishing.opened)
            else:
                opened.append((await engine.vet_all(records)).reviews)
    rows = await store.ask(lambda c: c.execute("SELECT * FROM reviews ORDER BY opened_at, review_id").fetchall())
    await store.close()
    return [_untimed(row) for row in rows], opened


def _untimed(row):
    *front, opened_at, reviewers, payload, redacted = row
    said = orjson.loads(payload)
    assert said["opened_at"] == opened_at
    return (*front, reviewers, payload.replace(f'"opened_at":{opened_at!r}', ""), redacted)


LABELS = parse_policy(small(bands=BANDS, adjustment=LEARNED, review={"labels": True}), "mine.yaml")
CASES = {
    "an audited share": (RECORDS, load_policy("verdict"), {"audit_share": 0.4, "seed": 3, "reviewers": 2}),
    "all, for labels and so blind": (RECORDS, LABELS, {"audit_share": 1.0}),
    "no calibration": (RECORDS, load_policy("verdict"), {}),
    "scores": ([*SINGLE, *RECORDS[:12]], load_policy("verdict_score"), {"audit_share": 0.5}),
}


@pytest.mark.parametrize("case", CASES)
async def test_blocks_queue_what_one_by_one_queues(case, calibration, tmp_path):
    records, policy, options = CASES[case]
    given = {"policy": policy, **options}
    if case not in ("no calibration", "scores"):
        given["calibration"] = calibration
    alone, counts = await queued(tmp_path / "alone.duckdb", records, one_by_one=True, **given)
    together, again = await queued(tmp_path / "blocks.duckdb", records, times=2, **given)
    assert len(alone) > 3
    assert sorted(map(repr, together)) == sorted(map(repr, alone))
    assert again == [*counts, 0]
    assert len({row[0] for row in together}) == len(together) == counts[0]


async def test_a_changed_judgment_opens_one_review_more(calibration, tmp_path):
    given = {"policy": load_policy("verdict"), "calibration": calibration, "audit_share": 1.0}
    before, _ = await queued(tmp_path / "s.duckdb", RECORDS, **given)
    *others, last = RECORDS
    changed = [*others, last.model_copy(update={"rationale": "Another one."})]
    after, (opened,) = await queued(tmp_path / "s.duckdb", changed, **given)
    assert (opened, len(after)) == (1, len(before) + 1)


def test_a_verdict_without_a_label_is_neither_right_nor_wrong():
    said = parse_verdict("A>B")
    assert [queueing.is_correct(*pair) for pair in ((said, None), (None, said))] == [None, None]
    assert queueing.is_correct(said, parse_verdict("A>B")) is True
    assert queueing.is_correct(said, parse_verdict("B>A")) is False
