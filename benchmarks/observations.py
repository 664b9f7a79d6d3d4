"""Which judgments a benchmark run is about, their table, and its rows that are right or wrong, with free evidence."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metajudge.errors import ConfigurationError
from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.counting import Counts, RowCounting, compared, correctness, said_by
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.peers import UNDECIDED_VOTES, PeerSupport
from metajudge.evidence.score import WEIGHTS, signal_score
from metajudge.evidence.verdicts import SignalColumn, Verdicts, VerdictsBuilder
from metajudge.reading import JudgmentSource, Reject
from metajudge.reading.right_rules import RightRules
from metajudge.stats.arrays import Bools, Indices
from metajudge.types import VERDICT_KINDS, AnyVerdict, Judgment, Right, SignalValue, VerdictKind, kind_of, text_digest
from metajudge.types.frozen import Frozen
from metajudge.types.right import DEFAULTS

from .own_judges import WithOwnJudges


class Population(Frozen):
    """Which judgments count, and what becomes of those that are neither right nor wrong.

    Attributes:
        games: ``first`` takes, of each judge and item, the first judgment that saw the responses in the item's own
            order; ``both`` takes every judgment.
        undecided: ``wrong`` counts ties and missing verdicts as wrong judgments; ``left out`` counts them apart.
        responses_by: patterns for the models that wrote the responses, where the data name them; empty for all.
    """

    games: Literal["first", "both"] = "both"
    undecided: Literal["wrong", "left out"] = "left out"
    responses_by: tuple[str, ...] = ()

    def wrong(self, *, own: bool) -> tuple[str, ...]:
        """What counts as wrong of what names no winner: ``tie``, ``none``; in files of one's own ties do."""
        return ("tie", "none") if self.undecided == "wrong" else ("tie",) * own

    def __str__(self) -> str:
        games = "the first game of each pair" if self.games == "first" else "every judgment"
        by = f" answered by {self.responses_by[0]}" if self.responses_by else ""
        undecided = "count as wrong" if self.undecided == "wrong" else "are left out"
        return f"{games}{by}; ties and missing verdicts {undecided}"

    def members(self) -> Callable[[Judgment], bool]:
        """Whether a judgment belongs to the population, for one pass over the input in its order."""
        seen: set[tuple[str, str]] = set()

        def member(judgment: Judgment) -> bool:
            models = set((judgment.item.models or {}).values()) if self.responses_by else set()
            if not all(any(fnmatch(model, one) for one in self.responses_by) for model in models):
                return False
            if self.games == "both":
                return True
            place = (judgment.judge, judgment.item.id)
            if judgment.order != tuple(judgment.item.responses) or place in seen:
                return False
            seen.add(place)
            return True

        return member


def stratified(categories: Mapping[str, str], size: int, seed: int) -> frozenset[str]:
    """Draws items so that each category has its share, and at least one.

    Proportional allocation by largest remainders, equal remainders by lot; within a category without replacement.
    The draw depends on ids, categories, size and seed alone, not on the order in which items come.

    Args:
        categories: item id -> category.
        size: items to draw; all where there are no more.

    Raises:
        ConfigurationError: fewer items than categories are asked for.
    """
    if size >= len(categories):
        return frozenset(categories)
    members: dict[str, list[str]] = defaultdict(list)
    for item, category in sorted(categories.items()):
        members[category].append(item)
    if size < len(members):
        raise ConfigurationError(
            f"--limit {size} is less than one item for each of the {len(members)} categories: give at least "
            f"{len(members)}"
        )
    rng = np.random.default_rng(seed)
    names = sorted(members)
    counts = _allocated([len(members[name]) for name in names], size, rng)
    drawn = [rng.choice(members[name], count, replace=False) for name, count in zip(names, counts, strict=True)]
    return frozenset(str(item) for part in drawn for item in part)


def _allocated(sizes: list[int], total: int, rng: np.random.Generator) -> list[int]:
    """[k] how many of each category: one each, the rest in proportion to what the exact share lacks."""
    shares = np.array(sizes) * total / sum(sizes)
    counts = np.maximum(1, np.floor(shares + 1e-9).astype(int))
    lots = rng.permutation(len(sizes))
    while counts.sum() != total:
        step = 1 if counts.sum() < total else -1
        lacking = step * (shares - counts)
        free = counts < sizes if step > 0 else counts > 1
        counts[max(np.flatnonzero(free), key=lambda place: (round(lacking[place], 9), lots[place]))] += step
    return [int(count) for count in counts]


