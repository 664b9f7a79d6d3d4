"""New rows of a block of assessments as columns for DuckDB."""

from collections.abc import Sequence
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.block_writes import BlockWrite
from metajudge.store.bulk import AssessmentBlock
from metajudge.store.repeats import NewRows

_VIEW: Final = "new_assessments"


def insert_assessments(
    connection: duckdb.DuckDBPyConnection, block: AssessmentBlock, new: NewRows[BlockWrite], created_at: float
) -> None:
    """Adds the new rows of ``assessments``, column by column."""
    if not new.assessments:
        return
    places = [write.place for _, write in new.assessments]
    scores = [block.final_scores[i] for i in places]
    accepted = [block.accepted[i] for i in places]
    columns = {
        "assessment_id": np.array([number for number, _ in new.assessments], dtype=np.int64),
        "key_hash": np.array([write.hashed for _, write in new.assessments], dtype=np.uint64),
        "key": _texts([write.key for _, write in new.assessments]),
        "judgment_digest": _texts([block.judgment_digests[i] for i in places]),
        "judgment_id": _texts([block.judgment_ids[i] for i in places]),
        "item_id": _texts([block.item_ids[i] for i in places]),
        "judge": _texts([block.judges[i] for i in places]),
        "status": _texts([block.statuses[i] for i in places]),
        "final_score": np.array([0.0 if one is None else one for one in scores]),
        "scored": np.array([one is not None for one in scores]),
        "accepted": np.array([bool(one) for one in accepted]),
        "decided": np.array([one is not None for one in accepted]),
        "strategy": _texts([block.strategies[i] for i in places]),
        "panel_digest": _texts([block.panel_digests[i] for i in places]),
        "payload": _texts([write.payload for _, write in new.assessments]),
    }
    connection.register(_VIEW, columns)
    try:
        connection.execute(
            "INSERT INTO assessments SELECT assessment_id, key_hash, key, $1, $2, judgment_digest, judgment_id, "  # noqa: S608
            "item_id, judge, status, CASE WHEN scored THEN final_score END, CASE WHEN decided THEN accepted END, "
            f"strategy, panel_digest, payload, false FROM {_VIEW}",
            [block.run_id, created_at],
        )
    finally:
        connection.unregister(_VIEW)


def _texts(values: Sequence[str]) -> npt.NDArray[np.object_]:
    return np.array(values, dtype=object)
