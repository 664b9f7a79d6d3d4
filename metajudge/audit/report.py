"""The audit itself: judgments in, report out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from metajudge.audit.card import (
    AuditReport,
    Ceiling,
    Check,
    CheckName,
    Disagreement,
    Figure,
    Holdings,
    JudgeCard,
    Jury,
    NextStep,
)
from metajudge.audit.conduct import categories, copy, drift, prompts, severity, versions, weaker_than_peers
from metajudge.audit.draft import LEVEL, Draft, Parts, decide, drafted
from metajudge.audit.figures import (
    accuracy,
    classes_of,
    contested,
    figure,
    flips,
    groups,
    kappa,
    means,
    over_time,
    peer_agreement,
    prompt_agreement,
    repeats,
    scale_use,
)
from metajudge.audit.gather import Gathered, ItemFacts, gather
from metajudge.audit.holdings import holdings_of, left_out, supports_of
from metajudge.audit.jury import jury_of
from metajudge.audit.peers import build_peers, others_of
from metajudge.audit.preferences import length, own_answer, own_family, position
from metajudge.audit.rates import rates_of
from metajudge.audit.table import NOTHING, Table, build_table
from metajudge.audit.view import View, view_of
from metajudge.errors import InputError
from metajudge.evidence.dependence import Dependence, dependence_among
from metajudge.evidence.recorded import Recorded
from metajudge.evidence.rules import Rules
from metajudge.evidence.units import note_of
from metajudge.stats.arrays import Floats
from metajudge.stats.association import mean_of, share_of
from metajudge.types import Judgment
from metajudge.types.label import Label
from metajudge.types.right import Right, is_right
from metajudge.types.verdict import VERDICT_KINDS, AnyVerdict, Pairwise, VerdictKind

T = TypeVar("T")
MOST = 10
FEWEST = 3
"""Verdicts from which an order is compared."""
METHOD = "share of people's answers that are right by the majority of the other people"


class CeilingTable:
    """People's leave-one-out comparisons on the items of one kind.

    Attributes:
        table: verdicts of the kind.
        ceiling: how well people agree; None where no item has two people.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._facts = [table.source.items[at] for at in np.unique(table.item)]
        several = [one for one in self._facts if len(one.people) > 1]
        self._left_out = {one.id: _left_out(one.people, table.right) for one in several}
        self.ceiling = self._ceiling(several)

    def _ceiling(self, several: list[ItemFacts]) -> Ceiling | None:
        compared = [(facts, one) for facts in several for one in self._left_out[facts.id]]
        if not compared:
            return None
        questions = np.array([facts.question for facts, _ in compared], dtype=np.intp)
        found = share_of(np.array([one.agrees for _, one in compared]), questions)
        people = {one.annotator or place for place, (_, one) in enumerate(compared)}
        return Ceiling(kind=self.table.kind, agreement=figure(found, METHOD), annotators=len(people))

    def gap(self, view: View) -> Figure | None:
        """The judge's agreement with all but one of the people, less that of the one left out, item by item."""
        if self.ceiling is None or view.table.unlike[view.judge]:
            return None
        source, rule = self.table.source, self.table.right
        known: dict[tuple[int, int], float | None] = {}
        values, clusters = [], []
        for row, thing, raw in zip(view.rows, view.thing, self.table.raw[view.rows], strict=True):
            key = int(self.table.item[thing]), int(raw)
            if key not in known:
                verdict = source.verdicts.values[raw]
                known[key] = _apart(verdict, self._left_out.get(source.items[key[0]].id, ()), rule)
            value = known[key]
            if value is not None:
                values.append(value)
                clusters.append(int(self.table.cluster[row]))
        if not values:
            return None
        found = mean_of(np.array(values), np.array(clusters, dtype=np.intp))
        return figure(found, "agreement with all people but one, less that of the one", bounds=(-1.0, 1.0))


class _LeftOut(NamedTuple):
    """A person, whether it agrees with the others of an item, and what they say."""

    annotator: str | None
    agrees: float
    others: AnyVerdict


def _left_out(people: tuple[Label, ...], rule: Right) -> tuple[_LeftOut, ...]:
    """For each person with decided others."""
    compared = ((one, is_right(one.value, together, rule), together) for one, together in others_of(people))
    return tuple(_LeftOut(one.annotator, float(right), others) for one, right, others in compared if right is not None)


