"""Request and response bodies other than the library's records."""

import json
import math
from typing import Annotated, Any

import orjson
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from metajudge.reading.loose import GivenJudgment

from .panels import Choice

EXAMPLE_JUDGMENT: dict[str, Any] = {
    "id": "j-17",
    "item": {
        "id": "i-9",
        "question": "Which is larger, 9.11 or 9.9?",
        "responses": {"A": "9.11, because 11 is larger than 9.", "B": "9.9, because 0.90 is larger than 0.11."},
        "category": "math",
    },
    "judge": "example-judge",
    "verdict": "B>>A",
    "rationale": "Assistant B compares the decimals correctly; assistant A compares 11 with 9.",
    "order": ["A", "B"],
}


EXAMPLE_GRADE: dict[str, Any] = {
    "id": "g-3",
    "item": {
        "id": "i-10",
        "question": "Which is larger, 9.11 or 9.9?",
        "responses": {"A": "9.9, because 0.90 is larger than 0.11."},
        "scale": [1, 5],
        "labels": [{"value": 5, "annotator": "ada"}, {"value": 4, "annotator": "ben"}],
    },
    "judge": "example-judge",
    "verdict": 5,
}
EXAMPLE_CATEGORY: dict[str, Any] = {
    **EXAMPLE_GRADE,
    "id": "c-3",
    "item": {**{name: EXAMPLE_GRADE["item"][name] for name in ("id", "question", "responses")}, "label": True},
    "verdict": "pass",
}


EXAMPLE_LOOSE: dict[str, Any] = {
    **{name: EXAMPLE_JUDGMENT["item"][name] for name in ("question", "category")},
    "responses": list(EXAMPLE_JUDGMENT["item"]["responses"].values()),
    **{name: EXAMPLE_JUDGMENT[name] for name in ("judge", "rationale")},
    "verdict": "B",
}
EXAMPLE_CASE: dict[str, Any] = {
    "id": "case-1",
    "type": "climate",
    "stages": [
        {"name": "relevance_check", "output": {"relevant": True, "reason": "The event is a drought."}},
        {"name": "risk_analysis", "output": "Yields fall by a tenth."},
    ],
}


def upload_body(schema: dict[str, Any], example: Any, lines: str) -> dict[str, Any]:
    """An upload's body for the OpenAPI document: as JSON, or as lines."""
    content = {
        "application/json": {"schema": schema, "example": example},
        "application/x-ndjson": {"schema": {"type": "string", "description": lines}},
    }
    return {"requestBody": {"required": True, "content": content}}


class Strict(BaseModel):
    """A request that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


class VetRequest(Choice):
    """A judgment, and how to vet it."""

    judgment: GivenJudgment = Field(examples=[EXAMPLE_JUDGMENT])
    others: list[GivenJudgment] = Field(
        default=[],
        max_length=500,
        description="Judgments used as evidence, such as the other order or other judges of the item; not vetted.",
    )

    @property
    def choice(self) -> Choice:
        """How to vet it."""
        return Choice(panel=self.panel, rubric=self.rubric, strategy=self.strategy, policy=self.policy)


def _kind(body: Any) -> str:
    return "request" if isinstance(body, VetRequest) or (isinstance(body, dict) and "judgment" in body) else "record"


VetBody = Annotated[
    Annotated[VetRequest, Tag("request")] | Annotated[GivenJudgment, Tag("record")], Discriminator(_kind)
]
"""A judgment, or a request that contains one: distinguished by the field ``judgment``."""


class Health(BaseModel):
    """The service answers."""

    status: str = "ok"


class Version(BaseModel):
    """Name and version of the service."""

    name: str = "metajudge"
    version: str


class Readiness(BaseModel):
    """Whether requests can be served; each of ``checks`` is ``ok`` or the reason."""

    ready: bool
    checks: dict[str, str]


def plain_json(data: Any) -> Response:
    """A response of plain data, tuples and numpy numbers included; NaN and infinity become null."""
    try:
        content = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # integers beyond 64 bits, such as a count of equally good orders
        content = json.dumps(_finite(data), default=lambda one: _finite(one.tolist()), allow_nan=False).encode()
    return Response(content, media_type="application/json")


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
