"""``metajudge schema``: the JSON Schema of a record."""

from enum import StrEnum
from typing import Annotated

import typer


class Record(StrEnum):
    """Records whose format is public."""

    JUDGMENT = "judgment"
    ASSESSMENT = "assessment"


def schema(record: Annotated[Record, typer.Argument(help="Which record.")]) -> None:
    """Print the JSON Schema of a judgment (what vet reads) or an assessment (what it writes)."""
    import json

    from metajudge.types import Assessment, Judgment

    model = Judgment if record is Record.JUDGMENT else Assessment
    mode = "validation" if record is Record.JUDGMENT else "serialization"
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema(mode=mode)}  # type: ignore[arg-type]
    typer.echo(json.dumps(document, indent=2))
