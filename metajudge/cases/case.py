"""A case: work that was done in stages, such as a relevance check and the analysis after it."""

from functools import cached_property
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, StringConstraints, model_validator

from metajudge.types import digest
from metajudge.types.frozen import Data, Frozen

NonEmpty = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class CaseStage(Frozen):
    """One stage's work, and what it had to go by."""

    name: NonEmpty = Field(description="One of the policy's stages.")
    output: str | Data[dict[str, Any] | list[Any]] = Field(description="What the stage produced: a text, or JSON.")
    context: str | Data[dict[str, Any] | list[Any]] | None = Field(
        default=None, description="What it was given: the event, data, instructions."
    )

    @property
    def output_text(self) -> str:
        """The output as a judge sees it."""
        return as_text(self.output)

    @property
    def context_text(self) -> str | None:
        """The context as a judge sees it."""
        return None if self.context is None else as_text(self.context)


class Case(Frozen):
    """What ``metajudge case`` reads: one case, its type, and the work of its stages."""

    version: Literal[1] = Field(default=1, description="Version of this record's format.")
    id: NonEmpty
    type: NonEmpty = Field(description="Chooses the weight profile, e.g. climate.")
    stages: Annotated[tuple[CaseStage, ...], Field(min_length=1)]
    label: bool | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="Whether the work is right, where it is known: true if it should be approved, else false. Neither "
        "judges nor reviewers see it.",
    )
    meta: Data[dict[str, Any]] = Field(default_factory=dict, description="The caller's own data, kept as it is.")

    @model_validator(mode="after")
    def _check(self) -> "Case":
        names = [stage.name for stage in self.stages]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"stages: {name!r} is there twice; a case has each stage once")
        return self

    @cached_property
    def digest(self) -> str:
        """Digest of what is judged: the label and the caller's own data do not enter."""
        return digest(self.model_dump(mode="json", exclude={"meta", "label"}))

    def stage(self, name: str) -> CaseStage | None:
        """A stage by its name; None if missing."""
        return next((stage for stage in self.stages if stage.name == name), None)


def as_text(value: str | dict[str, Any] | list[Any]) -> str:
    """A text as it is; JSON indented, in the order given."""
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
