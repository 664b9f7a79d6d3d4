"""Questions for peer evaluation, read from JSONL."""

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from metajudge.errors import InputError
from metajudge.peers.ballots import Name
from metajudge.readers.lines import Reject, Source, read_lines
from metajudge.readers.reasons import reason_of
from metajudge.types import digest
from metajudge.types.frozen import Frozen

_OF_ITEMS = ("responses", "label", "models", "reference")


class Question(Frozen):
    """One question for all models.

    A line of an items file is read, too: its ``category`` is the domain, its responses and label play no part.

    Attributes:
        domain: chooses the words of the ranking prompt, and figures are given by domain.
    """

    id: Name
    question: str = Field(pattern=r"\S")
    domain: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_item(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = {name: value for name, value in data.items() if name not in _OF_ITEMS}
        category = data.pop("category", None)
        return data if category is None else {"domain": category, **data}

    @property
    def digest(self) -> str:
        """Digest of everything but the id."""
        return digest([self.question, self.domain])


def read_questions(path: Path, limit: int | None = None) -> tuple[tuple[Question, ...], tuple[Reject, ...]]:
    """Reads a JSONL file of questions; what is no question is returned with the reason.

    Raises:
        InputError: the file cannot be read, holds no question, or one id stands for two questions.
    """
    source = Source(path, str(path))
    found: dict[str, Question] = {}
    rejects: list[Reject] = []
    for line in read_lines(source):
        if isinstance(line, Reject):
            rejects.append(line)
            continue
        try:
            question = Question.model_validate(line.data)
        except ValidationError as error:
            rejects.append(source.reject(line.number, reason_of(error), line.raw))
            continue
        if found.setdefault(question.id, question) != question:
            raise InputError(
                f"{path}:{line.number}: question {question.id!r} has another text or domain than before: give "
                "different questions different ids"
            )
    if not found:
        reason = f": {rejects[0]}" if rejects else ": it is empty"
        raise InputError(
            f'{path} holds no question{reason}. A line is an object such as {{"id": "q1", "question": "?"}}'
        )
    return tuple(found.values())[:limit], tuple(rejects)
