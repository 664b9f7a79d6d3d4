"""Blocks of made assessments, for tests of stores."""

from random import Random

from metajudge.store import Store
from metajudge.store.annotations import DERIVED, annotation_of, without_annotation
from metajudge.store.bulk import AnnotationRow, AssessmentBlock, ItemRow, JudgmentRow
from metajudge.store.rows import item_row, judgment_row
from metajudge.types import Assessment, Judgment, SignalValue, digest
from tests.doubles.judgments import assessed


def found(judgment: Judgment, score: float | None = 4.2, **changes: object) -> Assessment:
    values = {
        "status": "unscored" if score is None else "assessed",
        "accepted": None if score is None else score > 4.5,
        "strategy": "signals",
        "signals": {"order": SignalValue(value=1.0, state="agree", detail="other order: A>B")},
    }
    return assessed(judgment, score, **{**values, **changes})


def key_of(assessment: Assessment) -> str:
    return digest(["key", assessment.judgment_digest])


def annotation(one: Assessment) -> AnnotationRow | None:
    text = annotation_of(one, without_annotation(one))
    if text is None:
        return None
    return AnnotationRow(
        *(one.status.value, one.accepted, one.calibration, one.probability),
        *((None,) * 3 if one.decision is None else (one.decision.policy, one.decision.policy_digest, "REVIEW")),
        text.encode(),
    )


def block(*assessments: Assessment, run: str = "run-1", **changes: object) -> AssessmentBlock:
    values = {
        "run_id": run,
        "keys": [key_of(one) for one in assessments],
        "judgment_digests": [one.judgment_digest for one in assessments],
        "judgment_ids": [one.judgment_id for one in assessments],
        "item_ids": [one.item_id for one in assessments],
        "judges": [one.judge for one in assessments],
        "statuses": [one.status.value for one in assessments],
        "final_scores": [one.final_score for one in assessments],
        "accepted": [one.accepted for one in assessments],
        "strategies": [one.strategy for one in assessments],
        "panel_digests": [one.panel_digest for one in assessments],
        "payloads": [without_annotation(one).model_dump_json(exclude=DERIVED).encode() for one in assessments],
        "annotations": [annotation(one) for one in assessments],
    }
    return AssessmentBlock(**{**values, **changes})


async def keep(store: Store, *judgments: Judgment) -> int:
    items, said = map(item_row, judgments), map(judgment_row, judgments)
    return await store.blocks.keep_texts(
        [ItemRow(*row[:3], row[3].encode()) for row in items], [JudgmentRow(*row[:5], row[5].encode()) for row in said]
    )


TABLES = ("items", "judgments", "assessments", "annotations")


async def rows(store: Store) -> dict[str, list[tuple]]:
    """All rows, without the times."""

    def read(connection):
        tables = {}
        for table in TABLES:
            result = connection.execute(f"SELECT * FROM {table} ORDER BY 1")
            names = [column[0] for column in result.description]
            tables[table] = [
                {name: value for name, value in zip(names, row, strict=True) if name not in ("created_at", "rowid")}
                for row in result.fetchall()
            ]
        return tables

    return await store.ask(read)


def decided(one: Assessment, probability: float = 0.75) -> Assessment:
    return one.model_copy(update={"probability": probability, "calibrated": True, "calibration": "c1"})


async def write_some(store: Store, rng: Random, drawn: list[Judgment], number: int) -> None:
    """Results of a run on judgments, half of them decided, as a block or one by one."""
    some = []
    for judgment in drawn:
        one = found(judgment, rng.choice((4.2, 4.9)), panel_digest=rng.choice(("p1", "p2")))
        some.append(decided(one, rng.choice((0.5, 0.75))) if rng.random() < 0.5 else one)
    if rng.random() < 0.5:
        await store.blocks.append_block(block(*some, run=f"run-{number}"))
        return
    for one in some:
        judgment = next(j for j in drawn if j.digest == one.judgment_digest)
        await store.save_assessment(key_of(one), judgment, one, f"run-{number}", without_annotation(one))
