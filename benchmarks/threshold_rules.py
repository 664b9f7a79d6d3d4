"""Rules that choose a threshold from labelled scores: the product's procedures and their rivals.

A rule gets one draw of labelled questions and gives a threshold or None. ``promise`` says what it promises: *kept*, the
precision of all kept judgments with probability 1 - delta; *drawn*, the same of one judgment drawn from each question;
*average*, precision on average over draws; *nothing*, where the test is valid only with many labels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
from scipy.special import bdtr, ndtr

from metajudge.calibration.labelled_sample import Counts, LabelledSample
from metajudge.calibration.procedures import Procedure, ProcedureName, last_rejected, log_odds_procedure
from metajudge.calibration.starts import Reference, Setting, procedure_in_ranks
from metajudge.stats.arrays import Floats

Promised = Literal["kept", "drawn", "average", "nothing"]


@dataclass(frozen=True)
class Draw:
    """Labelled questions as a rule sees them.

    Attributes:
        sample: labelled judgments.
        reference: scores without labels.
        target: precision wanted.
        delta: probability of failure allowed.
        most: judgments of one question at most.
        seed: of the choice of one judgment a question.
    """

    sample: LabelledSample
    reference: Reference
    target: float
    delta: float
    most: int
    seed: int

    @cached_property
    def one_each(self) -> "Draw":
        """The same with one judgment drawn of each question."""
        sample = self.sample
        order = np.lexsort((np.random.default_rng([self.seed, 11]).random(len(sample.place)), sample.place))
        _, first = np.unique(sample.place[order], return_index=True)
        rows = order[first]
        names = sample.names
        alone = LabelledSample(sample.scores[rows], sample.correct[rows], names, names, sample.place[rows], 1)
        singles = Reference(self.reference.scores, np.arange(len(self.reference.scores)))
        return Draw(alone, singles, self.target, self.delta, 1, self.seed)

    def in_ranks(self, name: ProcedureName) -> Procedure:
        return procedure_in_ranks(
            name, self.reference, Setting(self.target, self.delta, len(self.sample.names), self.most)
        )

    def passed(self, procedure: Procedure, p_values: Floats) -> float | None:
        at = int(last_rejected(p_values, self.delta, procedure))
        return procedure.grid[at] if at >= 0 else None


Rule = Callable[[Draw], float | None]


@dataclass(frozen=True, slots=True)
class Rival:
    """A rule and what it promises."""

    promise: Promised
    rule: Rule


def ours(name: ProcedureName) -> Rule:
    """A procedure of the product by its exact test of all kept judgments."""

    def rule(draw: Draw) -> float | None:
        procedure = draw.in_ranks(name)
        sample = draw.sample.in_order(None) if name == "e_process" else draw.sample
        counts = sample.counts(procedure.grid)
        found = counts.p_values(draw.target, draw.most, anytime=name == "e_process", procedure=procedure)
        return draw.passed(procedure, found)

    return rule


def drawn(name: ProcedureName) -> Rule:
    """The same on one judgment a question."""
    rule = ours(name)
    return lambda draw: rule(draw.one_each)


def conditional(counts: Counts, target: float) -> Floats:
    """[thresholds] p-values of the binomial test given how many are kept, as rivals use it; one judgment a question."""
    kept, errors = counts.kept.sum(axis=0), counts.errors.sum(axis=0)
    return np.where(kept > 0, bdtr(errors.astype(np.float64), np.maximum(kept, 1), 1 - target), 1.0)


def as_published(name: ProcedureName) -> Rule:
    """A procedure by the binomial test given how many are kept, on one judgment a question."""

    def rule(draw: Draw) -> float | None:
        one = draw.one_each
        procedure = one.in_ranks(name)
        return one.passed(procedure, conditional(one.sample.counts(procedure.grid), draw.target))

    return rule


def earlier_default(draw: Draw) -> float | None:
    """The default of earlier versions: even in log-odds, two starts, one judgment a question."""
    one, procedure = draw.one_each, log_odds_procedure(draw.target)
    return one.passed(procedure, conditional(one.sample.counts(procedure.grid), draw.target))


def trust_or_escalate(draw: Draw) -> float | None:
    """Jung, Brahman and Choi ("Trust or Escalate", 2024): from the highest confidence down in steps of .001.

    Assumed: steps with too few kept to pass are left out; they depend on no label.
    """
    one = draw.one_each
    grid = tuple(round(1 - step / 1000, 9) for step in range(1, 1000))
    counts = one.sample.counts(grid)
    kept = counts.kept.sum(axis=0)
    p_values = conditional(counts, draw.target)
    possible = np.flatnonzero(draw.target**kept <= draw.delta)
    if not len(possible):
        return None
    return one.passed(Procedure(grid=grid, starts=(int(possible[0]),), shares=(1.0,)), p_values)


def scope(draw: Draw) -> float | None:
    """SCOPE (arXiv 2602.13110), as far as its description is known: the least selective threshold of the draw with
    ``errors + 1 <= (1 - target) kept``. Assumed: the correction is the added error; precision is held on average.
    """
    one = draw.one_each
    grid = np.unique(one.sample.scores)[::-1]
    counts = one.sample.counts(grid.tolist())
    passing = np.flatnonzero(counts.errors.sum(axis=0) + 1 <= (1 - draw.target) * counts.kept.sum(axis=0))
    return float(grid[passing[-1]]) if len(passing) else None


def asymptotic(draw: Draw) -> float | None:
    """The question-level z test of all kept judgments, from the first rank that may pass without an error."""
    procedure = draw.one_each.in_ranks("one_error")
    return draw.passed(procedure, z_p_values(draw.sample.counts(procedure.grid), draw.target))


def asymptotic_in_our_order(draw: Draw) -> float | None:
    """The z test on the thresholds of our default, in its order."""
    procedure = draw.in_ranks("ranks")
    return draw.passed(procedure, z_p_values(draw.sample.counts(procedure.grid), draw.target))


def every_threshold(draw: Draw) -> float | None:
    """Our exact test of every threshold at the whole of delta: not valid, since the best of many is taken."""
    procedure = draw.in_ranks("learn_then_test")
    found = draw.sample.counts(procedure.grid).p_values(draw.target, draw.most, procedure=procedure)
    passing = np.flatnonzero(found <= draw.delta)
    return procedure.grid[passing[-1]] if len(passing) else None


def z_p_values(counts: Counts, target: float) -> Floats:
    """[thresholds] p-values of the z test on the excess of errors by question; 1 where it has no variance."""
    excess = counts.errors - (1 - target) * counts.kept
    number = (counts.kept > 0).sum(axis=0)
    mean = excess.sum(axis=0) / np.maximum(number, 1)
    spread = np.sqrt(np.maximum((excess**2).sum(axis=0) / np.maximum(number, 1) - mean**2, 0))
    z = mean * np.sqrt(number) / np.maximum(spread, 1e-9)
    return np.where(number > 1, ndtr(z), 1.0)


def mapie(draw: Draw) -> float | None:
    """MAPIE's rule for precision (learn-then-test with Bonferroni's correction over its grid)."""
    control = import_module("mapie.risk_control")

    one = draw.one_each.sample
    if one.scores.min() < 0 or one.scores.max() > 1:
        return None

    def predict(x: Any) -> Any:
        return np.column_stack([1 - x[:, 0], x[:, 0]])

    controller = control.BinaryClassificationController(
        predict, "precision", draw.target, confidence_level=1 - draw.delta
    )
    best = controller.calibrate(one.scores[:, None], one.correct.astype(int)).best_predict_param
    return None if best is None else float(np.ravel(best)[0])


def bonferroni_ranks_of_draw(draw: Draw) -> float | None:
    """Six ranks of the very scores tested, a sixth of delta each, one judgment a question.

    Given the N-th highest score, those above it are drawn from the scores above it: valid without a reference.
    """
    one = draw.one_each.sample
    order = np.argsort(-one.scores, kind="stable")
    numbers = np.unique(np.geomspace(0.3 * len(order), len(order), 6).astype(int))
    found = None
    for number in numbers[numbers > 1]:
        above = one.scores > one.scores[order[number - 1]]
        if bdtr(float((above & ~one.correct).sum()), max(int(above.sum()), 1), 1 - draw.target) <= draw.delta / 6:
            found = float(one.scores[order[number - 1]]) + 1e-9
    return found


RIVALS: Mapping[str, Rival] = {
    "ours: ranks (default)": Rival("kept", ours("ranks")),
    "ours: graphical": Rival("kept", ours("graphical")),
    "ours: one_error": Rival("kept", ours("one_error")),
    "ours: learn_then_test": Rival("kept", ours("learn_then_test")),
    "ours: bonferroni": Rival("kept", ours("bonferroni")),
    "ours: e_process": Rival("kept", ours("e_process")),
    "one drawn: ranks": Rival("drawn", drawn("ranks")),
    "one drawn: ranks, conditional test": Rival("drawn", as_published("ranks")),
    "one drawn: start allowing one error": Rival("drawn", as_published("one_error")),
    "one drawn: learn-then-test": Rival("drawn", as_published("learn_then_test")),
    "one drawn: Bonferroni": Rival("drawn", as_published("bonferroni")),
    "one drawn: Bonferroni, own ranks": Rival("drawn", bonferroni_ranks_of_draw),
    "one drawn: e-process": Rival("drawn", drawn("e_process")),
    "earlier default": Rival("drawn", earlier_default),
    "Trust or Escalate": Rival("drawn", trust_or_escalate),
    "MAPIE": Rival("drawn", mapie),
    "SCOPE": Rival("average", scope),
    "z test (asymptotic)": Rival("nothing", asymptotic),
}

GAP: Mapping[str, Rival] = {
    "z test (asymptotic)": Rival("nothing", asymptotic),
    "z test, our thresholds in our order": Rival("nothing", asymptotic_in_our_order),
    "exact test, every threshold at delta": Rival("nothing", every_threshold),
    "ours: ranks (default)": Rival("kept", ours("ranks")),
}
"""Steps from the asymptotic test to our default; the first three are not valid."""
