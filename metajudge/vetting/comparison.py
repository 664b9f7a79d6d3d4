"""Two runs over the same judgments, paired: what is kept, the scores, and precision where there are labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from metajudge.errors import InputError
from metajudge.evidence.units import ITEM, QUESTION, Asked, unit_of
from metajudge.reading.right_rules import RightRules
from metajudge.store.run_results import RunResult
from metajudge.types import AnyVerdict, Judgment, Right, VerdictKind, is_right, kind_of
from metajudge.types.figure import Figure
from metajudge.types.frozen import Finite

if TYPE_CHECKING:
    from metajudge.stats.bootstrap import BootstrapEstimate


@dataclass(frozen=True, slots=True)
class Labelled:
    """A verdict with what people say is right of its item.

    Attributes:
        truth: what they say together; ``labels`` what each says.
    """

    verdict: AnyVerdict
    truth: AnyVerdict
    labels: tuple[AnyVerdict, ...]

    @classmethod
    def of(cls, judgment: Judgment) -> "Labelled | None":
        """That of a judgment; None without a verdict, or without a label."""
        item, truth = judgment.item, judgment.item.truth
        if judgment.verdict is None or truth is None:
            return None
        own = () if item.label is None else (item.label,)
        return cls(judgment.verdict, truth, (*own, *(one.value for one in item.labels)))


@dataclass(frozen=True, slots=True)
class Side:
    """One of two runs.

    Attributes:
        correct: by judgment id, whether the verdict is right by the label; judgments without a label are left out.
        labelled: by judgment id, verdicts with labels; see :func:`by_labels`.
        asked: by judgment id, what the item says of its unit of dependence, where that is known.
    """

    name: str
    results: Mapping[str, RunResult] = field(repr=False)  # asyncio.run() prints the task's result to itself
    correct: Mapping[str, bool] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    labelled: Mapping[str, Labelled] = field(default_factory=dict, repr=False)
    asked: Mapping[str, Asked] = field(default_factory=dict, repr=False)


def by_labels(first: Side, second: Side, right: Right | None = None) -> tuple[Side, Side, Mapping[VerdictKind, Right]]:
    """Two runs with what is right by their labels, and the rule of each kind of verdict, the same for both.

    Args:
        right: the rule of the kinds that it applies to; None, and for others, the default of each kind over all
            labelled judgments of both.

    Raises:
        InputError: the rule applies to none of the verdicts.
    """
    given = [*first.labelled.values(), *second.labelled.values()]
    rules = _rules(given, None) | ({} if right is None else _rules(given, right))
    return _by_rules(first, rules), _by_rules(second, rules), rules


def _rules(given: Iterable[Labelled], right: Right | None) -> dict[VerdictKind, Right]:
    rules = RightRules(right)
    for one in given:
        rules.note(one.verdict, one.labels)
    return rules.rules()


def _by_rules(side: Side, rules: Mapping[VerdictKind, Right]) -> Side:
    correct = {}
    for name, one in side.labelled.items():
        rule = rules.get(kind_of(one.verdict))
        right = None if rule is None else is_right(one.verdict, one.truth, rule)
        if right is not None:
            correct[name] = right
    return replace(side, correct=correct)


class _Shares(Finite):
    n: int
    items: int = 0
    first: float | None = None
    second: float | None = None


class Difference(Figure, _Shares):
    """Second minus first, with an interval from resampled units; or the reason it is missing.

    Attributes:
        n: judgments compared; ``items`` their independent units, which are items, or ``unit``.
        p_value: of McNemar's exact test, where the judgments are independent (one an item).
    """

    p_value: float | None = None
    method: str = ""
    why_absent: str = ""
    unit: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data; figures that are absent are left out, and the reason is there instead."""
        return {name: value for name, value in self.model_dump().items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of the judgments that both runs assessed.

    Attributes:
        paired: judgments in both, with the same content; ``changed_content`` of further ones differ and are left out.
        undecided: paired judgments on which at least one side has no decision, by side.
        gained, lost: ids kept by the second alone, and by the first alone.
        kept: difference in the share kept.
        score: difference in the mean score, where both have one.
        precision: difference in the share of right ones among the labelled ones kept.
        right_gained, right_lost: of the labelled gained and lost ones those that are right, of how many.
    """

    paired: int
    changed_content: int
    only_first: int
    only_second: int
    undecided: tuple[int, int]
    both_kept: int
    neither_kept: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    kept: Difference
    score: Difference
    precision: Difference
    right_gained: tuple[int, int]
    right_lost: tuple[int, int]


def compare(
    first: Side, second: Side, *, seed: int = 0, resamples: int = 10_000, unit: str | None = None
) -> Comparison:
    """Pairs two runs by judgment id.

    Args:
        unit: what is resampled; None to find it (:mod:`metajudge.evidence.units`).

    Raises:
        InputError: they have no judgment in common.
    """
    common = [name for name in first.results if name in second.results]
    pairs = [(first.results[name], second.results[name]) for name in common]
    same: Pairs = [pair for pair in pairs if pair[0].judgment_digest == pair[1].judgment_digest]
    if not same:
        less = f": {len(common)} share an id, but their contents differ" if common else ""
        raise InputError(f"{first.name} and {second.name} have no judgment in common{less}; give runs over one input")
    same, word = _clustered(same, {**first.asked, **second.asked}, unit)
    decided = [(one, other) for one, other in same if one.accepted is not None and other.accepted is not None]
    gained = [one.judgment_id for one, other in decided if other.accepted and not one.accepted]
    lost = [one.judgment_id for one, other in decided if one.accepted and not other.accepted]
    correct = {**first.correct, **second.correct}
    draw = _Bootstrap(seed, resamples, word)
    return Comparison(
        paired=len(same),
        changed_content=len(common) - len(same),
        only_first=len(first.results) - len(common),
        only_second=len(second.results) - len(common),
        undecided=(sum(one.accepted is None for one, _ in same), sum(other.accepted is None for _, other in same)),
        both_kept=sum(one.accepted is True and other.accepted is True for one, other in decided),
        neither_kept=sum(not one.accepted and not other.accepted for one, other in decided),
        gained=tuple(gained),
        lost=tuple(lost),
        kept=_kept(decided, draw),
        score=_scores(same, draw),
        precision=_precision(decided, correct, draw),
        right_gained=_right(gained, correct),
        right_lost=_right(lost, correct),
    )


Pairs = Sequence[tuple[RunResult, RunResult]]


def _clustered(pairs: Pairs, asked: Mapping[str, Asked], given: str | None) -> tuple[Pairs, str]:
    """Pairs whose ``item_id`` names the cluster, and what that is where it is more than an item."""
    items = {one.item_id: asked[one.judgment_id] for one, _ in pairs if one.judgment_id in asked}
    unit = given or unit_of(list(items.values()))
    names = {name: one.named(unit) for name, one in items.items()}
    word = (given or QUESTION) if len(set(names.values())) < len(names) else ""
    return [(one._replace(item_id=names.get(one.item_id, one.item_id)), other) for one, other in pairs], word


@dataclass(frozen=True, slots=True)
class _Bootstrap:
    seed: int
    resamples: int
    unit: str

    def of(
        self, items: Sequence[str], estimate: Callable[[Any, int], "BootstrapEstimate"], first: float, second: float
    ) -> Difference:
        import numpy as np

        distinct = len(set(items))
        if distinct < 2:
            why = f"one {self.unit or ITEM}: no interval without two"
            return Difference(
                n=len(items), items=distinct, first=first, second=second, value=second - first, why_absent=why
            )
        found = estimate(np.random.default_rng(self.seed), self.resamples)
        return Difference(
            n=len(items),
            items=distinct,
            first=first,
            second=second,
            value=found.estimate,
            low=found.low,
            high=found.high,
            method=f"{found.method}, {found.resamples} resamples, seed {self.seed}",
            unit=self.unit,
        )


def _kept(decided: Pairs, draw: _Bootstrap) -> Difference:
    if not decided:
        return Difference(n=0, why_absent="no judgment is decided in both")
    one = [float(bool(pair[0].accepted)) for pair in decided]
    other = [float(bool(pair[1].accepted)) for pair in decided]
    found = _mean_difference([pair[0].item_id for pair in decided], one, other, draw)
    if found.items < found.n:
        return found  # judgments of one item are not independent: McNemar's test is not valid
    from metajudge.stats.paired import mcnemar_exact

    test = mcnemar_exact([bool(value) for value in one], [bool(value) for value in other])
    return found.model_copy(update={"p_value": test.p_value})


def _scores(same: Pairs, draw: _Bootstrap) -> Difference:
    both = [
        (one.item_id, one.final_score, other.final_score)
        for one, other in same
        if one.final_score is not None and other.final_score is not None
    ]
    if not both:
        why = "no judgment has a score in both (a panel that stops early leaves bounds: vet with --no-early-exit)"
        return Difference(n=0, why_absent=why)
    items, first, second = zip(*both, strict=True)
    return _mean_difference(items, first, second, draw)


def _mean_difference(
    items: Sequence[str], first: Sequence[float], second: Sequence[float], draw: _Bootstrap
) -> Difference:
    import numpy as np

    from metajudge.stats.bootstrap import bootstrap_mean

    def estimate(rng: Any, resamples: int) -> "BootstrapEstimate":
        return bootstrap_mean(np.subtract(second, first), list(items), rng=rng, resamples=resamples)

    return draw.of(items, estimate, sum(first) / len(first), sum(second) / len(second))


def _precision(decided: Pairs, correct: Mapping[str, bool], draw: _Bootstrap) -> Difference:
    labelled = [(one, other) for one, other in decided if one.judgment_id in correct]
    if not labelled:
        return Difference(n=0, why_absent="no label: give --labels with judgments whose items have one")
    import numpy as np

    from metajudge.stats.bootstrap import Ratio, bootstrap_difference

    right = np.array([correct[one.judgment_id] for one, _ in labelled], dtype=np.float64)
    first, second = (np.array([bool(pair[side].accepted) for pair in labelled], dtype=np.float64) for side in (0, 1))
    if not first.sum() or not second.sum():
        which = "the first" if not first.sum() else "the second"
        return Difference(n=len(labelled), why_absent=f"{which} keeps none of the labelled judgments")
    items = [one.item_id for one, _ in labelled]

    def estimate(rng: Any, resamples: int) -> "BootstrapEstimate":
        later, earlier = Ratio(right * second, second), Ratio(right * first, first)
        return bootstrap_difference(later, earlier, items, rng=rng, resamples=resamples)

    shares = [float((right * kept).sum() / kept.sum()) for kept in (first, second)]
    return draw.of(items, estimate, *shares)


def _right(names: Sequence[str], correct: Mapping[str, bool]) -> tuple[int, int]:
    labelled = [correct[name] for name in names if name in correct]
    return sum(labelled), len(labelled)
