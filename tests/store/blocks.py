"""Blocks of made assessments, for tests of stores."""

import asyncio
from random import Random

from metajudge.store import Store
from metajudge.store.rows import AssessmentWrite, assessment_write, item_row, judgment_row, without_annotation
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


def block(*assessments: Assessment, run: str = "run-1") -> list[AssessmentWrite]:
    return [assessment_write(key_of(one), None, one, None, run) for one in assessments]


async def keep(store: Store, *judgments: Judgment) -> int:
    return await store.keep_texts([*map(item_row, judgments)], [*map(judgment_row, judgments)])


async def save_all(store: Store, *pairs: tuple[Judgment, Assessment], run: str = "run-1") -> None:
    """Saves assessments in one commit, in this order."""
    await asyncio.gather(
        *(store.save_assessment(f"{one.id}-{said.panel_digest}", one, said, run) for one, said in pairs)
    )


TABLES = ("items", "judgments", "assessments", "annotations", "lines")


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
        await store.append_block(block(*some, run=f"run-{number}"))
        return
    for one in some:
        judgment = next(j for j in drawn if j.digest == one.judgment_digest)
        await store.save_assessment(key_of(one), judgment, one, f"run-{number}", without_annotation(one))
