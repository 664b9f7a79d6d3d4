"""Judgments and assessments out: pandas frames, Hugging Face datasets and Arrow tables.

The columns are the fields of a mapping (``id, judge, verdict, question, responses.A, models.A, item_id, ...``), so that
a frame written to CSV or Parquet is read by ``metajudge vet`` as it is, and gives equal records. Lists, and the
caller's own data in ``meta``, are JSON text. pandas, datasets and pyarrow are imported when they are used:
``pip install '.[inputs]'`` in a checkout.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from metajudge.errors import ConfigurationError
from metajudge.installation import install_command
from metajudge.reading.containers.cells import cell
from metajudge.reading.frames import AT_ONCE
from metajudge.reading.mapped_labels import labels_text
from metajudge.reading.scales import scale_text
from metajudge.reading.vocabulary import UnknownValueError, Vocabulary
from metajudge.runs.assessment_tables import COLUMNS, arrow, table_of
from metajudge.types import Assessment, Category, Grade, Judgment, Ranking

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset
    from pandas import DataFrame

_ALWAYS = ("id", "judge", "verdict", "no_verdict", "rationale", "order", "item_id", "question")


def to_pandas(records: "Iterable[Judgment] | Iterable[Assessment]") -> "DataFrame":
    """A frame of judgments, or of assessments: one row each, in their order.

    Judgments have the columns that :func:`metajudge.from_pandas` reads. Assessments have ids, judge, ``status``,
    ``accepted``, ``score``, ``score_low``, ``score_high``, ``probability``, ``decision``, ``failure``, cost and
    provenance, one column ``agent.NAME`` with each agent's score and one ``signal.NAME`` with each signal's value; what
    is absent is missing (``None`` or ``NaN``), never 0.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    pandas = _imported("pandas")
    rows = _rows(records)
    return pandas.DataFrame(rows, columns=_columns(rows))


def to_dataset(records: "Iterable[Judgment] | Iterable[Assessment]") -> "Dataset":
    """A Hugging Face dataset with the columns of :func:`to_pandas`.

    Raises:
        ConfigurationError: datasets is not installed.
    """
    datasets = _imported("datasets")
    rows = _rows(records)
    return datasets.Dataset.from_dict({name: [row.get(name) for row in rows] for name in _columns(rows)})


def to_arrow(records: "Iterable[Judgment] | Iterable[Assessment]") -> "pyarrow.Table":
    """An Arrow table of judgments, or of assessments: one row each, in their order.

    Judgments have the columns of :func:`to_pandas`, all of them texts. Assessments have those of
    :mod:`metajudge.runs.assessment_tables`, as ``vet --out FILE.parquet`` writes them.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    package = arrow()
    tables, others, source = [], list[Judgment](), iter(records)
    while part := list(islice(source, AT_ONCE)):
        lines = [one.model_dump_json().encode() for one in part if isinstance(one, Assessment)]
        if lines:
            tables.append(table_of(lines))
        others += [one for one in part if isinstance(one, Judgment)]
    if tables:
        return package.concat_tables(tables)
    rows = _rows(others)
    return package.table(
        {name: package.array([row.get(name) for row in rows], package.string()) for name in _columns(rows)}
    )


def _rows(records: "Iterable[Judgment] | Iterable[Assessment]") -> list[dict[str, Any]]:
    return [_judgment_row(one) if isinstance(one, Judgment) else _assessment_row(one) for one in records]


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All keys in a stable order: responses and models side by side, behind the question."""
    keys = dict.fromkeys(key for row in rows for key in row)
    ranks = {"responses": 1, "models": 2, "metadata": 3}
    ahead = [key for key in keys if key in _ALWAYS or "." not in key]
    nested = sorted((key for key in keys if key not in ahead), key=lambda key: ranks.get(key.split(".")[0], 4))
    return [*ahead, *nested]


def _judgment_row(judgment: Judgment) -> dict[str, Any]:
    item = judgment.item
    row: dict[str, Any] = {
        "id": judgment.id,
        "judge": judgment.judge,
        "verdict": _verdict(judgment.verdict),
        "no_verdict": judgment.no_verdict,
        "rationale": judgment.rationale,
        "order": json.dumps(judgment.order),
        "labels": None if judgment.labels is None else json.dumps(judgment.labels, ensure_ascii=False),
        "instruction": judgment.instruction,
        "meta": orjson.dumps(judgment.meta).decode() if judgment.meta else None,
        "item_id": item.id,
        "question": item.question,
        "category": item.category,
        "label": _verdict(item.label),
        "reference": item.reference,
    }
    row |= {"human_labels": labels_text(item.labels)} if item.labels else {}
    row |= {"scale": scale_text(item.scale)} if item.scale is not None else {}
    if item.conversation:
        row["conversation"] = orjson.dumps([one.model_dump() for one in item.conversation]).decode()
    row |= {f"metadata.{name}": orjson.dumps(known).decode() for name, known in (item.metadata or {}).items()}
    row |= {f"responses.{name}": text for name, text in item.responses.items()}
    row |= {f"models.{name}": model for name, model in (item.models or {}).items()}
    return row


def _verdict(verdict: Any) -> str | None:
    match verdict:
        case Ranking():
            return json.dumps(verdict.to_json())
        case Grade():
            return f"{verdict.value!r}"
        case Category():  # its word where that is read back as the same
            text = str(verdict)
            with suppress(UnknownValueError):
                if Vocabulary({}, categories=True).read(text, ("A",), {}) == verdict:
                    return text
            return orjson.dumps({"category": text}).decode()
    return None if verdict is None else str(verdict)


def _assessment_row(assessment: Assessment) -> dict[str, Any]:
    record = assessment.model_dump(mode="json")
    low, high = record["score_bounds"] or (None, None)
    row = {name: cell(record, ".".join(path)) for name, (_, *path) in COLUMNS.items()}
    row |= {"score_low": low, "score_high": high, "accepted": assessment.kept}
    row |= {f"agent.{agent.agent}": agent.score for agent in assessment.agents}
    row |= {f"signal.{name}": signal.value for name, signal in (assessment.signals or {}).items()}
    return row


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ConfigurationError(f"{name} is not installed: {install_command('inputs')}") from None
