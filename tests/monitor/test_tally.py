"""Decisions as columns are tallied as they are one by one."""

import numpy as np
import pytest

from metajudge.monitor.drift import Seen, SeenColumns
from metajudge.monitor.report import Watched, report_on
from metajudge.monitor.tally import Audit, Decision, DecisionColumns, Tally
from metajudge.stats.arrays import coded


def drawn(count, seed=0):
    """Decisions of three judges, with signals that come and go, and identities of which one has many values."""
    rng = np.random.default_rng(seed)
    for n in range(count):
        judge = f"judge-{rng.integers(3)}"
        values = {"score": float(rng.normal(2.0 * (n > count / 2), 1))}
        if rng.random() < 0.7:
            values["peers"] = float(rng.integers(4))
        identity = {"instruction": f"{rng.integers(30) if judge == 'judge-1' else rng.integers(1 + n // 100)}"}
        if rng.random() < 0.5:
            identity["judge_model"] = f"m{n // 200}"
        seen = Seen(judge, (None, "Math")[rng.integers(2)], f"q{n // 3}", float(n), values, identity)
        audit = None
        if rng.random() < 0.3:
            right = (True, True, False, None)[rng.integers(4)]
            audit = Audit(float(n), (0.5, 1.0)[rng.integers(2)], float(n + 1) if rng.random() < 0.8 else None, right)
        probability = float(rng.random()) if rng.random() < 0.9 else None
        kept, sampled = bool(rng.random() < 0.8), bool(rng.random() < 0.9)
        yield Decision(f"j{n}", f"digest {n}", seen, kept, probability, audit, sampled)


def columns(some):
    groups, group = coded([(one.seen.judge, one.seen.category) for one in some])
    questions, question = coded([one.seen.question for one in some])
    identities, identity = coded([tuple(one.seen.identity.items()) for one in some])
    names = {name for one in some for name in one.seen.values}
    values = {name: np.array([one.seen.values.get(name, np.nan) for one in some]) for name in names}
    at = np.array([one.seen.at for one in some])
    seen = SeenColumns(groups, group, questions, question, at, values, [dict(one) for one in identities], identity)
    return DecisionColumns(
        [(one.judgment_id, one.content) for one in some],
        seen,
        np.array([one.kept for one in some]),
        np.array([one.sampled for one in some]),
        np.array([one.probability for one in some], dtype=np.float64),
        {place: one.audit for place, one in enumerate(some) if one.audit is not None},
    )


def pages(some, size):
    return [columns(some[start : start + size]) for start in range(0, len(some), size)]


@pytest.mark.parametrize("size", [1, 7, 600])
def test_pages_of_any_size_give_the_report_of_single_decisions(size):
    some = list(drawn(600))
    whole = Tally()
    for page in pages(some, size):
        whole.extend(page)
    watched = Watched("p", 0.8, 0.1, judges=("judge-0", "judge-1", "judge-2"))
    expected = report_on(watched, Tally(some)).to_json()
    assert report_on(watched, whole).to_json() == expected
    assert expected["drift"]["found"]
    assert {one["field"] for one in expected["identities"]} == {"instruction", "judge_model"}


def test_columns_are_the_decisions_that_they_are_made_of():
    some = list(drawn(50))
    assert [one for page in pages(some, 20) for one in page.each()] == some


def test_codes_are_places_among_the_different_values():
    values, codes = coded(["b", "a", "b"])
    assert (values, codes.tolist()) == (["b", "a"], [0, 1, 0])
