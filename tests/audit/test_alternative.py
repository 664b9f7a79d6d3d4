"""The alternative-annotator test, against the published procedure written down again."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from metajudge.audit.report import audit
from tests.audit.records import pair, single

WORDS = {"model_a": "A>B", "model_b": "B>A", "tie": "A=B"}


def published(people, judge, epsilon, near):
    """Omega and rho of Calderon, Reichart and Dror: ``people`` and ``judge`` map items to answers."""
    p_values, rho = [], []
    for name, own in people.items():
        rest = {item: [one[item] for who, one in people.items() if who != name and item in one] for item in own}
        both = [(near(judge[item], rest[item]), near(own[item], rest[item])) for item in own if rest[item]]
        if len(both) >= 30:
            judges, persons = np.array(both).T
            gap = (persons >= judges - 1e-9).astype(float) - (judges >= persons - 1e-9)
            p_values.append(ttest_1samp(gap, epsilon, alternative="less").pvalue)
            rho.append((judges >= persons - 1e-9).mean())
    m, ordered = len(p_values), sorted(p_values)
    steps = [k for k, p in enumerate(ordered, 1) if p <= 0.05 * k / m / sum(1 / i for i in range(1, m + 1))]
    return max(steps, default=0) / m, np.mean(rho)


def same(answer, others):
    return np.mean([answer == other for other in others])


def rmse(answer, others):
    return -np.sqrt(np.mean([(answer - other) ** 2 for other in others]))


def labels(people, item, words=None):
    return [(name, words[own[item]] if words else own[item]) for name, own in people.items() if item in own]


@pytest.mark.parametrize(("rate", "near"), [(0.9, same), (0.6, same), (0.9, rmse), (0.5, rmse)])
def test_omega_and_rho_are_those_of_the_published_procedure(rate, near):
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 6, 200) if near is rmse else rng.integers(0, 2, 200)

    def said(rate):
        noise = rng.integers(1, 6, 200) if near is rmse else 1 - truth
        return dict(enumerate(np.where(rng.random(200) < rate, truth, noise).tolist()))

    people = {name: said(share) for name, share in zip("abcd", (0.9, 0.8, 0.7, 0.4), strict=True)}
    people["e"] = dict(list(said(0.8).items())[:20])  # too few items to be left out, but one of the others
    judge = said(rate)
    kind = float if near is rmse else bool
    answers = {name: {item: kind(one) for item, one in own.items()} for name, own in people.items()}
    given = [single(f"i{n}", "j", kind(judge[n]), labels=labels(answers, n)) for n in range(200)]
    (card,) = audit(given).judges
    found = card.alternative
    assert found.annotators == 4
    for epsilon, share in found.winning.items():
        omega, rho = published(people, judge, float(epsilon), near)
        assert (share, found.advantage.estimate) == pytest.approx((omega, rho))
    assert found.advantage.interval[0] < found.advantage.estimate < found.advantage.interval[1]


def test_it_takes_three_named_people_with_thirty_items_and_its_interval_is_by_question():
    rng = np.random.default_rng(1)

    def card(names, question=None):
        said = [[(name, bool(rng.random() < 0.8)) for name in names] for _ in range(60)]
        given = [
            single(f"i{n}", "j", n % 5 > 0, labels=one, question=question and f"q{n // 6}")
            for n, one in enumerate(said)
        ]
        return audit(given).judges[0].alternative

    assert card("ab") is None
    assert card([None, None, None]) is None
    assert card("abc").advantage.questions == 60
    assert card("abc", "by six").advantage.questions == 10


@pytest.mark.skipif(not os.environ.get("METAJUDGE_DATA"), reason="METAJUDGE_DATA names no folder of recorded data")
def test_recorded_judges_of_mt_bench_have_the_published_advantage():
    place = Path(os.environ["METAJUDGE_DATA"]) / "mtbench" / "alttest"
    people, judges = (json.loads((place / f"{name}_annotations.json").read_text()) for name in ("human", "llm"))
    items = sorted({item for own in people.values() for item in own})
    given = [
        pair(item, judge, WORDS[said[item]], labels=labels(people, item, WORDS), question=item.split("__")[0])
        for judge, said in judges.items()
        for item in items
    ]
    found = {card.judge: card.alternative for card in audit(given).judges}
    for judge, said in judges.items():
        omega, rho = published(people, said, 0.2, same)
        assert (found[judge].winning["0.2"], found[judge].advantage.estimate) == pytest.approx((omega, rho))
    assert found["gpt-4o"].advantage.estimate == pytest.approx(0.765, abs=0.001)
    assert found["gpt-4o"].advantage.questions == 32