def named(names: Iterable[str], most: int = 20) -> str:
    """Names in a row, the first of many."""
    every = sorted(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


Name = Literal["judge", "category", "item", "question", "order"]


class Records:
    """Collects an input's table in one pass over it; then free evidence is there on every row.

    Args:
        right: what counts as right; None for the default of each kind of verdict.

    Attributes:
        members: [n] whether each is of the population.
        pointwise: [n] whether its responses were scored one by one.
        reject: the first bad line.
    """

    def __init__(self, right: Right | None = None, population: Population | None = None) -> None:
        self.members, self.pointwise = list[bool](), list[bool]()
        self.reject: Reject | None = None
        self.rules = RightRules(right)
        self._right, self._member = right, (population or Population()).members()
        self._builder = VerdictsBuilder()

    @classmethod
    def of(cls, source: JudgmentSource | WithOwnJudges, right: Right | None, population: Population) -> "Records":
        """Reads a source."""
        if isinstance(source, JudgmentSource):
            return source.collect(lambda: cls(right, population))
        found = cls(right, population)
        found.add_block(list(source.scan()))
        return found

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        judgments = [record for record in block if isinstance(record, Judgment)]
        if self.reject is None and len(judgments) < len(block):
            self.reject = next(record for record in block if isinstance(record, Reject))
        self._builder.add_all(judgments)
        for judgment in judgments:
            self.rules.add(judgment)
            self.members.append(self._member(judgment))
            self.pointwise.append(bool(judgment.meta.get("pointwise")))

    @cached_property
    def facts(self) -> Verdicts:
        """The table.

        Raises:
            InputError: one item id is used for two different contents.
        """
        facts = self._builder.facts()
        facts.refuse_conflicts()
        return facts

    def counted(self, rows: Indices | slice = slice(None)) -> Counter[str]:
        """Judge -> its judgments among some rows, in the order of the input."""
        return Counter(map(self.facts.judges.__getitem__, self.facts.judge[rows].tolist()))

    @cached_property
    def evidence(self) -> dict[str, SignalColumn]:
        """Signal -> its column, in the order of :data:`~metajudge.evidence.columns.SIGNALS`."""
        rules = self.facts.rules(self._right)
        together = replace(self.facts, copies=dependence_of(self.facts, rules).copies)
        return signal_columns(self.facts, compare(together, rules))

    @cached_property
    def agreement(self) -> list[float | None]:
        """[n] mean over a row's peers of the share of their verdicts by which it is right; not for pairs.

        Judges of one model are no peers of one another. None without a verdict, and without a peer.
        """
        peers = compare(self.facts, self.facts.rules(self._right)).peers
        shares = [*map(_agreement, peers.values), None]
        return [shares[code] for code in peers.codes.tolist()]


def _agreement(support: PeerSupport) -> float | None:
    """The share of the peers that agree, in [0, 1]; the votes of a support are shares for minus shares against."""
    if support.value is None:
        return None
    return round((1 + support.value * (support.peers + UNDECIDED_VOTES) / support.peers) / 2, 12)


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows of a table, each right or wrong: for pairs and rankings a verdict and a label that each name a winner.

    Attributes:
        records: what the rows are of.
        rows: [n] places in its table, in the order of the input.
        correct: [n] whether each is right.
        ended: [n] ``decided``; ``tie`` and ``none`` (no verdict) only where the population counts them as wrong.
        weighed: names of the signals that the score of free evidence may weigh; None for all.
        undecided: judge -> how its other judgments ended (``tie``, ``none``, ``no label``, ``tied label``,
            ``not comparable``).
    """

    records: Records
    rows: Indices
    correct: Bools
    ended: NDArray[np.str_]
    weighed: Collection[str] | None
    undecided: Mapping[str, Counter[str]]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def judges(self) -> list[str]:
        """Judges in the order of the input, those without a decided judgment included."""
        return list(dict.fromkeys([*self.of("judge"), *self.undecided]))

    @property
    def kinds(self) -> tuple[VerdictKind, ...]:
        """The kinds of verdicts, in the order of the input."""
        return tuple(VERDICT_KINDS[code] for code in dict.fromkeys(kinds_of(self.records.facts)[self.rows].tolist()))

    @property
    def left_out(self) -> Counter[str]:
        """How all other judgments ended."""
        return sum(self.undecided.values(), Counter[str]())

    @cached_property
    def ids(self) -> list[str]:
        """[n] the id of each judgment."""
        return [self.records.facts.judgment_ids[row] for row in self.rows.tolist()]

    def of(self, name: Name) -> list[str]:
        """[n] the judge, the item, the question or the category of each ("" without one), or the order shown.

        An order is ids put together, or ``pointwise`` where the responses were scored one by one.
        """
        if name not in self._named:
            facts, pointwise = self.records.facts, self.records.pointwise
            names, codes = {
                "judge": (facts.judges, facts.judge),
                "category": ([*facts.categories, ""], facts.category),
                "item": ([one.id for one in facts.items], facts.item),
                "question": ([one.question for one in facts.items], facts.item),
                "order": (["".join(one) for one in facts.orders], facts.order),
            }[name]
            found = [names[code] for code in codes[self.rows].tolist()]
            if name == "order":
                both = zip(self.rows.tolist(), found, strict=True)
                found = ["pointwise" if pointwise[row] else shown for row, shown in both]
            self._named[name] = found
        return self._named[name]

    @cached_property
    def questions(self) -> NDArray[np.str_]:
        """[n] the question of each."""
        return np.array(self.of("question"))

    def where(self, name: Name, value: str) -> Bools:
        """[n] which rows have this value."""
        return np.array([one == value for one in self.of(name)], dtype=bool)

    def only(self, judges: Collection[str], kind: VerdictKind | None = None) -> "Observations":
        """The rows of some judges, of one kind where it is named."""
        chosen = of_judges(self.records.facts, judges, kind)[self.rows]
        return replace(
            self,
            rows=self.rows[chosen],
            correct=self.correct[chosen],
            ended=self.ended[chosen],
            undecided={judge: counts for judge, counts in self.undecided.items() if judge in judges},
        )

    @property
    def agreement(self) -> list[float | None]:
        """[n] share of the peers that agree (:attr:`Records.agreement`)."""
        every = self.records.agreement
        found = zip(self.rows.tolist(), self.ended.tolist(), strict=True)
        return [every[row] if ended == "decided" else None for row, ended in found]

    @cached_property
    def heuristic(self) -> list[float | None]:
        """[n] the score of free evidence (:func:`~metajudge.evidence.score.signal_score`)."""
        names = [name for name in WEIGHTS if self.weighed is None or name in self.weighed]
        weighed = {name: self.records.evidence[name] for name in names}
        codes = np.stack(
            [column.codes[self.rows] for column in weighed.values()] or [np.zeros(len(self), dtype=np.intp)], axis=1
        )
        _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        scores = [signal_score(signals_at(weighed, row)) for row in self.rows[first].tolist()]
        return [scores[code] for code in place.reshape(-1).tolist()]

    @cached_property
    def _named(self) -> dict[Name, list[str]]:
        return {}


def signals_at(evidence: Mapping[str, SignalColumn], row: int) -> dict[str, SignalValue]:
    """The signals that a row has."""
    found = {name: column.at(row) for name, column in evidence.items()}
    return {name: value for name, value in found.items() if value is not None}


def kinds_of(facts: Verdicts) -> Indices:
    """[n] place of the kind in :data:`~metajudge.types.VERDICT_KINDS`: of the verdict, of the label, or pairs."""
    of_truth = [*(VERDICT_KINDS.index(kind_of(truth)) for truth in facts.truths), VERDICT_KINDS.index("pairwise")]
    return np.where(facts.kind < 0, np.array(of_truth, dtype=np.intp)[facts.truth], facts.kind)


def of_judges(facts: Verdicts, judges: Collection[str], kind: VerdictKind | None = None) -> Bools:
    """[n] which rows are of some judges, and of one kind where it is named."""
    chosen = np.isin(facts.judge, [code for code, judge in enumerate(facts.judges) if judge in judges])
    return chosen if kind is None else chosen & (kinds_of(facts) == VERDICT_KINDS.index(kind))


def counts_of(facts: Verdicts, rows: Indices, rules: Mapping[VerdictKind, Right]) -> Counts:
    """Some rows, by what the judges said."""
    counts = Counts(rules)
    counting = RowCounting(facts, correctness(facts, rules), counts)
    counting.add(rows, ["asked"], np.zeros(len(rows), dtype=np.int64))
    return counts


def question_of(judgment: Judgment) -> str:
    """The unit of independence: items that ask the same question belong together, and so do turns of a conversation."""
    return text_digest(judgment.item.opening)


def observed(
    records: Records,
    rows: Indices,
    weighed: Collection[str] | None = None,
    *,
    rules: Mapping[VerdictKind, Right] = DEFAULTS,
    wrong: Collection[str] = (),
) -> Observations:
    """The rows among some that are right or wrong.

    Args:
        rows: places in the table of records.
        wrong: which of ``tie`` and ``none`` (no verdict) are wrong judgments instead of being left out.
    """
    facts = records.facts
    pairs, place = np.unique(np.stack([facts.verdict[rows], facts.truth[rows]], axis=1), axis=0, return_inverse=True)
    truths = [*facts.truths, None]
    whys = [undecided(facts.verdict_of(verdict), truths[truth], rules) for verdict, truth in pairs.tolist()]
    found = np.array([why or "decided" for why in whys], dtype=str)[place.reshape(-1)]
    kept = np.isin(found, ["decided", *wrong])
    left: dict[str, Counter[str]] = {}
    for judge, why in zip(facts.judge[rows[~kept]].tolist(), found[~kept].tolist(), strict=True):
        left.setdefault(facts.judges[judge], Counter())[why] += 1
    return Observations(records, rows[kept], correctness(facts, rules)[rows[kept]] == 1, found[kept], weighed, left)


def undecided(
    verdict: AnyVerdict | None, truth: AnyVerdict | None, rules: Mapping[VerdictKind, Right] = DEFAULTS
) -> str | None:
    """Why a verdict is neither right nor wrong by a label; None where it is one of both."""
    if truth is None:
        return "no label"
    rule = rules.get("pairwise" if verdict is None else kind_of(verdict))
    if rule is None or rule.name == "top1":  # it asks for a winner
        if said_by(truth) == "undecided":
            return "tied label"
        if said_by(verdict) == "undecided":
            return "tie"
    found = compared(verdict, truth, rule)
    return None if isinstance(found, bool) else "none" if found == "no verdict" else found
