"""The audit itself: judgments in, report out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from metajudge.audit.alternative import alternative
from metajudge.audit.card import AuditDocument, AuditedJudge, Ceiling, Disagreement, Figure, Holdings, Jury, NextCommand
from metajudge.audit.conduct import categories, copy, drift, prompts, severity, versions, weaker_than_peers
from metajudge.audit.draft import LEVEL, Draft, Parts, decide, drafted
from metajudge.audit.figures import (
    accuracy,
    ceiling_gap,
    ceiling_of,
    classes_of,
    contested,
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
from metajudge.audit.gather import EXCERPT, Gathered, gather
from metajudge.audit.holdings import holdings_of, left_out, supports_of
from metajudge.audit.jury import jury_of
from metajudge.audit.preferences import length, own_answer, own_family, position
from metajudge.audit.rates import rates_of
from metajudge.audit.table import NOTHING, Table, build_table
from metajudge.audit.view import View, build_peers, view_of
from metajudge.errors import InputError
from metajudge.evidence.dependence import Dependence, dependence_of
from metajudge.evidence.units import note_of
from metajudge.stats.arrays import Floats
from metajudge.types import Judgment
from metajudge.types.right import Right
from metajudge.types.verdict import VERDICT_KINDS, Pairwise

T = TypeVar("T")
MOST = 10
FEWEST = 3
"""Verdicts from which an order is compared."""


def on_two_scales(table: Table) -> list[str]:
    """What was not compared, and how far each such judge puts things in people's order."""
    found = table.scales.sentences()
    for judge in np.flatnonzero(table.unlike).tolist():
        label = table.label_number[table.thing]
        rows = np.flatnonzero((table.facts.judge == judge) & ~np.isnan(label) & ~np.isnan(table.number))
        agreement = spearman(table.number[rows], label[rows])
        if agreement is not None:
            name = table.facts.judges[judge]
            found.append(f"Spearman's rank correlation of {name} and people: {agreement:.3f} (n = {len(rows):,}).")
    return found


def spearman(first: Floats, second: Floats) -> float | None:
    """Spearman's rank correlation of [n] and [n] numbers, in [-1, 1]; equal numbers share the mean of their ranks.

    None with fewer than :data:`FEWEST` of them, and where one side does not vary.
    """
    from scipy.stats import spearmanr

    if len(first) < FEWEST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(spearmanr(first, second).statistic)


def worst(view: View, most: int = MOST) -> tuple[Disagreement, ...]:
    """Wrong verdicts by distance from the label; equal ones where more people say the same, then the stronger verdict.

    Verdicts that are still equal are ordered by the id of the judgment, so that the list does not depend on the order
    of the file.
    """
    if view.reference != "labels":
        return ()
    distance, people = _distances(view), view.table.source.people

    def rank(at: int) -> tuple[float, int, int, int, str]:
        record, said = _record(view, at), people[view.table.item[view.thing[at]]]
        strength = record.verdict.strength if isinstance(record.verdict, Pairwise) else 0
        return -float(distance[at]), -int(len({one.value for one in said}) <= 1), -len(said), -strength, record.id

    rows = np.flatnonzero((view.right == 0) & (distance > 0)).tolist()
    return tuple(_one(view, at, float(distance[at])) for at in sorted(rows, key=rank)[:most])


def _record(view: View, at: int) -> Judgment:
    return view.table.source.records[int(view.table.rows[view.rows[at]])]


def _distances(view: View) -> Floats:
    """[m] in [0, 1]: of grades and ordered categories by the scale, half where one side is a tie, else 1."""
    table = view.table
    if table.coding.spread and not table.binary:
        spread = max(table.coding.spread, float(np.nanmax(table.number) - np.nanmin(table.number)))
        gap = np.minimum(1.0, np.abs(view.number - view.target_number) / spread)
        return np.where(np.isnan(gap), 0.0, gap)
    known = (view.answer != NOTHING) & (view.target != NOTHING)
    apart: Floats = (known & (view.answer != view.target)).astype(np.float64)
    if table.prefers:
        apart[(view.answer == table.tie) | (view.target == table.tie)] /= 2
    return apart


