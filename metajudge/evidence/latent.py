"""Who is right, without labels: a latent class on every item, and judges who know it or guess.

Every item has one true class. A judge knows it with a probability of its own, its skill, and names it; otherwise it
guesses, each place with a probability of its own, whatever the truth. A judge's sensitivity to each class follows
(skill + (1 - skill) x guess of that class), and with two classes sensitivity and specificity take any values that
together are above 1. This is MACE (Hovy, Berg-Kirkpatrick, Vaswani, Hovy: "Learning Whom to Trust with MACE", 2013), a
member of the family of Dawid and Skene ("Maximum Likelihood Estimation of Observer Error-Rates Using the EM
Algorithm", 1979). Places are positions for choices between responses, so that guessing includes position bias, and
classes otherwise.

What it assumes, since agreement alone cannot show it:

- No judge is worse than guessing, which excludes that all classes are swapped, and EM starts from the majority. Where
  most judges share one error, the posterior shares it.
- Before an item's judges are heard, its classes are as frequent as all judges together name them (responses of a
  choice, which have no meaning of their own, equally frequent). Frequencies are not estimated with the rest: they
  cannot be told from a preference that the judges share, and EM ends far from the majority where it tries. Where the
  judges share a preference for one category, the posterior shares it.

Judges are not independent, so their votes are discounted. Orders and repeats of one judge on an item are correlated
observations of it; judges' errors are correlated as measured, given the class that all other judges suggest, and by no
less than :data:`LEAST_CORRELATION`. A vote among votes with correlations r counts ``1 / sum(r)``, itself included,
which for equal correlations is Kish's design effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np

from metajudge.evidence.class_answers import ClassAnswers
from metajudge.stats.arrays import Bools, Floats, Indices

ROUNDS: Final = 3
"""How often skills and correlations are estimated in turn."""
MOST_STEPS: Final = 300
"""EM steps in each round at most."""
TOLERANCE: Final = 1e-6
"""EM stops where a step changes the log likelihood by less than this an item."""
PRIOR_VOTES: Final = 8.0
"""Votes with the skill and the guesses of all judges together that are added to each judge's own."""
START_SKILL: Final = 0.5
START_VOTES: Final = 4.0
"""Votes with :data:`START_SKILL` that are added to all judges together."""
LEAST_CORRELATION: Final = 0.3
"""Correlation of two judges' errors that is assumed at least: items on which all of them err show none."""
SAME_MODEL: Final = 0.7
"""The same for two judges that are one model under different prompts, which repeats its mistakes."""
FEWEST_COMMON: Final = 8
"""Items that two judges must share for their correlation to be estimated."""
MOST_JUDGES: Final = 200
MOST_ITEMS: Final = 2_000
MOST_CELLS: Final = 2_000_000
"""Correlations are estimated for so many judges at most, on so many items, and on so many items times pairs."""
BLOCK: Final = 4_096
"""Items whose judges are compared at once."""
TINY: Final = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class LatentFit:
    """The fitted model.

    Attributes:
        posterior: [items, C] probability of each class being the true one.
        skill: [judges] probability of knowing the true class, in [0, 1).
        guesses: [judges, answers] what a judge says without knowing; rows sum to 1, the last is no single class.
        correlation: [judges, judges] of the judges' errors, as estimated, 1 on the diagonal.
        repeats: correlation of one judge's answers on an item, in [0, 1]; 1 where there are no repeats.
        effective: mean number of independent judges that those of an item are worth.
        steps: EM steps of the last round.
        converged: whether the last round ended before :data:`MOST_STEPS`.
    """

    posterior: Floats
    skill: Floats
    guesses: Floats
    correlation: Floats
    repeats: float
    effective: float
    steps: int
    converged: bool

    def confusion(self) -> Floats:
        """[judges, places, answers] probability of each answer by the place of the truth; rows sum to 1."""
        judges, answers = self.guesses.shape
        places = self.posterior.shape[1]
        found = np.repeat(((1 - self.skill)[:, None] * self.guesses)[:, None, :], places, axis=1)
        each = np.arange(min(places, answers))
        found[:, each, each] += self.skill[:, None]
        return found.reshape(judges, places, answers)