def _apart(verdict: AnyVerdict, left_out: tuple[_LeftOut, ...], rule: Right) -> float | None:
    pairs = [(is_right(verdict, one.others, rule), one.agrees) for one in left_out]
    known = [float(mine) - person for mine, person in pairs if mine is not None]
    return sum(known) / len(known) if known else None


def on_two_scales(table: Table) -> list[str]:
    """What was not compared, and how far each such judge puts things in people's order."""
    found = table.scales.sentences()
    for judge in np.flatnonzero(table.unlike).tolist():
        rows = np.flatnonzero((table.judge == judge) & ~np.isnan(table.label_number[table.thing]))
        rows = rows[~np.isnan(table.number[rows])]
        agreement = spearman(table.number[rows], table.label_number[table.thing[rows]])
        if agreement is not None:
            name = table.source.judges.values[judge]
            found.append(f"Spearman's rank correlation of {name} and people: {agreement:.3f} (n = {len(rows):,}).")
    return found


def spearman(first: Floats, second: Floats) -> float | None:
    """Spearman's rank correlation of [n] and [n] numbers, in [-1, 1]; equal numbers share the mean of their ranks.

    None with fewer than :data:`FEWEST` of them, and where one side does not vary.
    """
    if len(first) < FEWEST:
        return None
    one, other = _ranks(first), _ranks(second)
    if one.std() == 0 or other.std() == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place.ravel()], dtype=np.float64)


def worst(view: View, most: int = MOST) -> tuple[Disagreement, ...]:
    """Wrong verdicts by distance from the label; equal ones where more people say the same, then the stronger verdict.

    Verdicts that are still equal are ordered by the id of the judgment, so that the list does not depend on the order
    of the file.
    """
    table, source = view.table, view.table.source
    if view.reference != "labels":
        return ()
    distance = _distances(view)
    rows = np.flatnonzero((view.right == 0) & (distance > 0))
    kept, items = source.rows[table.kind], table.item[view.thing]

    def rank(at: int) -> tuple[float, int, int, int, str]:
        row = int(view.rows[at])
        people = source.items[int(items[at])].people
        verdict = source.verdicts.values[int(table.raw[row])]
        strength = verdict.strength if isinstance(verdict, Pairwise) else 0
        alike = len({one.value for one in people}) <= 1
        return -float(distance[at]), -int(alike), -len(people), -strength, kept.id[row]

    return tuple(_one(view, at, float(distance[at])) for at in sorted((int(row) for row in rows), key=rank)[:most])


def _distances(view: View) -> Floats:
    """[m] in [0, 1]: of grades and ordered categories by the scale, half where one side is a tie, else 1."""
    table = view.table
    if table.spread and not table.binary:
        low, high = np.nanmin(table.number), np.nanmax(table.number)
        spread = max(table.spread, float(high - low))
        gap = np.minimum(1.0, np.abs(view.number - view.target_number) / spread)
        return np.asarray(np.where(np.isnan(gap), 0.0, gap), dtype=np.float64)
    known = (view.answer != NOTHING) & (view.target != NOTHING)
    apart = (known & (view.answer != view.target)).astype(np.float64)
    if table.kind in ("pairwise", "ranking"):
        tie = len(table.classes) - 1
        apart[(view.answer == tie) | (view.target == tie)] /= 2
    return np.asarray(apart, dtype=np.float64)


def _one(view: View, at: int, distance: float) -> Disagreement:
    table, source = view.table, view.table.source
    row, thing = int(view.rows[at]), source.things[table.kind][int(view.thing[at])]
    item = source.items[thing.item]
    label, verdict = item.truth(), source.verdicts.values[int(table.raw[row])]
    answer = int(view.answer[at])
    shown = answer if table.kind in ("pairwise", "ranking") and answer < len(thing.ids) else 0
    return Disagreement(
        judgment=source.rows[table.kind].id[row],
        item=item.id,
        verdict=verdict.to_json(),
        label=None if label is None else label.to_json(),
        people=len(item.people),
        unanimous=len({one.value for one in item.people}) == 1,
        distance=distance,
        question=item.excerpt,
        response=thing.excerpts[shown],
        rationale=source.rows[table.kind].rationale[row],
    )