def _one(view: View, at: int, distance: float) -> Disagreement:
    table, record, thing, answer = view.table, _record(view, at), int(view.thing[at]), int(view.answer[at])
    number, ids = int(table.item[thing]), table.shapes[table.shape[thing]]
    item, people = table.source.items[number], table.source.people[number]
    asked = table.source.records[table.rows[table.first[thing]]].item
    return Disagreement(
        judgment=record.id,
        item=item.id,
        verdict=None if record.verdict is None else record.verdict.to_json(),
        label=None if item.truth is None else item.truth.to_json(),
        people=len(people),
        unanimous=len({one.value for one in people}) == 1,
        distance=distance,
        question=item.question[:EXCERPT],
        response=asked.responses[ids[answer if table.prefers and answer < len(ids) else 0]][:EXCERPT],
        rationale=record.rationale[:EXCERPT],
    )


_BY_REFERENCE = position, length, own_family, own_answer, severity, drift, versions, prompts, categories
CHECKS: dict[Any, Callable[[View], Draft | None]] = {
    check.__name__: check for check in (*_BY_REFERENCE, weaker_than_peers, copy)
}
"""In the order in which a card shows them."""

FREE = NextCommand(goal="vet", reason="free evidence says which verdicts to look at first")


def audit(
    judgments: Iterable[Judgment], *, right: Right | None = None, level: float = LEVEL, unit: str | None = None
) -> AuditDocument:
    """Says what each judge is worth on verdicts at hand.

    Judgments are read once. Verdicts of several kinds are never mixed: a judge has a card for each kind.

    Args:
        judgments: with labels of people where there are any (``Item.label``, ``Item.labels``).
        right: what counts as right; None: the default of each kind. A kind that the rule does not apply to gets its
            default.
        unit: of dependence, where the judgments state one that was asked for (:mod:`metajudge.evidence.units`).
        level: the chance of any finding on the card of a judge without bias, in (0, 1).

    Raises:
        InputError: there is no judgment, or ``level`` is out of range.
    """
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, not {level!r}")
    source = gather(judgments)
    if not source.records:
        raise InputError("there are no judgments: an audit needs verdicts of at least one judge")
    kinds = [VERDICT_KINDS[code] for code in np.unique(source.heard.kind).tolist()]
    tables = {kind: build_table(source, kind, right) for kind in kinds}
    parts, cards, ceilings, juries = Parts(), list[AuditedJudge](), list[Ceiling](), list[Jury]()
    for table in tables.values():
        peers, ceiling = build_peers(table), ceiling_of(table)
        seats = sorted(np.unique(table.facts.judge).tolist(), key=table.facts.judges.__getitem__)
        cards += [_card(view_of(table, peers, judge), ceiling, level, parts) for judge in seats]
        ceilings += [] if ceiling is None else [ceiling]
        jury = parts.of(jury_of, table, peers, without=None)
        juries += [] if jury is None else [jury]
    independence = parts.of(independence_of, source, right, without=Dependence())
    silent = sorted(set(source.facts.judges).difference(source.heard.judges))
    notices = (
        *left_out(source, tables),
        *(note for table in tables.values() for note in on_two_scales(table)),
        f"Judges without any verdict have no card: {', '.join(silent)}." if silent else None,
        independence.not_compared,
        *parts.notices,
        note_of(source.facts.asked, unit),
    )
    held = holdings_of(source, tables)
    return AuditDocument(
        holdings=held,
        supports=supports_of(held, cards, ceilings, juries),
        level=level,
        judges=tuple(cards),
        ceilings=tuple(ceilings),
        juries=tuple(juries),
        independence=independence.groups,
        next=tuple(_next_steps(held, cards, juries)),
        notices=tuple(note for note in notices if note),
    )


