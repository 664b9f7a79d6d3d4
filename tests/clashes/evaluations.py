"""Candidates that answer, and one evaluation of them."""

from metajudge.clashes.clash import evaluate
from metajudge.clashes.record import ClashRecord

LONG, SHORT = len, lambda text: -len(text)


async def one(item, clash, **options):
    (record,) = await evaluate(item, clash, **options)
    return ClashRecord.model_validate_json(record.model_dump_json())
