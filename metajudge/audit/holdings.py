"""What a file holds, and what that allows to find out."""

from collections.abc import Mapping, Sequence

import numpy as np

from metajudge.audit.card import Analysis, Ceiling, Holdings, JudgeCard, Jury, KindHoldings, Support
from metajudge.audit.clues import iso
from metajudge.audit.gather import Gathered
from metajudge.audit.table import NOTHING, Table
from metajudge.types.label import answered_again, is_ruling
from metajudge.types.verdict import VerdictKind

MOST_VALUES = 20


def holdings_of(source: Gathered, tables: Mapping[VerdictKind, Table]) -> Holdings:
    """Counts of everything that an analysis may rest on."""
    times = np.concatenate([table.time for table in tables.values()] or [np.zeros(0)])
    times = times[~np.isnan(times)]
    people = [label for item in source.items for label in item.people]
    truths = [item.truth() for item in source.items]
    return Holdings(
        judgments=sum(source.counts.values()),
        no_verdict=sum(source.no_verdict.values()),
        duplicates=source.duplicates,
        items=len(source.items),
        questions=source.questions,
        judges=dict(sorted(source.counts.items())),
        kinds={kind: _kind(table) for kind, table in tables.items()},
        labelled_items=sum(one is not None for one in truths),
        labels=len(people),
        undecided_labels=sum(
            bool(one.people) and truth is None for one, truth in zip(source.items, truths, strict=True)
        ),
        annotators=len({one.annotator for one in people if one.annotator is not None}),
        several_labels=sum(len(one.people) > 1 for one in source.items),
        both_orders=sum(_both_orders(table) for table in tables.values()),
        repeats=sum(_repeats(table) for table in tables.values()),
        with_models=len(
            {one.item for things in source.things.values() for one in things if any(m is not None for m in one.models)}
        ),
        with_categories=sum(one.category is not None for one in source.items),
        with_time=len(times),
        first_time=iso(float(times.min())) if len(times) else None,
        last_time=iso(float(times.max())) if len(times) else None,
        versions=_versions(source, tables),
    )


def _kind(table: Table) -> KindHoldings:
    return KindHoldings(
        verdicts=len(table.raw),
        labelled=int((~np.isnan(table.correct)).sum()),
        right=str(table.right),
        right_default=table.right_default,
        values=() if table.kind in ("pairwise", "ranking") else table.classes[:MOST_VALUES],
    )


def _both_orders(table: Table) -> int:
    if table.kind not in ("pairwise", "ranking"):
        return 0
    cells = np.unique(np.column_stack((table.judge, table.thing, table.order)), axis=0)[:, :2]
    counts = np.unique(cells, axis=0, return_counts=True)[1]
    return int((counts > 1).sum())


def _repeats(table: Table) -> int:
    parts = (table.judge, table.thing, table.order, table.version, table.prompt, table.instruction)
    return len(table.raw) - len(np.unique(np.column_stack(parts), axis=0))


