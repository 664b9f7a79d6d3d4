"""``metajudge schema``: the JSON Schema of a record."""

import json
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from metajudge.audit.card import AuditDocument
from metajudge.cases.case import Case
from metajudge.cases.result import CaseResult
from metajudge.decision import Policy
from metajudge.types import Assessment, Judgment

Record = Literal["judgment", "assessment", "case", "case_result", "policy", "audit", "vet_summary"]
"""Records whose format is public."""
READ: dict[str, type[BaseModel]] = {"judgment": Judgment, "case": Case, "policy": Policy}
WRITTEN: dict[str, type[BaseModel]] = {"assessment": Assessment, "case_result": CaseResult, "audit": AuditDocument}


def schema(record: Annotated[Record, typer.Argument(help="Which record.")]) -> None:
    """Print the JSON Schema of a record.

    `vet` reads a judgment and writes an assessment; `case` reads a case and writes a case_result; a policy defines
    decisions; `audit --json` prints an audit, and `vet --json` a vet_summary.
    """
    found: dict[str, Any]
    if record == "vet_summary":
        from metajudge.vetting.summary import summary_schema

        found = summary_schema()
    elif record in READ:
        found = READ[record].model_json_schema(mode="validation")
    else:
        found = WRITTEN[record].model_json_schema(mode="serialization")
    typer.echo(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **found}, indent=2))
