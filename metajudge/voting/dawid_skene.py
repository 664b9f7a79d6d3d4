"""Judge reliability without labels: who is right how often, and what is true, estimated together.

Every voter gives items one of C classes. Given the true class, voters are taken to err independently, each with a
confusion matrix of its own (Dawid and Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", 1979) or with a single accuracy, wrong answers being equally likely (one coin). EM starts from the majority
(each item's shares of votes) and climbs to a local maximum of the likelihood, so restarts are worth their time.

Voters who copy each other break the independence: they look reliable because they agree. Look at
:func:`metajudge.voting.voter_independence` first.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Ints, coded
from metajudge.voting.pairwise import check_choice

Model: TypeAlias = Literal["full", "one_coin"]

_LEAST = 1e-10
"""Probabilities below this are raised to it, so that a logarithm exists."""
_SAME = 1e-9
_MOST_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class Reliability:
    """What is estimated of one voter.

    Attributes:
        accuracy: probability of the right class, over classes as frequent as estimated.
        confusion: [true class][class given] probabilities; rows sum to 1.
        labels: how many items it labelled.
    """

    accuracy: float
    confusion: tuple[tuple[float, ...], ...]
    labels: int


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene:
    """The fitted model.

    Attributes:
        model: ``full`` or ``one_coin``.
        classes: names of the classes.
        prior: [C] estimated share of each class.
        items: names of the items, as they first occur.
        posterior: [items, C] probability of each class being the true one.
        voters: voter -> reliability.
        log_likelihood: of all labels, at the fit.
        iterations: EM steps of the best start.
        converged: whether the last step changed the log likelihood a label by less than the tolerance.
        starts: log likelihood reached from each start, the majority first.
    """

    model: Model
    classes: tuple[Hashable, ...]
    prior: Floats
    items: tuple[Hashable, ...]
    posterior: Floats
    voters: dict[Hashable, Reliability]
    log_likelihood: float
    iterations: int
    converged: bool
    starts: tuple[float, ...]

    def decisions(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """Item -> its most probable class, or all that are equally probable."""
        top = self.posterior >= self.posterior.max(axis=1, keepdims=True) - _SAME
        return {
            item: tuple(self.classes[i] for i in np.flatnonzero(row).tolist())
            for item, row in zip(self.items, top, strict=True)
        }


def dawid_skene(
    items: Sequence[Hashable],
    voters: Sequence[Hashable],
    labels: Sequence[Hashable],
    *,
    classes: Sequence[Hashable] | None = None,
    model: Model = "full",
    iterations: int = 200,
    tolerance: float = 1e-7,
    smoothing: float = 0.0,
    restarts: int = 0,
    rng: np.random.Generator | None = None,
) -> DawidSkene:
    """Estimates the true class of every item and the reliability of every voter.

    Args:
        items: [n] the item of each label, such as a question's id.
        voters: [n] who gave it.
        labels: [n] the class given; leave out labels that are missing.
        classes: all classes; None: those that were given.
        model: ``full`` confusion matrices, or ``one_coin``, which needs far fewer labels a voter.
        iterations: most EM steps from each start.
        tolerance: stops where a step changes the log likelihood a label by less.
        smoothing: pseudo-labels added to every cell of every confusion matrix (or side of every coin); 0 for maximum
            likelihood.
        restarts: further starts, from the majority mixed half and half with random shares; the best likelihood wins.
        rng: for restarts, the only source of randomness.

    Raises:
        InputError: no labels, unequal lengths, fewer than two classes, an unknown class, a voter who labels an item
            twice, or an option out of range.
    """
    check_choice("model", model, ("full", "one_coin"))
    if iterations < 1 or restarts < 0 or tolerance < 0 or not 0 <= smoothing < np.inf:
        raise InputError("iterations is at least 1; restarts, tolerance and smoothing are 0 or more")
    if restarts and rng is None:
        raise InputError("restarts need rng: give a seeded numpy Generator, such as numpy.random.default_rng(0)")
    votes = _read(items, voters, labels, classes)
    starts = [votes.majority]
    for _ in range(restarts):
        assert rng is not None
        noise = rng.dirichlet(np.ones(len(votes.classes)), size=len(votes.majority))
        starts.append((votes.majority + noise) / 2)
    fits = [_climb(votes, start, model, iterations, tolerance * len(items), smoothing) for start in starts]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    accuracies = np.einsum("c,vcc->v", best.prior, best.confusion)
    reliabilities = [
        Reliability(float(accuracy), tuple(map(tuple, confusion)), int(count))
        for accuracy, confusion, count in zip(accuracies, best.confusion.tolist(), votes.labels_each, strict=True)
    ]
    return DawidSkene(
        model=model,
        classes=votes.classes,
        prior=best.prior,
        items=votes.items,
        posterior=best.posterior[votes.pattern],
        voters=dict(zip(votes.voters, reliabilities, strict=True)),
        log_likelihood=best.log_likelihood,
        iterations=best.steps,
        converged=best.converged,
        starts=tuple(fit.log_likelihood for fit in fits),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Votes:
    """Labels as a table; items labelled alike by the same voters share a row.

    Attributes:
        given: [rows, voters * classes] 1 where the voter gave the class.
        held: [rows] number of items of the row.
        pattern: [items] row of each item.
        majority: [rows, classes] share of the row's votes.
        labels_each: [voters] number of labels.
    """

    items: tuple[Hashable, ...]
    voters: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]
    given: Floats
    held: Floats
    pattern: Ints
    majority: Floats
    labels_each: Ints


def _read(
    items: Sequence[Hashable],
    voters: Sequence[Hashable],
    labels: Sequence[Hashable],
    classes: Sequence[Hashable] | None,
) -> _Votes:
    if not len(items) == len(voters) == len(labels):
        raise InputError(f"{len(items)} items, {len(voters)} voters and {len(labels)} labels: give one of each a label")
    if not len(items):
        raise InputError("there are no labels: give at least one")
    item_names, item = _codes(items)
    voter_names, voter = _codes(voters)
    class_names, label = _codes(labels, classes or ())
    if len(class_names) < 2:
        raise InputError(f"every label is {class_names[0]!r}: give `classes` with all classes there could have been")
    table = np.zeros((len(item_names), len(voter_names)), dtype=np.int64)
    np.add.at(table, (item, voter), 1)
    if (table > 1).any():
        at, who = np.argwhere(table > 1)[0].tolist()
        raise InputError(f"voter {voter_names[who]!r} labels item {item_names[at]!r} twice: keep one label each")
    table[item, voter] = label + 1
    rows, pattern, held = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    if rows.size * len(class_names) > _MOST_CELLS:
        raise InputError(
            f"{len(rows)} differently labelled items by {rows.shape[1]} voters in {len(class_names)} classes are too "
            "many to fit in memory: fit parts of the voters, or merge rare classes"
        )
    given = rows[:, :, None] == np.arange(1, len(class_names) + 1)
    shares = given.sum(axis=1).astype(np.float64)
    return _Votes(
        item_names,
        voter_names,
        class_names,
        given.reshape(len(rows), -1).astype(np.float64),
        held.astype(np.float64),
        pattern.ravel(),
        shares / shares.sum(axis=1, keepdims=True),
        (table > 0).sum(axis=0),
    )


def _codes(names: Sequence[Hashable], known: Sequence[Hashable] = ()) -> tuple[tuple[Hashable, ...], Ints]:
    """The different names, those that are known first, and the number of each."""
    distinct, codes = coded([*known, *names])
    if any(name is None or name != name for name in distinct):  # NaN alone differs from itself
        raise InputError("a label, item or voter is missing (None or NaN): leave such labels out")
    if known and len(distinct) > len(set(known)):
        raise InputError(f"the label {distinct[len(set(known))]!r} is not among the classes")
    return tuple(distinct), codes[len(known) :]


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    prior: Floats
    confusion: Floats
    posterior: Floats
    log_likelihood: float
    steps: int
    converged: bool


def _climb(votes: _Votes, start: Floats, model: Model, most: int, tolerance: float, smoothing: float) -> _Fit:
    """EM from given shares of the classes."""
    posterior, likelihood = start, -np.inf
    for step in range(most + 1):
        prior, confusion = _maximise(votes, posterior, model, smoothing)
        posterior, new = _expect(votes, prior, confusion)
        settled = step > 0 and abs(new - likelihood) <= tolerance
        likelihood = new
        if settled:
            break
    return _Fit(prior, confusion, posterior, likelihood, step, settled)


def _maximise(votes: _Votes, posterior: Floats, model: Model, smoothing: float) -> tuple[Floats, Floats]:
    """[C] prior and [voters, C, C] confusion from [rows, C] posteriors."""
    size = len(votes.classes)
    weighted = posterior * votes.held[:, None]
    prior = np.maximum(weighted.sum(axis=0) / votes.held.sum(), _LEAST)
    together = (votes.given.T @ weighted).reshape(-1, size, size).swapaxes(1, 2)
    if model == "full":
        counts = np.maximum(together + smoothing, _LEAST)
        return prior / prior.sum(), counts / counts.sum(axis=2, keepdims=True)
    right = np.trace(together, axis1=1, axis2=2) + smoothing
    accuracy = np.clip(right / (votes.labels_each + 2 * smoothing), _LEAST, 1 - _LEAST)
    confusion = np.repeat(((1 - accuracy) / (size - 1))[:, None], size * size, axis=1).reshape(-1, size, size)
    each = np.arange(size)
    confusion[:, each, each] = accuracy[:, None]
    return prior / prior.sum(), confusion


def _expect(votes: _Votes, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    """[rows, C] posterior and the log likelihood of all labels."""
    size = len(prior)
    logs = votes.given @ np.log(confusion).swapaxes(1, 2).reshape(-1, size) + np.log(prior)
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    whole = shares.sum(axis=1, keepdims=True)
    likelihood = float(votes.held @ (top + np.log(whole))[:, 0])
    return shares / whole, likelihood
