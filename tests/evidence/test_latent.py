from typing import Any

import numpy as np
import pytest

from metajudge.evidence import latent
from metajudge.evidence.class_answers import ClassAnswers
from metajudge.evidence.comparison import RecordedVerdict
from metajudge.evidence.latent import fit_latent
from metajudge.types import Category, Pairwise
from tests.evidence.verdicts import collected

Records = list[tuple[str, list[RecordedVerdict]]]


def fitted(records: Records) -> tuple[ClassAnswers, Any]:
    (answers,) = collected(records)
    return answers, fit_latent(answers)


def graders(skills: dict[str, float], items: int = 300, seed: int = 0, copies: int = 0) -> tuple[Records, list[bool]]:
    """Judges who know the truth with a probability and guess otherwise; copies repeat the first judge."""
    rng = np.random.default_rng(seed)
    truth = [bool(one) for one in rng.integers(2, size=items)]
    records: Records = []
    for at, true in enumerate(truth):
        given = {
            judge: true if rng.random() < skill else bool(rng.integers(2)) for judge, skill in sorted(skills.items())
        }
        first = given[min(given)]
        given |= {f"copy{n}": first for n in range(copies)}
        records.append((f"i{at}", [RecordedVerdict(judge, ("A",), Category(said)) for judge, said in given.items()]))
    return records, truth


def test_skills_and_truth_are_recovered() -> None:
    skills = {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.3, "e": 0.0}
    records, truth = graders(skills, items=1500)
    answers, fit = fitted(records)
    assert fit.converged
    assert dict(zip(answers.judges, fit.skill, strict=True)) == pytest.approx(skills, abs=0.25)
    assert fit.skill.tolist() == sorted(fit.skill, reverse=True)
    found = fit.posterior[:, 1] > 0.5
    assert np.mean(found == truth) > 0.93


def test_confusions_are_distributions_with_the_sensitivity_of_knowing_or_guessing() -> None:
    _, fit = fitted(graders({"a": 0.9, "b": 0.7, "c": 0.5})[0])
    confusion = fit.confusion()
    assert confusion.sum(axis=2) == pytest.approx(np.ones((3, 2)))
    assert confusion[:, 0, 0] == pytest.approx(fit.skill + (1 - fit.skill) * fit.guesses[:, 0])
    assert confusion[:, 0, 0] + confusion[:, 1, 1] == pytest.approx(1 + fit.skill, abs=0.02)


def test_a_preference_for_one_class_is_a_guess_and_no_skill() -> None:
    records, _ = graders({"a": 0.8, "b": 0.8, "c": 0.8})
    yes = RecordedVerdict("yes", ("A",), Category(True))
    answers, fit = fitted([(item, [*verdicts, yes]) for item, verdicts in records])
    at = answers.judges.index("yes")
    assert fit.skill[at] < fit.skill[:at].min() / 2
    assert fit.guesses[at, 1] > 0.9


def test_copies_count_less_than_independent_judges() -> None:
    skills = {"a": 0.6, "b": 0.6, "c": 0.6, "d": 0.6}
    _, alone = fitted(graders(skills)[0])
    answers, copied = fitted(graders(skills, copies=3)[0])
    assert copied.effective < alone.effective + 1.0
    first, copy = answers.judges.index("a"), answers.judges.index("copy0")
    assert copied.correlation[first, copy] == pytest.approx(1.0)
    assert abs(copied.correlation[first, answers.judges.index("d")]) < 0.3


def test_judges_of_one_model_count_less() -> None:
    records, _ = graders({"a": 0.6, "b": 0.6, "c": 0.6, "d": 0.6})
    (answers,) = collected(records)
    apart, together = fit_latent(answers), fit_latent(answers, {"a": "m", "b": "m", "c": "m", "d": "m"})
    assert together.effective == pytest.approx(4 / (1 + 3 * latent.SAME_MODEL))
    assert together.effective < apart.effective <= 4 / (1 + 3 * latent.LEAST_CORRELATION)
    assert together.posterior.max(axis=1).mean() < apart.posterior.max(axis=1).mean()


