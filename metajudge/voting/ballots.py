"""Ballots: rankings of some candidates by weighted voters, read from plain Python sequences."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import update_wrapper
from inspect import signature
from numbers import Integral, Rational, Real
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Ints
from metajudge.types.verdict import short

R = TypeVar("R")
Group: TypeAlias = str | Sequence[str] | AbstractSet[str]
Ballot: TypeAlias = Sequence[Group]
"""Best first: candidates, or groups of tied candidates. Names are strings (whole numbers work too)."""

Weight: TypeAlias = float | Fraction
Unranked: TypeAlias = Literal["below", "ignore"]
"""What a ballot means for candidates it does not name.

``below``: worse than every candidate it names and tied with each other, as on a top-k list (Fagin, Kumar and Sivakumar,
"Comparing top k lists", 2003). ``ignore``: nothing; the voter did not see them.
"""


_RESOLUTION = 10**12
"""Largest sum of weights in whole units: keeps sums over pairs of up to some 60 candidates exact in doubles."""
_MAX_DENOMINATOR = 10**6
_MANY = 1000
"""Ballots from which it pays to count those that are alike first."""
_LARGEST_WEIGHT = 10**100
"""Weights lie between this and one over it, so that sums and costs are finite doubles."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The ballots of one vote as arrays.

    Attributes:
        candidates: every candidate once; their order carries no meaning.
        places: [ballots, candidates] the group a ballot puts a candidate in, 0 for the best; the number of candidates,
            larger than any place, where the ballot does not name it.
        weights: [ballots] in whole numbers of ``unit``.
        unit: the value of a weight of 1 in ``weights``.
        exact: False where the weights had to be rounded to ``unit`` (1e-12 of their sum).
    """

    candidates: tuple[str, ...]
    places: Ints
    weights: Ints
    unit: Fraction = Fraction(1)
    exact: bool = True

    @property
    def ranked(self) -> Bools:
        """[ballots, candidates] whether the ballot names the candidate."""
        return np.asarray(self.places < len(self.candidates))

    @property
    def total_weight(self) -> Fraction:
        return int(self.weights.sum()) * self.unit


Ballots: TypeAlias = Sequence[Ballot] | Profile


def read_profile(
    ballots: Ballots, candidates: Sequence[str] | None = None, weights: Sequence[Weight] | None = None
) -> Profile:
    """Checks ballots and turns them into arrays.

    Args:
        ballots: one ranking a voter, best first, each a sequence of candidates or of groups (lists, tuples, sets) of
            tied candidates; or a profile, which is returned as it is.
        candidates: all names a ballot may contain; None: those that any ballot names.
        weights: one a ballot, above 0; None: 1 each. A float means the fraction with the smallest denominator (up
            to a million) that prints alike, so that 0.1 + 0.2 equals 0.3 and three thirds make one; give
            :class:`fractions.Fraction` for others.

    Raises:
        InputError: no ballots, an empty ballot or group, a candidate named twice or unknown, something that is no name,
            or weights that are not positive finite numbers, one a ballot.
    """
    if isinstance(ballots, Profile):
        if candidates is not None or weights is not None:
            raise InputError("a profile already has candidates and weights: give them when reading the ballots")
        return ballots
    index = index_of(candidates)
    rows = [_read_ballot(one, number, index, grow=candidates is None) for number, one in enumerate(_listed(ballots))]
    if not rows:
        raise InputError("there are no ballots: a vote needs at least one ranking")
    places = np.full((len(rows), len(index)), len(index), dtype=np.int64)
    for number, row in enumerate(rows):
        places[number, list(row)] = list(row.values())
    whole, unit, exact = whole_weights(weights, len(rows))
    return Profile(tuple(index), places, whole, unit, exact)


def read_counted(
    ballots: Ballots, candidates: Sequence[str] | None = None, weights: Sequence[Weight] | None = None
) -> Profile:
    """As :func:`read_profile` for rules to which voters are anonymous: of many ballots, like ones are counted as one.

    A million votes on pairs of 50 candidates are a few thousand different ones.
    """
    listed = isinstance(ballots, list | tuple) and len(ballots) >= _MANY and weights is None
    counted = _counted(ballots) if listed else None
    if counted is None:
        return read_profile(ballots, candidates, weights)
    try:
        profile = read_profile(list(counted), candidates)
    except InputError:
        return read_profile(ballots, candidates)  # whose message has the ballot's own number
    return replace(profile, weights=np.fromiter(counted.values(), dtype=np.int64, count=len(counted)))


def of_ballots(rule: Callable[..., R]) -> Callable[..., R]:
    """A rule of a profile as one of ballots.

    Its first argument, ``candidates``, ``weights`` and their errors are those of :func:`read_profile`.
    """

    def counted(
        ballots: Ballots,
        *,
        candidates: Sequence[str] | None = None,
        weights: Sequence[Weight] | None = None,
        **options: Any,
    ) -> R:
        return rule(read_counted(ballots, candidates, weights), **options)

    shown, hints = signature(rule), counted.__annotations__ | rule.__annotations__
    own = list(signature(counted).parameters.values())[:3]
    counted.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=[*own, *list(shown.parameters.values())[1:]]
    )
    update_wrapper(counted, rule).__annotations__ = hints
    return counted


def _counted(ballots: Any) -> Counter[Any] | None:
    """How often each ballot occurs; None where a ballot is no list or tuple, or contains an invalid name."""
    if not set(map(type, ballots)) <= {list, tuple}:
        return None
    for whole in (tuple, lambda ballot: tuple(tuple(e) if type(e) in (list, set) else e for e in ballot)):
        try:
            return Counter(map(whole, ballots))
        except TypeError:  # a tied group that is a list or a set
            pass
    return None


def _listed(ballots: Any) -> Sequence[Any]:
    if isinstance(ballots, np.ndarray):
        return list(ballots)
    if isinstance(ballots, str) or not isinstance(ballots, Sequence):
        raise InputError(f"ballots must be a sequence of rankings, not {short(ballots)}")
    return ballots


def index_of(candidates: Sequence[str] | None) -> dict[str, int]:
    """Checked names with their places; empty where none are given."""
    if candidates is None:
        return {}
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise InputError(f"candidates must be a sequence of names, not {short(candidates)}")
    index: dict[str, int] = {}
    for name in candidates:
        if not is_name(name):
            raise InputError(f"candidates contains {short(name)}, which is not a name: names are strings")
        if name in index:
            raise InputError(f"candidates names {name!r} twice: name each once")
        index[name] = len(index)
    if not index:
        raise InputError("candidates is empty: name at least one, or omit it to use the names on the ballots")
    return index


def _read_ballot(ballot: Any, number: int, index: dict[str, int], *, grow: bool) -> dict[int, int]:
    """Candidate code -> place."""
    if isinstance(ballot, np.ndarray):
        ballot = ballot.tolist()
    if isinstance(ballot, str) or not isinstance(ballot, Sequence):
        raise InputError(f"ballot {number} is {short(ballot)}: give a sequence of candidates or of tied groups")
    row: dict[int, int] = {}
    for place, entry in enumerate(ballot):
        if type(entry) is str or is_name(entry):
            group: Any = (entry,)
        elif isinstance(entry, list | tuple | AbstractSet):
            group = entry
            if not group:
                raise InputError(f"ballot {number} has an empty group at place {place + 1}: leave it out")
        else:
            raise InputError(f"ballot {number} contains {short(entry)} at place {place + 1}, which is not a candidate")
        for name in group:
            code = index.get(name) if is_name(name) else None
            if code is None:
                code = _new_code(name, number, index, grow=grow)
            if code in row:
                raise InputError(f"ballot {number} names {name!r} twice: a candidate has one place")
            row[code] = place
    if not row:
        raise InputError(f"ballot {number} is empty: leave it out, or name at least one candidate")
    return row


def _new_code(name: Any, number: int, index: dict[str, int], *, grow: bool) -> int:
    if not is_name(name):
        raise InputError(f"ballot {number} contains {short(name)}, which is not a name: names are strings")
    if not grow:
        close = get_close_matches(str(name), [str(known) for known in index], n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise InputError(f"ballot {number} names {name!r}, which is not among the candidates{hint}")
    return index.setdefault(name, len(index))


def is_name(value: Any) -> bool:
    """Whether a value can name a candidate: a string or a whole number."""
    return isinstance(value, str) or (isinstance(value, Integral) and not isinstance(value, bool))


def whole_weights(weights: Any, count: int) -> tuple[Ints, Fraction, bool]:
    """Checked weights as whole numbers of a unit, and whether that is exact; see :func:`read_profile`."""
    if weights is None:
        return np.ones(count, dtype=np.int64), Fraction(1), True
    if isinstance(weights, str) or not isinstance(weights, Sequence | np.ndarray):
        raise InputError(f"weights must be a sequence of numbers, one a ballot, not {short(weights)}")
    if len(weights) != count:
        raise InputError(f"there are {count} ballots and {len(weights)} weights: give one weight a ballot")
    exact = [_fraction(weight, number) for number, weight in enumerate(weights)]
    unit = Fraction(1, math.lcm(*(weight.denominator for weight in exact)))
    unit *= math.gcd(*(int(weight / unit) for weight in exact))
    total = sum(exact, Fraction(0))
    if total / unit <= _RESOLUTION:
        return np.array([int(weight / unit) for weight in exact], dtype=np.int64), unit, True
    unit = total / _RESOLUTION
    whole = np.array([round(weight / unit) for weight in exact], dtype=np.int64)
    if not whole.all():
        number = int(whole.argmin())
        raise InputError(
            f"weights[{number}] is {float(exact[number]):g}, less than 1e-12 of the sum of all weights: it could "
            "not count; leave the ballot out, or bring the weights closer together"
        )
    return whole, unit, False


def _fraction(weight: Any, number: int) -> Fraction:
    if isinstance(weight, bool) or not isinstance(weight, Real):
        raise InputError(f"weights[{number}] is {short(weight)}: a weight is a number above 0")
    if not isinstance(weight, Rational):
        value = float(weight)
        if not math.isfinite(value):
            raise InputError(f"weights[{number}] is {value}: a weight is a finite number above 0")
        near = Fraction(value).limit_denominator(_MAX_DENOMINATOR)
        weight = near if float(near) == value else Fraction(repr(value))
    exact = Fraction(int(weight.numerator), int(weight.denominator))  # numpy's whole numbers would overflow
    if exact <= 0:
        raise InputError(f"weights[{number}] is {exact}: a weight is above 0; leave out ballots that must not count")
    if not Fraction(1, _LARGEST_WEIGHT) <= exact <= _LARGEST_WEIGHT:
        raise InputError(f"weights[{number}] is outside 1e-100 to 1e100: only ratios matter, so scale all")
    return exact
