"""Made populations of questions whose precision at every threshold is known exactly.

A question has a level z, one of a few; the level fixes the chance that a judgment is right and how likely each number
of judgments is. A judgment's score is the level's, moved by one of a few steps. With ``lean`` all judgments of a
question are right or wrong together with that probability, else each by itself. So hard questions can carry more
judgments, scores can tie or mislead, and precision can rise and fall with the threshold.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metajudge.calibration.labelled_sample import LabelledSample
from metajudge.calibration.starts import Reference, rounded
from metajudge.stats.arrays import Floats, Indices

LEVELS = 60


@dataclass(frozen=True, slots=True)
class MadePopulation:
    """A population.

    Attributes:
        name: what is special about it.
        n: labelled questions in a draw.
        target: precision asked for.
        scores: [levels].
        right: [levels] chance that a judgment is right.
        sizes: [levels, most] chance of 1, 2, ... judgments.
        lean: chance that the judgments of a question are right or wrong together.
        steps: by how much judgments of one question differ in score, with equal chance.
        reference: questions whose scores are known without labels.
    """

    name: str
    n: int
    target: float
    scores: Floats
    right: Floats
    sizes: Floats
    lean: float = 0.5
    steps: tuple[float, ...] = (0.0,)
    reference: int = 60

    @property
    def most(self) -> int:
        return int(self.sizes.shape[1])

    def precision(self, threshold: float) -> float:
        """The precision of all judgments kept, exactly; 1 where nothing is kept."""
        values = rounded((self.scores[:, None] + np.array(self.steps)).ravel()).reshape(len(self.scores), -1)
        kept = (values >= round(threshold, 9)).mean(axis=1) * (self.sizes @ np.arange(1, self.most + 1))
        return float((kept * self.right).sum() / kept.sum()) if kept.sum() else 1.0

    def coverage(self, threshold: float) -> float:
        """The share of all judgments kept."""
        values = rounded((self.scores[:, None] + np.array(self.steps)).ravel()).reshape(len(self.scores), -1)
        sizes = self.sizes @ np.arange(1, self.most + 1)
        return float(((values >= round(threshold, 9)).mean(axis=1) * sizes).sum() / sizes.sum())

    def draw(self, rng: np.random.Generator) -> LabelledSample:
        """Labelled questions."""
        level, place = self._questions(self.n, rng)
        at = level[place]
        together = (rng.random(self.n) < self.lean)[place]
        chance = np.where(together, rng.random(self.n)[place], rng.random(len(place)))
        names = tuple(f"q{number:04}" for number in range(self.n))
        return LabelledSample(
            self._scores(at, rng),
            np.asarray(chance < self.right[at]),
            tuple(names[one] for one in place),
            names,
            place,
            int(np.bincount(place).max()),
        )

    def unlabelled(self, rng: np.random.Generator) -> Reference:
        """Scores without labels of other questions."""
        level, place = self._questions(self.reference, rng)
        return Reference(self._scores(level[place], rng), place)

    def _questions(self, number: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
        level = rng.integers(len(self.scores), size=number)
        size = 1 + (rng.random(number)[:, None] > np.cumsum(self.sizes, axis=1)[level]).sum(axis=1)
        return level, np.repeat(np.arange(number), np.minimum(size, self.most))

    def _scores(self, level: Indices, rng: np.random.Generator) -> Floats:
        return rounded(self.scores[level] + np.array(self.steps)[rng.integers(len(self.steps), size=len(level))])


Shape = Callable[[float], float]
ONE: tuple[Sequence[float], Sequence[float]] = ((1.0,), (1.0,))
PAIRS = ((0.1, 0.9), (0.1, 0.9))
HARD = ((0.85, 0.1, 0.05, 0.0), (0.0, 0.1, 0.2, 0.7))
EASY = ((0.0, 0.1, 0.2, 0.7), (0.85, 0.1, 0.05, 0.0))
TWELVE = (tuple([1 / 12] * 12), tuple([1 / 12] * 12))


def made(
    name: str,
    n: int,
    target: float,
    shape: Shape,
    sizes: tuple[Sequence[float], Sequence[float]] = ONE,
    levels: Sequence[float] | None = None,
    **more: float | tuple[float, ...],
) -> MadePopulation:
    """A population by the chance to be right at a score, and the sizes of easy and of hard questions."""
    scores = (np.arange(LEVELS) + 0.5) / LEVELS if levels is None else np.array(levels)
    right = np.clip([shape(float(one)) for one in scores], 0, 1)
    easy = right >= np.median(right)
    return replace(
        MadePopulation(name, n, target, scores, right, np.where(easy[:, None], *map(np.array, sizes))),
        **more,  # type: ignore[arg-type]
    )


def hair(target: float) -> Shape:
    """Right a hair less often than the target, whatever the score."""
    return lambda _: target - 1e-6


def uneven(target: float, gap: float) -> Shape:
    """Two kinds of questions at every score, easy and hard; one judgment of each question is right above the target."""
    return lambda s: target + 0.03 + gap * (1 if int(s * LEVELS) % 2 else -1)


def populations() -> Iterator[MadePopulation]:
    """All of them: 46."""
    for n, target in ((15, 0.8), (25, 0.85), (60, 0.85), (95, 0.9), (200, 0.85), (400, 0.8)):
        yield made(f"a hair below, n {n}", n, target, hair(target))
    for n in (60, 200):
        for lean in (0.0, 0.5, 1.0):
            yield made(f"a hair below, pairs, lean {lean:g}, n {n}", n, 0.85, hair(0.85), PAIRS, lean=lean)
        yield made(f"a hair below, up to four, n {n}", n, 0.85, hair(0.85), HARD, lean=1.0)
        yield made(f"a hair below, up to twelve, n {n}", n, 0.85, hair(0.85), TWELVE, lean=1.0, steps=(0.0, 0.1))
    for n in (95, 190, 400):
        yield made(f"hard questions carry more, n {n}", n, 0.85, uneven(0.85, 0.1), HARD, lean=0.8)
        yield made(f"easy questions carry more, n {n}", n, 0.85, uneven(0.85, 0.1), EASY, lean=0.8)
    yield made("hard questions carry more, wide gap", 190, 0.85, uneven(0.85, 0.14), HARD, lean=1.0)
    yield made("hard questions carry up to twelve", 150, 0.85, uneven(0.85, 0.1), (ONE_OF_12, TWELVE_OF_12), lean=0.8)
    for kind, change in (("timid", 0.6), ("bold", 1.6), ("shifted", 1.0)):
        moved = [change * _logit((at + 0.5) / LEVELS) + (kind == "shifted") for at in range(LEVELS)]
        yield made(f"calibrated, {kind}", 95, 0.85, _calibrated(change, kind == "shifted"), levels=moved)
        yield made(f"calibrated pairs, {kind}", 95, 0.85, _calibrated(change, kind == "shifted"), PAIRS, levels=moved)
    yield made("calibrated", 300, 0.85, lambda s: s)
    yield made("anti-calibrated", 200, 0.85, lambda s: 1 - 0.5 * s)
    yield made("anti-calibrated pairs", 200, 0.85, lambda s: 1 - 0.5 * s, PAIRS)
    yield made("ties", 200, 0.85, lambda s: {0.2: 0.6, 0.6: 0.8, 0.9: 0.849}[s], levels=[0.2, 0.6, 0.9])
    yield made("ties, up to four", 200, 0.85, lambda s: {0.2: 0.6, 0.9: 0.849}[s], HARD, levels=[0.2, 0.9])
    for sizes, label in ((ONE, ""), (HARD, ", up to four")):
        yield made(f"worst on top{label}", 300, 0.85, lambda s: 0.8 if s > 0.9 else 0.9 if s > 0.7 else 0.83, sizes)
        yield made(f"waves{label}", 300, 0.85, lambda s: 0.848 + 0.08 * math.sin(25 * s), sizes)
        yield made(f"good, then bad at once{label}", 400, 0.85, lambda s: 0.95 if s > 0.95 else 0.82, sizes)
        yield made(f"good until the start{label}", 150, 0.85, lambda s: 1.0 if s > 0.6 else 0.0, sizes)
    yield made("a step at the target", 250, 0.9, lambda s: 0.96 if s > 0.5 else 0.838, PAIRS)
    yield made("small reference", 120, 0.85, hair(0.85), PAIRS, lean=1.0, reference=8)
    yield made("scores differ within questions", 120, 0.85, uneven(0.85, 0.1), HARD, lean=1.0, steps=(-0.2, 0.0, 0.2))


ONE_OF_12 = tuple([1.0] + [0.0] * 11)
TWELVE_OF_12 = tuple([0.0] * 7 + [0.2] * 5)


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _calibrated(scale: float, shifted: bool) -> Shape:
    return lambda s: 1 / (1 + math.exp(-(s - shifted) / scale))