def independence_of(source: Gathered, tables: Mapping[VerdictKind, Table], right: Right | None = None) -> Dependence:
    """What is known of the independence of the judges.

    Args:
        source: what was read.
        tables: of each kind that the file has.
        right: the rule given, as for the tables.
    """
    rules = Rules(right)
    for table in tables.values():
        given = [source.verdicts.values[code] for code in np.unique(table.raw).tolist()]
        for truth in {source.items[item].truth() for item in np.unique(table.item).tolist()}:
            rules.add(given[0], truth)
        for verdict in given:
            rules.add(verdict, None)
        rules.scales = table.scales if table.kind == "grade" else rules.scales
    parts = [(source.rows[kind], [one.item for one in source.things[kind]]) for kind in tables]

    def column(name: str) -> list[int]:
        return [value for rows, _ in parts for value in getattr(rows, name)]

    recorded = Recorded(
        item=np.array([items[thing] for rows, items in parts for thing in rows.thing], dtype=np.int64),
        judge=np.array(column("judge"), dtype=np.int64),
        judges=source.judges.values,
        order=np.array(column("order"), dtype=np.int64),
        orders=source.orders.values,
        verdict=np.array(column("verdict"), dtype=np.int64),
        verdicts=source.verdicts.values,
        models=source.models,
    )
    question = np.array([one.question for one in source.items], dtype=np.int64)
    words = np.array(column("words"), dtype=np.int64)
    return dependence_among(recorded, question, words, rules)


CHECKS: Mapping[CheckName, Callable[[View], Draft | None]] = {
    "position": position,
    "length": length,
    "own_family": own_family,
    "own_answer": own_answer,
    "severity": severity,
    "drift": drift,
    "versions": versions,
    "prompts": prompts,
    "categories": categories,
    "weaker_than_peers": weaker_than_peers,
    "copy": copy,
}
"""In the order in which a card shows them."""

FREE = NextStep(goal="vet", reason="free evidence says which verdicts to look at first")
FEWEST_FOR_CALIBRATION = 50
"""Labelled verdicts from which a calibration is proposed."""


