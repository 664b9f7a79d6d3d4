"""Procedures by name, with grids and starts in ranks of scores that carry no label.

The reference is a set of scores of **other** questions than those the threshold is sought on: unlabelled judgments,
or the out-of-fold scores of the questions a calibration was fitted on. Its ranks fix the grid, so any increasing
change of all scores (a timid, a bold or a shifted fit) changes nothing. Ranks of the very scores that are tested
would not do: given them, the share of errors above a rank is no draw from the share in the population unless
precision rises with the score.

Where to start is chosen by how many questions the threshold is sought on, by the target and by how many judgments the
reference keeps of a question: at the rank where about :data:`START` of the questions are kept, with as many errors
allowed as the test then allows. Chosen on made populations (five shapes, 60 to 400 questions), where several starts,
starts that allow one error and other places kept less.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy.special import bdtr

from metajudge.calibration.procedures import Procedure, ProcedureName, log_odds_procedure
from metajudge.calibration.question_test import STAKE, STAKES, step_table, steps_limit
from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices

START = 0.45
"""Share of the questions kept at the start."""

LATEST = 0.7
"""Share of the questions kept at a start that allows one error, where :data:`START` allows none."""

STEP = 1.04
"""Ratio of the numbers kept at neighbouring thresholds of the grid."""

DEFAULT: ProcedureName = "ranks"

MEANINGS: Mapping[ProcedureName, str] = MappingProxyType(
    {
        "ranks": "one start at a rank where several errors are allowed, then one threshold after the other",
        "graphical": "two starts, at ranks where some and more errors are allowed; each hands its level on",
        "one_error": "one start, at the first rank that may pass with one error",
        "learn_then_test": "one start, at the first rank that may pass at all, without an error",
        "bonferroni": "six ranks with a sixth of the level each",
        "e_process": "as ranks, by bets that may be looked at after any label",
        "log_odds": "probabilities even in log-odds, starts half a unit above the target and below it",
        "this_file": "about the judgments of this very file, of whose questions a random sample is labelled",
    }
)
"""Every procedure by name, in words."""


def rounded(scores: Sequence[float] | Floats) -> Floats:
    """Scores as they are compared everywhere, rounded to 1e-9 as :meth:`GuaranteedThreshold.keeps` rounds them."""
    return np.array([round(float(score), 9) for score in scores], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Reference:
    """Scores without labels.

    Attributes:
        scores: [n] of judgments, rounded to 1e-9.
        place: [n] number of each judgment's question, from 0.
    """

    scores: Floats
    place: Indices

    @classmethod
    def of(cls, scores: Sequence[float] | Floats, questions: Sequence[str] | None) -> "Reference":
        """A reference; without questions every judgment counts as a question of its own.

        Raises:
            InputError: no score, one that is no number, or another number of questions than of scores.
        """
        values = rounded(scores)
        if not len(values) or not np.isfinite(values).all():
            raise InputError("reference scores must be finite numbers, at least one")
        if questions is None:
            return cls(values, np.arange(len(values)))
        if len(questions) != len(values):
            raise InputError(
                f"{len(values)} reference scores and {len(questions)} questions: they must match one to one"
            )
        return cls(values, np.unique(np.array(questions, dtype=str), return_inverse=True)[1].ravel())

    @property
    def tops(self) -> Floats:
        """The highest score of each question, falling."""
        tops = np.full(int(self.place.max()) + 1, -np.inf)
        np.maximum.at(tops, self.place, self.scores)
        return np.asarray(np.sort(tops)[::-1])

    @property
    def most(self) -> int:
        """Judgments that a question has at most."""
        return int(np.bincount(self.place).max())

    def questions_above(self, grid: Sequence[float]) -> Indices:
        """[thresholds] how many questions keep a judgment."""
        return np.array([int((self.tops >= threshold).sum()) for threshold in grid])

    def sizes(self, threshold: float) -> Indices:
        """How many judgments are kept of each question that keeps any."""
        sizes = np.bincount(self.place[self.scores >= threshold])
        return np.asarray(sizes[sizes > 0])


@dataclass(frozen=True, slots=True)
class Setting:
    """What a procedure is made for.

    Attributes:
        target: precision to guarantee.
        level: probability of failure allowed in this look.
        questions: how many questions the threshold is sought on.
        most: judgments of one question that may be kept at most.
        stake: of the test by question.
    """

    target: float
    level: float
    questions: int
    most: int
    stake: float = STAKE


def procedure_in_ranks(name: ProcedureName, reference: Reference, setting: Setting) -> Procedure:
    """The procedure of a name, fixed by scores without labels.

    Raises:
        InputError: a name that is no procedure in ranks.
    """
    if name == "log_odds":
        return log_odds_procedure(setting.target)
    if name not in _STARTS:
        raise InputError(f"there is no procedure {name!r} in ranks: choose one of {', '.join(MEANINGS)}")
    if setting.most > 1:
        setting = replace(setting, stake=_stake(reference, setting))
    wanted, shares, passes_on = _STARTS[name](reference, setting)
    tops = reference.tops
    ranks = [min(max(round(number / setting.questions * len(tops)), 1), len(tops)) for number in wanted]
    values = np.sort(reference.scores)[::-1]
    grid = _grid(values, [float(tops[rank - 1]) for rank in ranks], every=passes_on)
    starts: dict[int, float] = {}
    for rank, share in zip(ranks, shares, strict=True):
        at = grid.index(float(tops[rank - 1]))
        starts[at] = starts.get(at, 0.0) + share
    return Procedure(
        name=name,
        grid=tuple(grid),
        starts=tuple(sorted(starts)),
        shares=tuple(starts[at] for at in sorted(starts)),
        passes_on=passes_on,
        stake=setting.stake if setting.most > 1 else None,
        origin=f"ranks of {len(values)} scores without labels of {len(tops)} other questions",
    )


def _grid(values: Floats, starts: list[float], every: bool) -> list[float]:
    """Thresholds from the highest start down, at falling ranks a factor of :data:`STEP` apart."""
    found = set(starts)
    kept = float((values >= max(starts)).sum())
    while every and kept < len(values):
        kept = min(max(kept * STEP, kept + 1), len(values))
        found.add(float(values[round(kept) - 1]))
    return sorted(found, reverse=True)


def _fitting(reference: Reference, setting: Setting, share: float, portion: float) -> int:
    """How many questions are kept where as many errors are allowed as may be with a share of the questions kept."""
    needed = [_needed(reference, setting, share, errors) for errors in (0, 1)]
    limit = portion * setting.questions
    if needed[1] > limit:
        return needed[1] if needed[1] <= LATEST * setting.questions else min(needed[0], setting.questions)
    while needed[-1] <= limit:
        needed.append(_needed(reference, setting, share, len(needed)))
    return needed[-2]


def _needed(reference: Reference, setting: Setting, share: float, errors: int) -> int:
    """Questions kept with which a threshold can pass with some errors at a share of the level.

    One more than there are questions where it never can.
    """
    number = np.arange(errors + 1, setting.questions + 1)
    if setting.most == 1:
        p_values = bdtr(float(errors), number, 1 - setting.target)
    else:
        p_values = _typical(reference, setting, number, errors)
    passing = np.flatnonzero(p_values <= share * setting.level)
    return int(number[passing[0]]) if len(passing) else setting.questions + 1


def _stake(reference: Reference, setting: Setting) -> float:
    """The stake under which half as many wrong questions as the target allows are told apart best."""
    number = max(round((START + 1) / 2 * setting.questions), 1)
    errors = round((1 - setting.target) / 2 * number)

    def p_value(stake: float) -> float:
        return float(_typical(reference, replace(setting, stake=stake), np.array([number]), errors)[0])

    return min(STAKES, key=p_value)


def _typical(reference: Reference, setting: Setting, number: Indices, errors: int) -> Floats:
    """P-values where as many judgments of each question are kept as in the reference, and some are all wrong."""
    tops = reference.tops
    sizes = np.minimum(reference.sizes(float(tops[int(START * (len(tops) - 1))])), setting.most)
    found = np.ones(len(number))
    limits = np.array([steps_limit(int(one)) for one in number])
    for limit in np.unique(limits):
        table = step_table(setting.most, round(setting.target, 12), int(limit), setting.stake)
        here = limits == limit
        right, wrong = float(table.credit[0, sizes].mean()), float(table.credit[sizes, sizes].mean())
        totals = np.floor((number[here] - errors) * right + errors * wrong).astype(np.intp)
        found[here] = table.p_values(number[here], totals)
    return found


_Starts = tuple[list[int], list[float], bool]


def _one_start(reference: Reference, setting: Setting) -> _Starts:
    return [_fitting(reference, setting, 1.0, START)], [1.0], True


def _graphical(reference: Reference, setting: Setting) -> _Starts:
    shares = [0.15, 0.85]
    portions = (START / 2, START)
    return [_fitting(reference, setting, *one) for one in zip(shares, portions, strict=True)], shares, True


def _allowing(errors: int) -> Callable[[Reference, Setting], _Starts]:
    def starts(reference: Reference, setting: Setting) -> _Starts:
        return [min(_needed(reference, setting, 1.0, errors), setting.questions)], [1.0], True

    return starts


def _bonferroni(reference: Reference, setting: Setting) -> _Starts:
    first = min(_needed(reference, setting, 1 / 6, 1), setting.questions)
    return [round(one) for one in np.geomspace(first, setting.questions, 6)], [1 / 6] * 6, False


_STARTS: Mapping[str, Callable[[Reference, Setting], _Starts]] = MappingProxyType(
    {
        "ranks": _one_start,
        "e_process": _one_start,
        "graphical": _graphical,
        "one_error": _allowing(1),
        "learn_then_test": _allowing(0),
        "bonferroni": _bonferroni,
    }
)
