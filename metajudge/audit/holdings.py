"""What a file holds, and what that allows to find out."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from metajudge.audit.card import Analysis, AuditedJudge, Ceiling, Holdings, Jury, KindHoldings, Support
from metajudge.audit.gather import Gathered, iso
from metajudge.audit.table import NOTHING, Table
from metajudge.types.label import answered_again, is_ruling
from metajudge.types.verdict import VerdictKind

MOST_VALUES = 20


def holdings_of(source: Gathered, tables: Mapping[VerdictKind, Table]) -> Holdings:
    """Counts of everything that an analysis may rest on."""
    facts, heard = source.facts, len(source.heard)
    times = source.time[:heard]
    times = times[~np.isnan(times)]
    people = [label for said in source.people for label in said]
    named = [zip(table.item.tolist(), table.models, strict=True) for table in tables.values()]
    return Holdings(
        judgments=len(facts),
        no_verdict=len(facts) - heard,
        duplicates=source.duplicates,
        items=len(source.items),
        questions=int(facts.question.max()) + 1,
        judges=dict(sorted(Counter(one.judge for one in source.records).items())),
        kinds={
            kind: KindHoldings(
                verdicts=len(table.rows),
                labelled=int((~np.isnan(table.correct)).sum()),
                right=str(table.right),
                right_default=table.right_default,
                values=() if table.prefers else table.coding.classes[:MOST_VALUES],
            )
            for kind, table in tables.items()
        },
        labelled_items=sum(one.truth is not None for one in source.items),
        labels=len(people),
        undecided_labels=_undecided(source),
        annotators=len({one.annotator for one in people if one.annotator is not None}),
        several_labels=sum(len(said) > 1 for said in source.people),
        both_orders=sum(_both_orders(table) for table in tables.values()),
        repeats=heard - sum(len(np.unique(table.asked, axis=0)) for table in tables.values()),
        with_models=len({item for pairs in named for item, models in pairs if set(models) != {None}}),
        with_categories=sum(one.category is not None for one in source.items),
        with_time=len(times),
        first_time=iso(float(times.min())) if len(times) else None,
        last_time=iso(float(times.max())) if len(times) else None,
        versions=_versions(source),
    )


def _undecided(source: Gathered) -> int:
    return sum(bool(said) and one.truth is None for one, said in zip(source.items, source.people, strict=True))


def _both_orders(table: Table) -> int:
    if not table.prefers:
        return 0
    cells = np.unique(np.column_stack((table.facts.judge, table.thing, table.facts.order)), axis=0)[:, :2]
    return int((np.unique(cells, axis=0, return_counts=True)[1] > 1).sum())


def _versions(source: Gathered) -> dict[str, tuple[str, ...]]:
    heard, found = source.heard, dict[str, set[str]]()
    codes, names = source.version.codes, source.version.values
    for judge, code in np.unique(np.column_stack((heard.judge, codes[: len(heard)])), axis=0).tolist():
        if code >= 0:
            found.setdefault(heard.judges[judge], set()).add(names[code])
    return {judge: tuple(sorted(names)) for judge, names in sorted(found.items())}


def supports_of(
    held: Holdings, cards: Sequence[AuditedJudge], ceilings: Sequence[Ceiling], juries: Sequence[Jury]
) -> tuple[Support, ...]:
    """Each analysis with what makes it possible, or with what is missing and what one more column would add."""
    seen = {check.name for card in cards for check in card.checks} | {name for card in cards for name in card.figures}
    judges = len(held.judges)
    pairs = bool(held.kinds.keys() & {"pairwise", "ranking"})
    graded = bool(held.kinds.keys() & {"grade", "category"})
    possible: dict[Analysis, bool] = {
        "agreement with people": any(card.n_labelled for card in cards),
        "human ceiling": bool(ceilings),
        "agreement with the other judges": "peer_agreement" in seen,
        "prompts": "prompt_agreement" in seen,
        "corrected rate": any(rate.ppi is not None for card in cards for rate in card.rates),
        "jury": bool(juries),
    }
    labelled = f"{held.labelled_items:,} of {held.items:,} items have a label"
    named = f"{held.with_models:,} items name the models of their responses"
    told: dict[Analysis, tuple[str, str]] = {
        "agreement with people": (
            labelled,
            "a column with what people say (label, or labels of several people) shows how often each judge is right",
        ),
        "human ceiling": (
            f"{held.several_labels:,} items are labelled by at least two people",
            "labels of a second person show how well people agree, the most that a judge can reach",
        ),
        "agreement with the other judges": (
            f"{judges} judges",
            "verdicts of other judges on the same items show which judge stands apart, without labels",
        ),
        "position": (
            f"{held.both_orders:,} things were judged in several orders",
            "the same pairs judged in both orders (with a column for the order) show a preference for a place",
        )
        if pairs
        else ("verdicts on single responses have no order", ""),
        "length": (
            "texts of the responses, and a label or other judges",
            "the texts of the responses with labels, or with verdicts of other judges, show a preference for length",
        ),
        "own_family": (named, "a column with the model of each response shows whether a judge favours its own family"),
        "own_answer": (
            named,
            "responses written by the judge's own model, named in a column, show whether it favours them",
        ),
        "repeats": (
            f"{held.repeats:,} repeated judgments",
            "the same items judged twice by one judge show how stable its verdicts are",
        ),
        "prompts": (
            "verdicts under several prompts on the same items",
            "a column prompt_version shows how far the wording of the prompt decides",
        ),
        "severity": (
            "grades or categories, and a label or other judges",
            "labels, or verdicts of other judges, show whether a judge is strict or lenient" if graded else "",
        ),
        "drift": (f"{held.with_time:,} judgments have a time", "a column time shows whether a judge changes"),
        "versions": (
            f"{len(held.versions)} judges have versions",
            "a column judge_version shows whether a new version is better",
        ),
        "categories": (
            f"{held.with_categories:,} items have a category",
            "a column category shows where a judge is weak",
        ),
        "corrected rate": (labelled, "labels on a random part of the items show what share really passes"),
        "jury": (f"{judges} judges", "verdicts of other judges on the same items show how many judges are needed"),
    }
    found = {name: possible.get(name, name in seen) for name in told}
    return tuple(
        Support(analysis=name, possible=found[name], why=why, add="" if found[name] else add)
        for name, (why, add) in told.items()
    )


def left_out(source: Gathered, tables: Mapping[VerdictKind, Table]) -> tuple[str, ...]:
    """What was not counted, and why."""
    rulings = sum(is_ruling(label.annotator) for item in source.items for label in item.labels)
    older = sum(len(item.labels) for item in source.items) - sum(map(len, source.people)) - rulings
    found = [
        (source.duplicates, "{:,} judgments have the id of an earlier one and are left out."),
        (
            len(source.facts) - len(source.heard),
            "{:,} judgments have no verdict: they are in no figure but their own count.",
        ),
        (source.relabelled, "{:,} items have two different labels of their own: the first one counts."),
        (older, answered_again(older)),
        (rulings, "{:,} labels are rulings (adjudicated): they decide their item and are no person's answer."),
        (_undecided(source), "On {:,} items people are undecided: they have no label here."),
    ]
    for kind, table in tables.items():
        unlike = int((np.isnan(table.correct) & (table.label[table.thing] != NOTHING)).sum())
        none = f"verdicts cannot be compared with their label by {table.right}: they have none."
        unknown = f"verdicts say neither pass nor fail ({table.right}) and are in no check."
        found += [(unlike, f"{{:,}} {kind} {none}"), (int((table.answer == NOTHING).sum()), f"{{:,}} {kind} {unknown}")]
    kinds = f"The verdicts are of {len(tables)} kinds ({', '.join(tables)}): each has its own cards."
    return (*(text.format(count) for count, text in found if count), *([kinds] if len(tables) > 1 else ()))
