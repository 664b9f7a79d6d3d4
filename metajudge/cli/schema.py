"""``metajudge schema``: the JSON Schema of a record."""

import json
from enum import StrEnum
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from metajudge.audit.card import AuditDocument
from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult
from metajudge.decision import Policy
from metajudge.types import Assessment, Judgment


class Record(StrEnum):
    """Records whose format is public."""

    JUDGMENT = "judgment"
    ASSESSMENT = "assessment"
    CASE = "case"
    CASE_RESULT = "case_result"
    POLICY = "policy"
    AUDIT = "audit"
    VET_SUMMARY = "vet_summary"


def schema(record: Annotated[Record, typer.Argument(help="Which record.")]) -> None:
    """Print the JSON Schema of a record.

    `vet` reads a judgment and writes an assessment; `case` reads a case and writes a case_result; a policy defines
    decisions; `audit --json` prints an audit, and `vet --json` a vet_summary.
    """
    if record is Record.VET_SUMMARY:
        from metajudge.vetting.summary_schema import summary_schema

        _print(summary_schema())
        return
    models: dict[Record, type[BaseModel]] = {
        Record.JUDGMENT: Judgment,
        Record.ASSESSMENT: Assessment,
        Record.CASE: Case,
        Record.CASE_RESULT: CaseResult,
        Record.POLICY: Policy,
        Record.AUDIT: AuditDocument,
    }
    model = models[record]
    written = record in (Record.ASSESSMENT, Record.CASE_RESULT, Record.AUDIT)
    mode: Literal["serialization", "validation"] = "serialization" if written else "validation"
    _print(model.model_json_schema(mode=mode))


def _print(schema: dict[str, Any]) -> None:
    typer.echo(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2))