@dataclass(frozen=True, slots=True, eq=False)
class _Judges:
    skill: Floats
    guesses: Floats
    frequency: Floats
    steps: int
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """What each judge said of each item.

    Attributes:
        item, judge, count: [cells] who answered about what, and how often; sorted by item.
        of: [n] the cell of each answer.
    """

    item: Indices
    judge: Indices
    count: Floats
    of: Indices

    @classmethod
    def read(cls, answers: ClassAnswers) -> "_Cells":
        size = len(answers.judges)
        codes, of, count = np.unique(answers.item * size + answers.judge, return_inverse=True, return_counts=True)
        return cls(codes // size, codes % size, count.astype(np.float64), of)


def fit_latent(answers: ClassAnswers, models: Mapping[str, str] | None = None) -> LatentFit:
    """Estimates classes and judges together. Deterministic: equal answers give an equal result.

    Args:
        answers: of one group; at least one.
        models: judge -> the model behind it; a judge that is not named is a model of its own.

    Returns:
        The model after :data:`ROUNDS` of estimation. Skills are learned from votes that are discounted half, on the log
        scale: fully discounted votes lose the agreement that skills are learned from. The posterior is computed with
        fully discounted votes.
    """
    cells = _Cells.read(answers)
    same = _same_model(answers.judges, models or {})
    alone = 1.0 / cells.count[cells.of]
    votes, hits = alone, answers.hits
    correlation, repeats = np.eye(len(answers.judges)), 1.0
    judges = _learn(answers, hits, alone)
    for _ in range(ROUNDS - 1):
        correlation, repeats = _correlations(answers, hits, votes, judges)
        votes = _votes(cells, correlation, repeats)[0]
        judges = _learn(answers, hits, np.sqrt(alone * votes))
    least = np.where(same > 0, SAME_MODEL, LEAST_CORRELATION)
    votes, effective = _votes(cells, np.maximum(correlation, least), repeats)
    return LatentFit(
        posterior=_normalised(_evidence(answers, hits, votes, judges)),
        skill=judges.skill,
        guesses=judges.guesses,
        correlation=correlation,
        repeats=repeats,
        effective=effective,
        steps=judges.steps,
        converged=judges.converged,
    )


def _learn(answers: ClassAnswers, hits: Bools, votes: Floats) -> _Judges:
    """EM from the majority: maximum a posteriori skills and guesses, given the weight of every vote."""
    size, symbols = len(answers.judges), answers.places + 1
    posterior = np.stack([_per_item(answers, votes * hit) for hit in hits.T], axis=1) + 0.5
    posterior /= posterior.sum(axis=1, keepdims=True)
    heard = _sums(answers.judge, votes, size)
    flat = answers.judge * symbols + answers.said
    skill = np.full(size, START_SKILL)
    guesses = _smoothed(_sums(flat, votes, size * symbols).reshape(size, symbols))
    before, step, settled, frequency = -np.inf, 0, False, _frequency(answers, votes)
    while not settled and step < MOST_STEPS:
        step += 1
        stated = skill[:, None] + (1 - skill)[:, None] * guesses
        agreed = np.einsum("nc,nc->n", posterior[answers.item], hits)
        knew = agreed * skill[answers.judge] / stated.ravel()[flat]
        known = _sums(answers.judge, votes * knew, size)
        pooled = (known.sum() + START_VOTES * START_SKILL) / (heard.sum() + START_VOTES)
        skill = (known + PRIOR_VOTES * pooled) / (heard + PRIOR_VOTES)
        guesses = _smoothed(_sums(flat, votes * (1 - knew), size * symbols).reshape(size, symbols))
        logs = _evidence(answers, hits, votes, _Judges(skill, guesses, frequency, step, False))
        posterior = _normalised(logs)
        likelihood = float(np.logaddexp.reduce(logs, axis=1).sum())
        settled = abs(likelihood - before) < TOLERANCE * len(answers.subjects)
        before = likelihood
    return _Judges(skill, guesses, frequency, step, settled)


def _frequency(answers: ClassAnswers, votes: Floats) -> Floats:
    """[C] how frequent each class is before an item's judges are heard: equal for choices, else as often as named."""
    size = answers.places
    if answers.exchangeable:
        return np.full(size, 1 / size)
    named = _sums(answers.said, votes, size) + 1.0
    return np.asarray(named / named.sum())


def _smoothed(counts: Floats) -> Floats:
    """Guesses from weighted counts, drawn towards those of all judges."""
    pooled = counts.sum(axis=0) + 1.0
    mixed = counts + PRIOR_VOTES * pooled / pooled.sum()
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def _evidence(answers: ClassAnswers, hits: Bools, votes: Floats, judges: _Judges) -> Floats:
    """[items, C] log likelihood of each class and all answers on the item."""
    hit, missed = _logs(answers, judges)
    logs = np.stack([_per_item(answers, votes * np.where(column, hit, missed)) for column in hits.T], axis=1)
    return np.asarray(logs + np.log(judges.frequency))


def _logs(answers: ClassAnswers, judges: _Judges) -> tuple[Floats, Floats]:
    """[n] log likelihood of each answer where it names the true class, and where it does not."""
    guessed = (1 - judges.skill)[:, None] * judges.guesses
    place = answers.judge * judges.guesses.shape[1] + answers.said
    return np.log(judges.skill[:, None] + guessed).ravel()[place], np.log(guessed).ravel()[place]


def _per_item(answers: ClassAnswers, values: Floats) -> Floats:
    return _sums(answers.item, values, len(answers.subjects))


def _sums(codes: Indices, values: Floats | Bools, size: int) -> Floats:
    return np.asarray(np.bincount(codes, values, size), dtype=np.float64)


def _normalised(logs: Floats) -> Floats:
    shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _votes(cells: _Cells, correlation: Floats, repeats: float) -> tuple[Floats, float]:
    """[n] weight of every answer, and the mean number of independent judges of an item."""
    shared = np.clip(correlation, 0.0, 1.0)
    np.fill_diagonal(shared, 1.0)
    crowd = _crowd(cells, shared)
    effective = float((1 / crowd).sum() / len(np.unique(cells.item)))
    within = 1 + (cells.count - 1) * repeats
    return (1 / (within * crowd))[cells.of], effective


def _crowd(cells: _Cells, shared: Floats) -> Floats:
    """[cells] the sum of a judge's correlations with all judges of the item, itself included."""
    crowd = np.ones(len(cells.item))
    ends = np.searchsorted(cells.item, np.arange(0, cells.item[-1] + BLOCK, BLOCK))
    for begin, end in pairwise([*ends.tolist(), len(crowd)]):
        rows, judges = cells.item[begin:end], cells.judge[begin:end]
        if len(rows):
            there = np.zeros((int(rows[-1] - rows[0]) + 1, len(shared)))
            there[rows - rows[0], judges] = 1.0
            crowd[begin:end] = (there @ shared)[rows - rows[0], judges]
    return crowd


def _same_model(judges: tuple[str, ...], models: Mapping[str, str]) -> Floats:
    """[judges, judges] 1 for judges of one model."""
    names = np.array([models.get(judge, f"judge {judge}") for judge in judges])
    return np.asarray(names[:, None] == names[None, :], dtype=np.float64)


def _correlations(answers: ClassAnswers, hits: Bools, votes: Floats, judges: _Judges) -> tuple[Floats, float]:
    """[judges, judges] correlation of errors, and that of one judge's answers on an item.

    For a pair of judges the class of an item is weighed by what all others say of it: with their own votes in it, the
    two would seem to agree with the truth whenever they agree with each other.
    """
    size = len(answers.judges)
    if size > MOST_JUDGES:
        return np.eye(size), 1.0
    sample = _sample(answers, hits, votes, judges)
    total, there = sample.logs.sum(axis=1) + np.log(judges.frequency), sample.count > 0
    found = np.eye(size)
    for first, second in combinations(range(size), 2):
        both = there[:, first] & there[:, second]
        if both.sum() >= FEWEST_COMMON:
            weight = _normalised(total[both] - sample.logs[both, first] - sample.logs[both, second])
            value = _correlated(sample.right[both, first], sample.right[both, second], weight)
            found[first, second] = found[second, first] = value
    return found, _repeats(sample.right, sample.count, _normalised(total[:, None, :] - sample.logs))


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """ClassAnswers on some items.

    Attributes:
        count: [items, judges] number of answers.
        right: [items, judges, C] share of a judge's answers that name a class.
        logs: [items, judges, C] their log likelihood.
    """

    count: Floats
    right: Floats
    logs: Floats


def _sample(answers: ClassAnswers, hits: Bools, votes: Floats, judges: _Judges) -> _Sample:
    """All items, or evenly spaced ones where there are many."""
    items, size = len(answers.subjects), len(answers.judges)
    most = max(FEWEST_COMMON, min(MOST_ITEMS, MOST_CELLS // max(1, size * (size - 1) // 2)))
    chosen = np.unique(np.linspace(0, items - 1, min(items, most)).astype(np.intp))
    row = np.full(items, -1, dtype=np.intp)
    row[chosen] = np.arange(len(chosen))
    kept = row[answers.item] >= 0
    flat = row[answers.item[kept]] * size + answers.judge[kept]
    shape, cells = (len(chosen), size), len(chosen) * size
    count = _sums(flat, np.ones(len(flat)), cells).reshape(shape)
    hit, missed = _logs(answers, judges)
    logs = np.where(hits, hit[:, None], missed[:, None]) * votes[:, None]
    right = np.stack([_sums(flat, column, cells) for column in hits[kept].T], axis=1).reshape(*shape, -1)
    found = np.stack([_sums(flat, column, cells) for column in logs[kept].T], axis=1).reshape(*shape, -1)
    return _Sample(count, right / np.maximum(count, 1)[:, :, None], found)


def _correlated(first: Floats, second: Floats, weight: Floats) -> float:
    """Correlation of two judges' being right over [m, C] classes with weights that sum to 1 an item; 0 if constant."""
    total = weight.sum()
    one, other = first - (weight * first).sum() / total, second - (weight * second).sum() / total
    size = (weight * one**2).sum() * (weight * other**2).sum()
    return float((weight * one * other).sum() / np.sqrt(size)) if size > TINY else 0.0


def _repeats(right: Floats, counts: Floats, weight: Floats) -> float:
    """Correlation of a judge's being right in two answers on an item, pooled over judges; 1 where none repeats.

    With m answers of which a share p is right, accuracy a: the sum of the products of different deviations is
    ``(m (p - a))^2 - sum of squared deviations``.
    """
    many = counts > 1
    if not many.any():
        return 1.0
    heard = weight * (counts > 0)[:, :, None]
    accuracy = (heard * right).sum(axis=(0, 2)) / np.maximum(heard.sum(axis=(0, 2)), TINY)
    mean = accuracy[None, :, None]
    squares = counts[:, :, None] * (right * (1 - mean) ** 2 + (1 - right) * mean**2)
    products = (counts[:, :, None] * (right - mean)) ** 2 - squares
    above = float((products * weight)[many].sum())
    below = float((squares * (counts - 1)[:, :, None] * weight)[many].sum())
    return float(np.clip(above / below, 0.0, 1.0)) if below > TINY else 1.0