def independence_of(source: Gathered, right: Right | None) -> Dependence:
    """What is known of the independence of the judges, by the rule given."""
    heard = source.heard
    return dependence_of(heard.select(np.argsort(heard.kind, kind="stable")), heard.rules(right))


def _card(view: View, ceiling: Ceiling | None, level: float, parts: Parts) -> AuditedJudge:
    table, name = view.table, view.name

    def of(make: Callable[..., T], *data: Any, without: Any) -> T:
        return parts.of(make, *data, without=without, whose=name)

    drafts = [draft for key, check in CHECKS.items() if (draft := drafted(check, key, view)) is not None]
    classes, confusion = of(classes_of, view, without=((), None))
    facts, version = table.source.facts, table.source.version
    silent = int(((facts.judge == view.judge) & (facts.verdict == NOTHING)).sum())
    first = {"accuracy": accuracy, "kappa": kappa, "ceiling_gap": ceiling_gap, "peer_agreement": peer_agreement}
    figures: dict[str, Figure | None] = {key: of(make, view, without=None) for key, make in first.items()}
    figures["flips"], figures["first_place"] = of(flips, view, without=(None, None))
    figures["repeats"] = of(repeats, view, without=None)
    figures["prompt_agreement"] = of(prompt_agreement, view, without=None)
    figures["mean"], figures["label_mean"] = of(means, view, without=(None, None))
    known = {key: one for key, one in figures.items() if one is not None}
    plain = {key: known[key].estimate if key in known else None for key in ("accuracy", "kappa")}
    return AuditedJudge(
        judge=name,
        kind=table.kind,
        n=len(view.rows) + silent,
        n_no_verdict=silent,
        n_labelled=int((~np.isnan(table.correct[view.rows])).sum()),
        questions=len(np.unique(view.cluster)),
        **plain,
        human_ceiling=None if ceiling is None else ceiling.agreement.estimate,
        figures=known,
        checks=decide(drafts, level),
        classes=classes,
        confusion=confusion,
        scale_use=of(scale_use, view, without={}),
        over_time=of(over_time, view, without=()),
        versions=of(groups, view, view.named(version), version.values, without=()),
        categories=of(groups, view, view.category, table.facts.categories, without=()),
        contested=of(contested, view, without=None),
        alternative=of(alternative, view, without=None),
        rates=of(rates_of, view, without=()),
        worst=of(worst, view, without=()),
    )


def _next_steps(held: Holdings, cards: Sequence[AuditedJudge], juries: Sequence[Jury]) -> Iterator[NextCommand]:
    """What to do next, in order of use; nothing without a card."""
    if not cards:
        return
    weak = [
        (check.name, check.labels_needed)
        for card in cards
        for check in card.checks
        if check.status == "underpowered" and check.reference == "labels" and check.labels_needed is not None
    ]
    labelled = max(card.n_labelled for card in cards)
    if not labelled:
        none = "no verdict can be compared with its label" if held.labelled_items else "no verdict has a label"
        yield NextCommand(goal="add labels", reason=f"{none}: nothing says how often a judge is right")
    elif weak:
        names = ", ".join(dict.fromkeys(name for name, _ in weak))
        yield NextCommand(goal="add labels", reason=f"underpowered: {names}", n=max(needed for _, needed in weak))
    if "pairwise" in held.kinds and not held.both_orders:
        reason = "no pair was judged in both orders: a preference for a place shows only against labels"
        yield NextCommand(goal="judge both orders", reason=reason)
    if labelled:
        reason = "the labels allow a probability for every verdict"
        yield NextCommand(goal="calibrate", reason=reason, n=labelled)
        yield NextCommand(goal="guarantee", reason="a calibration allows a guarantee, if labels are of a random draw")
    else:
        yield FREE
    for jury in juries:
        yield from (NextCommand(goal="drop a judge", reason=why, judge=name) for name, why in jury.drop)
