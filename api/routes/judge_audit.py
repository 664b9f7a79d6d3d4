"""An audit of judges: agreement with people, biases, stability, corrected rates, power; no model is asked."""

import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field, ValidationError
from starlette.requests import ClientDisconnect

from metajudge.audit.card import AuditDocument
from metajudge.auditing import PersonLabel, audit_judgments
from metajudge.reading.joined_labels import On
from metajudge.reading.loose import JUDGMENTS, GivenJudgment
from metajudge.reading.vocabulary import without_silent_verdicts

from ..computing import ClientGoneError
from ..deps import ServiceDep
from ..errors import ProblemError
from ..schemas import EXAMPLE_JUDGMENT, Strict, upload_body
from ..uploads import MOST_PROBLEMS, Unclear, bounded, is_in_lines, problems_of, receive_lines

router = APIRouter(prefix="/v1", tags=["audit"])

MOST_BYTES = 64_000_000
"""Size of an upload in bytes: unlike a batch it is held in memory."""
MOST_LABELS = 1_000_000
Rule = Annotated[str, Field(max_length=50)]
Unit = Annotated[str, Field(min_length=1, max_length=200)]


class AuditRequest(Strict):
    """Judgments, and people's labels unless the judgments hold them."""

    judgments: list[GivenJudgment] = Field(min_length=1)
    labels: list[PersonLabel] = Field(default=[], max_length=MOST_LABELS)
    on: On | None = None
    right: Rule | None = None
    unit: Unit | None = None


EXAMPLE = {"judgments": [EXAMPLE_JUDGMENT], "labels": [{"item_id": "i-9", "value": "B", "annotator": "ada"}]}
_PROPERTIES: dict[str, Any] = {
    "judgments": {"type": "array", "items": {"$ref": "#/components/schemas/Judgment"}, "minItems": 1},
    "labels": {"type": "array", "items": PersonLabel.model_json_schema(), "maxItems": MOST_LABELS},
    "on": {"enum": ["id", "item", "item+response", None]},
    "right": {"type": ["string", "null"], "maxLength": 50},
    "unit": {"type": ["string", "null"], "minLength": 1, "maxLength": 200},
}
UPLOAD = upload_body(
    {"type": "object", "required": ["judgments"], "additionalProperties": False, "properties": _PROPERTIES},
    EXAMPLE,
    "A judgment a line; a line without `judge` is a label.",
)


@router.post(
    "/audit", summary="Audit the judges of given judgments", response_model=AuditDocument, openapi_extra=UPLOAD
)
async def audit(
    request: Request,
    running: ServiceDep,
    on: Annotated[On | None, Query(description="With JSONL: what the labels name.")] = None,
    right: Annotated[Rule | None, Query(description="With JSONL: what counts as right.")] = None,
    unit: Annotated[Unit | None, Query(description="With JSONL: what is independent of each other.")] = None,
) -> Response:
    """The JSON of `metajudge audit --json`: a card for each judge, the jury, corrected rates, next steps.

    Takes a JSON object, or JSONL (`application/x-ndjson`) for more than a few thousand judgments. One invalid record
    rejects the whole upload. `right` is `equal`, `within:T`, `side:PASSMARK`, `top1` or `kendall>=T`; by default it
    follows the kind of verdict. `unit` is `item`, `question` or a field of `meta`: what intervals are by. By default it
    is the question, or the item where one text covers more than nine tenths of the items.
    """
    lines = is_in_lines(request)
    folder = Path(tempfile.mkdtemp(prefix="metajudge-audit-"))
    try:
        with running.admission.place():
            await _receive(request, folder / "body", running.options.max_body_bytes, lines=lines)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    most = running.options.limits.batch_items if lines else None
    content = await running.computing.work(lambda: _answer(folder, on, right, unit, most), held=folder)
    return Response(content, media_type="application/json")


async def _receive(request: Request, path: Path, longest: int, *, lines: bool) -> None:
    if lines:
        pieces, end, most = receive_lines(request.stream(), longest), b"\n", MOST_BYTES
        too_long = f"an audit of more than {most} bytes: run `metajudge audit` on the file"
    else:
        pieces, end, most = request.stream(), b"", longest
        too_long = f"a JSON object of more than {most} bytes: send JSONL (application/x-ndjson)"
    try:
        with path.open("wb") as file:
            async for piece in bounded(pieces, most, too_long):
                file.write(piece + end)
    except ClientDisconnect:
        raise ClientGoneError from None


def _answer(folder: Path, on: On | None, right: str | None, unit: str | None, most: int | None) -> bytes:
    """The audit of a received body, which is removed as soon as it is read.

    Args:
        most: judgments of a body of lines; None for a JSON object.
    """
    try:
        body = (folder / "body").read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        asked = _of_lines(body, on, right, unit, most) if most else AuditRequest.model_validate_json(body)
    except ValidationError as error:
        unclear = Unclear()
        unclear.add(error)
        problems = [*unclear.problems(), *problems_of(error)][:MOST_PROBLEMS]
        raise ProblemError(422, problems[0], problems if len(problems) > 1 else None) from None
    given, labels = without_silent_verdicts(asked.judgments), asked.labels or None
    found = audit_judgments(given, labels=labels, on=asked.on, right=asked.right, unit=asked.unit)
    return found.model_dump_json().encode()


def _of_lines(body: bytes, on: On | None, right: str | None, unit: str | None, most: int) -> AuditRequest:
    judgments, labels, problems, unclear = [], [], list[str](), Unclear()
    for number, line in enumerate(body.splitlines(), start=1):
        try:
            if _is_judgment(line):
                judgments.append(JUDGMENTS.validate_json(line))
            else:
                labels.append(PersonLabel.model_validate_json(line))
        except ValidationError as error:
            if not unclear.add(error):
                problems.append(f"line {number}: {problems_of(error)[0]}")
            if len(problems) == MOST_PROBLEMS:
                break
    if problems := [*unclear.problems(), *problems]:
        raise ProblemError(422, problems[0], problems)
    if len(judgments) > most:
        raise HTTPException(413, f"more than {most} judgments: run `metajudge audit` on the file")
    if not judgments:
        raise HTTPException(422, "the upload contains no judgment: send at least one")
    return AuditRequest.model_construct(judgments=judgments, labels=labels, on=on, right=right, unit=unit)


def _is_judgment(line: bytes) -> bool:
    """Whether a line names a judge; a line that is not JSON is reported as a judgment."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return True
    return not isinstance(record, dict) or "judge" in record