def audit(
    judgments: Iterable[Judgment],
    *,
    right: Right | None = None,
    costs: Mapping[str, float] | None = None,
    level: float = LEVEL,
    unit: str | None = None,
) -> AuditReport:
    """Says what each judge is worth on verdicts at hand.

    Judgments are read once. Verdicts of several kinds are never mixed: a judge has a card for each kind.

    Args:
        judgments: with labels of people where there are any (``Item.label``, ``Item.labels``).
        right: what counts as right; None: the default of each kind. A kind that the rule does not apply to gets its
            default.
        costs: judge -> relative price of a verdict, for the cheapest jury; without it judges are counted.
        unit: of dependence, where the judgments state one that was asked for (:mod:`metajudge.evidence.units`).
        level: the chance of any finding on the card of a judge without bias, in (0, 1).

    Raises:
        InputError: there is no judgment, or ``level`` is out of range.
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, not {level!r}")
    source = gather(judgments)
    tables = {kind: build_table(source, kind, right) for kind in VERDICT_KINDS if source.rows[kind].judge}
    if not source.counts:
        raise InputError("there are no judgments: an audit needs verdicts of at least one judge")
    parts = Parts()
    cards: list[JudgeCard] = []
    ceilings: list[Ceiling] = []
    juries: list[Jury] = []
    for table in tables.values():
        peers, people = build_peers(table), CeilingTable(table)
        seats = sorted(np.unique(table.judge), key=lambda code: source.judges.values[code])
        cards += [_card(view_of(table, peers, int(judge)), people, level, parts) for judge in seats]
        if people.ceiling is not None:
            ceilings.append(people.ceiling)
        jury = parts.of(jury_of, table, peers, costs, without=None)
        if jury is not None:
            juries.append(jury)
    independence = parts.of(independence_of, source, tables, right, without=Dependence())
    unseen = (independence.not_compared,) if independence.not_compared else ()
    note = note_of([item.asked for item in source.items], unit)
    held = holdings_of(source, tables)
    return AuditReport(
        holdings=held,
        supports=supports_of(held, cards, ceilings, juries),
        level=level,
        judges=tuple(cards),
        ceilings=tuple(ceilings),
        juries=tuple(juries),
        independence=independence.groups,
        next_steps=_next_steps(held, cards, juries),
        notices=(
            *left_out(source, tables),
            *(note for table in tables.values() for note in on_two_scales(table)),
            *_silent(held, tables),
            *unseen,
            *parts.notices,
            *((note,) if note else ()),
        ),
    )


def _card(view: View, people: CeilingTable, level: float, parts: Parts) -> JudgeCard:
    table, name = view.table, view.name

    def of(make: Callable[..., T], *data: Any, without: Any) -> T:
        return parts.of(make, *data, without=without, whose=name)

    drafts = [draft for key, check in CHECKS.items() if (draft := drafted(check, key, view)) is not None]
    classes, confusion = of(classes_of, view, without=((), None))
    flipped, first_place = of(flips, view, without=(None, None))
    mean, label_mean = of(means, view, without=(None, None))
    silent = table.source.no_verdict[name]
    return JudgeCard(
        judge=name,
        kind=table.kind,
        n=len(view.rows) + silent,
        n_no_verdict=silent,
        n_labelled=int((~np.isnan(table.correct[view.rows])).sum()),
        questions=len(np.unique(view.cluster)),
        accuracy=of(accuracy, view, without=None),
        kappa=of(kappa, view, without=None),
        ceiling_gap=of(people.gap, view, without=None),
        classes=classes,
        confusion=confusion,
        peer_agreement=of(peer_agreement, view, without=None),
        flips=flipped,
        first_place=first_place,
        repeats=of(repeats, view, without=None),
        prompt_agreement=of(prompt_agreement, view, without=None),
        mean=mean,
        label_mean=label_mean,
        scale_use=of(scale_use, view, without={}),
        checks=decide(drafts, level),
        over_time=of(over_time, view, without=()),
        versions=of(groups, view, "versions", without=()),
        categories=of(groups, view, "categories", without=()),
        contested=of(contested, view, without=None),
        rates=of(rates_of, view, without=()),
        worst=of(worst, view, without=()),
    )


def _silent(held: Holdings, tables: Mapping[VerdictKind, Table]) -> tuple[str, ...]:
    heard = {table.source.judges.values[code] for table in tables.values() for code in np.unique(table.judge)}
    names = [name for name in held.judges if name not in heard]
    return (f"Judges without any verdict have no card: {', '.join(names)}.",) if names else ()


def _next_steps(held: Holdings, cards: Sequence[JudgeCard], juries: Sequence[Jury]) -> tuple[NextStep, ...]:
    if not cards:
        return ()
    steps = [*_labels_step(held, cards), *_orders_step(held)]
    labelled = max((card.n_labelled for card in cards), default=0)
    if labelled >= FEWEST_FOR_CALIBRATION:
        steps.append(NextStep(goal="calibrate", reason="the labels allow a probability for every verdict", n=labelled))
        steps.append(NextStep(goal="guarantee", reason="a calibration allows to keep verdicts with a guarantee"))
    else:
        steps.append(FREE)
    steps += [NextStep(goal="drop a judge", reason=why, judge=name) for jury in juries for name, why in jury.drop]
    return tuple(steps)


def _labels_step(held: Holdings, cards: Sequence[JudgeCard]) -> list[NextStep]:
    if not any(card.n_labelled for card in cards):
        none = "no verdict can be compared with its label" if held.labelled_items else "no verdict has a label"
        return [NextStep(goal="add labels", reason=f"{none}: nothing says how often a judge is right")]
    weak: list[Check] = [
        check
        for card in cards
        for check in card.checks
        if check.status == "underpowered" and check.reference == "labels" and check.labels_needed is not None
    ]
    if not weak:
        return []
    most = max(check.labels_needed or 0 for check in weak)
    names = ", ".join(dict.fromkeys(check.name for check in weak))
    return [NextStep(goal="add labels", reason=f"underpowered: {names}", n=most)]


def _orders_step(held: Holdings) -> list[NextStep]:
    if "pairwise" not in held.kinds or held.both_orders:
        return []
    return [
        NextStep(
            goal="judge both orders",
            reason="no pair was judged in both orders: a preference for a place shows only against labels",
        )
    ]
