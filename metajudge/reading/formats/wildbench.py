"""WildBench (Lin et al., 2024), scores of one model's answers: ``eval_results/.../eval=JUDGE/MODEL.json``.

A record has ``session_id, model_test, score`` with ``strengths`` and ``weaknesses``, at times ``model_output``; the
user's conversation stands in another file. Only the folder names the judge.
"""

import re
from typing import Any, Final

from metajudge.reading.containers.cells import object_in
from metajudge.reading.formats.records import FILE, Record, Records, Score

_JUDGE: Final = re.compile(r"/eval=([^/]+)/")


def _judge(record: Record) -> Any:
    found = _JUDGE.search(record[FILE])
    return found and found[1]


def _reason(record: Record) -> str:
    parsed = {**object_in(record.get("parsed_result")), **record}
    return "\n".join(str(parsed[name]) for name in ("strengths", "weaknesses") if parsed.get(name))


SCORES: Final = Records(
    name="WildBench scores",
    marks="session_id, model_test, score",
    answers={"A": "model_output"},
    models={"A": "model_test"},
    id=lambda record: f"{record['session_id']}/{record['model_test']}",
    scores=(Score(value="score", judge=_judge, reason=_reason),),
)
