"""Questions that models are to answer: a file of them, or one prompt. Clashes and peer evaluation read them here.

A line of a JSONL file is ``{"id": "q1", "question": "?"}`` and, where known, ``domain`` (or ``category``) and
``reference``. A line of an items file is read, too: its responses, label and models play no part. A ``.txt`` or ``.md``
file is one prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field, StringConstraints, ValidationError, model_validator

from metajudge.errors import InputError
from metajudge.reading.containers.lines import Reject, Source, read_lines
from metajudge.reading.reader import each, split
from metajudge.reading.reasons import reason_of
from metajudge.types import text_digest
from metajudge.types.frozen import Frozen

Name = Annotated[str, StringConstraints(min_length=1, pattern=r"\S", strict=True)]

_TEXTS = (".txt", ".md")
_FILES = (".jsonl", ".json", ".ndjson", *_TEXTS)


class Question(Frozen):
    """One question.

    Attributes:
        domain: what it is about; peer evaluation chooses the words of its ranking prompt by it.
        reference: a reference answer, where there is one.
    """

    id: Name
    question: str = Field(pattern=r"\S")
    domain: Name | None = None
    reference: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_item(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        data = {name: value for name, value in data.items() if name not in ("responses", "label", "models")}
        category = data.pop("category", None)
        return data if category is None else {"domain": category, **data}


QuestionLike: TypeAlias = Question | Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Questions:
    """What was read.

    Attributes:
        rejects: lines that are no questions, with the reason.
        from_file: False for a prompt given as text.
    """

    items: tuple[Question, ...]
    rejects: tuple[Reject, ...] = ()
    from_file: bool = True


def open_questions(prompt: str, *, limit: int | None = None) -> Questions:
    """Reads a literal prompt or a file; a text that ends like a file's name must be one.

    Raises:
        InputError: see :func:`read_questions`; an empty prompt.
    """
    if names_file(prompt):
        return read_questions(Path(prompt), limit)
    return Questions((as_question(prompt),), from_file=False)


def names_file(prompt: str) -> bool:
    """Whether a text is taken for the name of a file."""
    path = Path(prompt)
    return len(prompt) < 4096 and "\n" not in prompt and (path.is_file() or path.suffix.lower() in _FILES)


def read_questions(path: Path, limit: int | None = None) -> Questions:
    """Reads a file of questions.

    Raises:
        InputError: the file cannot be read, holds no question, or one id is used for two questions.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; a file of questions has one JSON object per line")
    if path.suffix.lower() in _TEXTS:
        try:
            return Questions((as_question(path.read_text("utf-8")),))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    source, found = Source(path, str(path)), dict[str, Question]()
    lines = each(source, read_lines(source), lambda line: (line.number, Question.model_validate(line.data)))
    numbered, rejects = split(lines)
    for number, question in numbered:
        if found.setdefault(question.id, question) != question:
            raise InputError(
                f"{path}:{number}: the id {question.id!r} is used for two questions: give different questions "
                "different ids"
            )
    if not found:
        reason = f": {rejects[0]}" if rejects else ": it is empty"
        raise InputError(
            f'{path} contains no question{reason}. A line is an object such as {{"id": "q1", "question": "?"}}'
        )
    return Questions(tuple(found.values())[:limit], tuple(rejects))


def as_questions(given: Sequence[QuestionLike] | Questions) -> tuple[Question, ...]:
    """Questions from plain data.

    Raises:
        InputError: data that is no question, or one id for two questions.
    """
    found: dict[str, Question] = {}
    for number, one in enumerate(given.items if isinstance(given, Questions) else given, start=1):
        question = as_question(one, place=f"question {number}")
        if found.setdefault(question.id, question) != question:
            raise InputError(f"the id {question.id!r} is used for two questions: give each question its own id")
    return tuple(found.values())


def as_question(given: QuestionLike, place: str = "the prompt") -> Question:
    """A question from plain data; a text gets an id of its own content.

    Raises:
        InputError: data that is no question.
    """
    if isinstance(given, Question):
        return given
    if isinstance(given, str):
        if not given.strip():
            raise InputError(f"{place} is empty: give a question, or a file of them")
        return Question(id=f"prompt-{text_digest(given)[:8]}", question=given)
    try:
        return Question.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{place}: {reason_of(error)}") from None