def test_position_bias_is_told_from_preference() -> None:
    """A judge that always names what it sees first says nothing, in whichever order it was asked."""
    rng = np.random.default_rng(2)
    records: Records = []
    for at in range(300):
        winner, loser = ("A", "B") if rng.integers(2) else ("B", "A")
        given = []
        for judge in ("p", "q", "r"):
            better = rng.random() < 0.85
            verdict = Pairwise(winner, loser, 1) if better else Pairwise(loser, winner, 1)
            given.append(RecordedVerdict(judge, ("A", "B") if rng.integers(2) else ("B", "A"), verdict))
        given.append(RecordedVerdict("first", ("A", "B"), Pairwise("A", "B", 1)))
        records.append((f"i{at}", given))
    answers, fit = fitted(records)
    biased = answers.judges.index("first")
    assert fit.skill[biased] < 0.3 < fit.skill[answers.judges.index("p")]
    assert fit.guesses[biased, 0] > 0.9


def test_repeats_of_one_judge_are_not_further_judges() -> None:
    records, _ = graders({"a": 0.6, "b": 0.6, "c": 0.6})
    repeated = [(item, [*verdicts, *([verdicts[0]] * 9)]) for item, verdicts in records]
    _, fit = fitted(repeated)
    assert fit.repeats == pytest.approx(1.0, abs=1e-6)
    _, once = fitted(records)
    assert fit.posterior == pytest.approx(once.posterior, abs=1e-6)
    assert fit.effective == pytest.approx(once.effective)


def test_swapping_names_or_lines_changes_nothing() -> None:
    records, _ = graders({"a": 0.8, "b": 0.6, "c": 0.4, "d": 0.2}, items=60)
    _, fit = fitted(records)
    _, reversed_ = fitted([(item, verdicts[::-1]) for item, verdicts in records])
    assert reversed_.posterior == pytest.approx(fit.posterior, abs=1e-9)
    flipped = [
        (item, [RecordedVerdict(one.judge, one.order, Category(not one.verdict.value)) for one in verdicts])  # type: ignore[union-attr]
        for item, verdicts in records
    ]
    assert fitted(flipped)[1].posterior[:, ::-1] == pytest.approx(fit.posterior, abs=1e-4)


def test_unanimity_is_more_certain_than_a_split() -> None:
    answers, fit = fitted(graders(dict.fromkeys("abcde", 0.7), items=400)[0])
    votes = np.zeros(len(answers.subjects))
    np.add.at(votes, answers.item, answers.said == 1)
    means = [fit.posterior[votes == count, 1].mean() for count in range(6)]
    assert means == sorted(means)
    assert means[0] < 0.1 < 0.25 < means[2] < 0.5 < means[3] < 0.75 < 0.9 < means[5]


def test_many_judges_and_items_are_sampled_for_correlations(monkeypatch: pytest.MonkeyPatch) -> None:
    records, truth = graders({f"j{n}": 0.6 for n in range(6)}, items=400)
    monkeypatch.setattr(latent, "MOST_ITEMS", 50)
    monkeypatch.setattr(latent, "BLOCK", 64)
    _, sampled = fitted(records)
    assert np.mean((sampled.posterior[:, 1] > 0.5) == truth) > 0.9
    monkeypatch.setattr(latent, "MOST_JUDGES", 5)
    _, crowd = fitted(records)
    assert np.array_equal(crowd.correlation, np.eye(6))


def test_one_item_and_one_judge_have_a_result() -> None:
    records: Records = [("i", [RecordedVerdict("x", ("A", "B"), Pairwise("A", "B", 1))])]
    _, fit = fitted(records)
    assert fit.posterior.shape == (1, 2)
    assert 0.5 < fit.posterior[0, 0] < 1
