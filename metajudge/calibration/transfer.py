"""A prior over sets: what free evidence was worth on labelled sets, for judges and tasks that none of them had.

Three pairs of weights, one for each state of the evidence; no weight belongs to a judge. Labels of one's own move these
and add what belongs to the judges, answers and categories at hand, all of it drawn to the prior. The weights come from
labelled sets by expectation maximisation with a Laplace approximation of each set's coefficients (empirical Bayes;
Gelman and Hill, "Data Analysis Using Regression and Multilevel/Hierarchical Models", 2007, chapter 12; MacKay, "The
evidence framework applied to classification networks", 1992).
"""

import base64
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from pydantic import Field
from scipy.special import expit, logit

from metajudge.calibration.free_columns import OWN, PEERS
from metajudge.calibration.levels import Level
from metajudge.calibration.predictions import Marks
from metajudge.calibration.quality import Figure
from metajudge.calibration.table import SignalTable
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import VerdictKind
from metajudge.types.frozen import Frozen

Evidence = Literal["crowd", "peers", "alone"]
"""``peers``: peers on the item. ``alone``: what the judge itself shows. ``crowd`` is of version 0.2."""

EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)

Result = Literal["decides", "beside", "no_better", "untested"]
"""How the prior did on sets left out: better than free evidence and the base rate; better than the base rate alone; not
better than the base rate; no set of the kind was there."""

PREFIX = 5
"""Bytes of a question's digest that are kept."""

TINY = 1e-9

MOST_ODDS = 20.0
"""Log-odds are read up to this."""

Name: TypeAlias = tuple[Evidence, Literal["level", "slope"]]

NAMES: tuple[Name, ...] = tuple((evidence, part) for evidence in EVIDENCE for part in ("level", "slope"))
"""The six weights."""


class Normal(Frozen):
    """A weight's level and slope over sets: normal and independent.

    Attributes:
        mean: of the level and of the slope.
        variance: of both, over sets.
    """

    mean: tuple[float, float]
    variance: tuple[float, float]


class Standing(Frozen):
    """What leaving sets out showed for one kind of verdicts in one state of the evidence, and by which figures."""

    kind: VerdictKind
    evidence: Evidence
    result: Result
    why: str


class PriorSet(Frozen):
    """A set that the prior was fitted on: judgments, questions and the digest of ids and outcomes."""

    name: str
    kind: VerdictKind
    n: int
    questions: int
    data: str


class Prior(Frozen):
    """What labelled sets say of evidence on others.

    Attributes:
        version: of the format and of what the weights mean.
        made: date.
        command: how it was made.
        sets: fitted on.
        weights: by state of the evidence.
        standings: what leaving sets out showed.
        questions: the first :data:`PREFIX` bytes of the digests of the questions fitted on, in base 64.
    """

    version: Literal[1] = 1
    made: str
    command: str
    sets: tuple[PriorSet, ...]
    weights: dict[Evidence, Normal]
    standings: tuple[Standing, ...] = ()
    questions: str = Field(default="", repr=False)

    @property
    def moments(self) -> tuple[Floats, Floats]:
        """Means and variances [6] of the weights, in the order of :data:`NAMES`."""
        each = [self.weights[evidence] for evidence in EVIDENCE]
        return np.concatenate([one.mean for one in each]), np.concatenate([one.variance for one in each])

    @cached_property
    def _known(self) -> frozenset[bytes]:
        every = base64.b64decode(self.questions)
        return frozenset(every[at : at + PREFIX] for at in range(0, len(every), PREFIX))

    def fitted_on(self, questions: Iterable[str]) -> Bools:
        """[n] which questions, given by their digests, the prior was fitted on."""
        return np.array([bytes.fromhex(one[: 2 * PREFIX]) in self._known for one in questions], dtype=bool)

    def standing(self, kind: VerdictKind, evidence: Evidence) -> Standing:
        """What is known of such verdicts."""
        found = (one for one in self.standings if (one.kind, one.evidence) == (kind, evidence))
        nothing = Standing(kind=kind, evidence=evidence, result="untested", why="no set of this kind was left out")
        return next(found, nothing)


class OwnLabels(Frozen):
    """What labels of one's own made of the prior.

    Attributes:
        at: the six weights, in the order of :data:`NAMES`.
        variance: of what is left unknown of them.
        penalty: C of what is added.
        added: what is added to the log-odds, a model of the item; None where no signal varied.
        gain: log loss of the base rate of the labels less that out of fold; None where it was not measured.
    """

    at: tuple[float, ...] = Field(min_length=6, max_length=6)
    variance: tuple[float, ...] = Field(min_length=6, max_length=6)
    penalty: float
    added: Level | None = None
    gain: Figure | None = None


class Transfer(Frozen):
    """A prior, and what labels of one's own made of it; None where there were none."""

    prior: Prior
    own: OwnLabels | None = None

    def probabilities(self, table: SignalTable) -> tuple[Floats, Bools]:
        """[n] P(correct), and where there is evidence to tell it from."""
        state, value = evidence_of(table)
        matrix = matrix_of(state, value)
        if self.own is None:
            mean, variance = self.prior.moments
            return mean_probability(matrix @ mean, matrix**2 @ variance), state >= 0
        odds = matrix @ np.array(self.own.at)
        if self.own.added is not None:
            odds = odds + logit(np.clip(self.own.added.probabilities(table, np.arange(len(table))), TINY, 1 - TINY))
        return mean_probability(odds, matrix**2 @ np.array(self.own.variance)), state >= 0

    def mark(self, table: SignalTable, marks: Marks) -> None:
        """Marks rows of which labels of one's own say less: a category they had none of, a signal that is absent."""
        if self.own is not None and self.own.added is not None:
            self.own.added.mark(table, np.ones(len(table), dtype=bool), marks)


def evidence_of(table: SignalTable) -> tuple[Indices, Floats]:
    """[n] the state of the evidence, as a place in :data:`EVIDENCE` or -1 without any, and the evidence as log-odds.

    With peers the heuristic's log-odds; else what the judge itself shows.
    """
    own, peers = (table.columns[name] for name in (OWN, PEERS))
    state = np.where(peers.present, 1, np.where(own.present, 2, -1))
    return state.astype(np.intp), np.select([state == 1, state == 2], [own.values + peers.values, own.values], 0.0)


def matrix_of(state: Indices, value: Floats) -> Floats:
    """[n, 6] the features of the six weights."""
    found = np.zeros((len(state), len(NAMES)))
    for place in range(len(EVIDENCE)):
        found[:, 2 * place] = state == place
        found[:, 2 * place + 1] = (state == place) * value
    return found


def mean_probability(odds: Floats, variance: Floats) -> Floats:
    """[n] the mean of ``1 / (1 + exp(-x))`` for x normal with mean ``odds`` and ``variance``, approximately.

    ``x / sqrt(1 + pi variance / 8)`` in place of x (MacKay, 1992, equation 10).
    """
    return np.asarray(expit(odds / np.sqrt(1 + np.pi / 8 * variance)))