def _versions(source: Gathered, tables: Mapping[VerdictKind, Table]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for table in tables.values():
        for judge, version in np.unique(np.column_stack((table.judge, table.version)), axis=0):
            name = source.versions.values[version]
            if name is not None:
                found.setdefault(source.judges.values[judge], set()).add(name)
    return {judge: tuple(sorted(names)) for judge, names in sorted(found.items())}


def supports_of(
    held: Holdings, cards: Sequence[JudgeCard], ceilings: Sequence[Ceiling], juries: Sequence[Jury]
) -> tuple[Support, ...]:
    """Each analysis with what makes it possible, or with what is missing and what one more column would add."""
    checks = {check.name: check for card in cards for check in card.checks}
    judges = len(held.judges)
    pairs = bool(held.kinds.keys() & {"pairwise", "ranking"})
    missing: dict[Analysis, tuple[bool, str, str]] = {
        "agreement with people": (
            any(card.n_labelled for card in cards),
            f"{held.labelled_items:,} of {held.items:,} items have a label",
            "a column with what people say (label, or labels of several people) shows how often each judge is right",
        ),
        "human ceiling": (
            bool(ceilings),
            f"{held.several_labels:,} items are labelled by at least two people",
            "labels of a second person show how well people agree, the most that a judge can reach",
        ),
        "agreement with the other judges": (
            any(card.peer_agreement for card in cards),
            f"{judges} judges",
            "verdicts of other judges on the same items show which judge stands apart, without labels",
        ),
        "position": (
            "position" in checks,
            f"{held.both_orders:,} things were judged in several orders"
            if pairs
            else "verdicts on single responses have no order",
            "the same pairs judged in both orders (with a column for the order) show a preference for a place"
            if pairs
            else "",
        ),
        "length": (
            "length" in checks,
            "texts of the responses, and a label or other judges",
            "the texts of the responses with labels, or with verdicts of other judges, show a preference for length",
        ),
        "own_family": (
            "own_family" in checks,
            f"{held.with_models:,} items name the models of their responses",
            "a column with the model of each response shows whether a judge favours its own family",
        ),
        "own_answer": (
            "own_answer" in checks,
            f"{held.with_models:,} items name the models of their responses",
            "responses written by the judge's own model, named in a column, show whether it favours them",
        ),
        "repeats": (
            any(card.repeats for card in cards),
            f"{held.repeats:,} repeated judgments",
            "the same items judged twice by one judge show how stable its verdicts are",
        ),
        "prompts": (
            any(card.prompt_agreement for card in cards),
            "verdicts under several prompts on the same items",
            "a column prompt_version shows how far the wording of the prompt decides",
        ),
        "severity": (
            "severity" in checks,
            "grades or categories, and a label or other judges",
            "labels, or verdicts of other judges, show whether a judge is strict or lenient"
            if held.kinds.keys() & {"grade", "category"}
            else "",
        ),
        "drift": (
            "drift" in checks,
            f"{held.with_time:,} judgments have a time",
            "a column time shows whether a judge changes",
        ),
        "versions": (
            "versions" in checks,
            f"{len(held.versions)} judges have versions",
            "a column judge_version shows whether a new version is better",
        ),
        "categories": (
            "categories" in checks,
            f"{held.with_categories:,} items have a category",
            "a column category shows where a judge is weak",
        ),
        "corrected rate": (
            any(rate.ppi is not None for card in cards for rate in card.rates),
            f"{held.labelled_items:,} of {held.items:,} items have a label",
            "labels on a random part of the items show what share really passes",
        ),
        "jury": (
            bool(juries),
            f"{judges} judges",
            "verdicts of other judges on the same items show how many judges are needed",
        ),
    }
    return tuple(
        Support(analysis=name, possible=possible, why=why, add="" if possible else add)
        for name, (possible, why, add) in missing.items()
    )


def left_out(source: Gathered, tables: Mapping[VerdictKind, Table]) -> tuple[str, ...]:
    """What was not counted, and why."""
    found = []
    if source.duplicates:
        found.append(f"{source.duplicates:,} judgments have the id of an earlier one and are left out.")
    silent = sum(source.no_verdict.values())
    if silent:
        found.append(f"{silent:,} judgments have no verdict: they are in no figure but their own count.")
    if source.relabelled:
        found.append(f"{len(source.relabelled):,} items have two different labels of their own: the first one counts.")
    rulings = sum(is_ruling(label.annotator) for item in source.items for label in item.labels)
    older = sum(len(item.labels) - len(item.people) for item in source.items) - rulings
    if older:
        found.append(answered_again(older))
    if rulings:
        found.append(
            f"{rulings:,} labels are rulings (adjudicated): they decide their item and are no person's answer."
        )
    undecided = sum(bool(one.people) and one.truth() is None for one in source.items)
    if undecided:
        found.append(f"On {undecided:,} items people are undecided: they have no label here.")
    for kind, table in tables.items():
        unlike = int((np.isnan(table.correct) & (table.label[table.thing] != NOTHING)).sum())
        if unlike:
            found.append(
                f"{unlike:,} {kind} verdicts cannot be compared with their label by {table.right}: they have none."
            )
        unknown = int((table.answer == NOTHING).sum())
        if unknown:
            found.append(f"{unknown:,} {kind} verdicts say neither pass nor fail ({table.right}) and are in no check.")
    if len(tables) > 1:
        found.append(f"The verdicts are of {len(tables)} kinds ({', '.join(tables)}): each has its own cards.")
    return tuple(found)
