"""A guess at which column of a table is what, with its reasons; not binding."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from metajudge.reading import guessed_values as known
from metajudge.reading.containers.cells import cell, key_of
from metajudge.reading.containers.lines import Line
from metajudge.reading.containers.tables import Survey
from metajudge.reading.conversations import chat_in, is_chat
from metajudge.reading.mapping import PREFIX, FieldMap, columns_in, find_one_hot
from metajudge.reading.vocabulary import MOST_CATEGORIES, MOST_CHARACTERS, UnknownValueError, Vocabulary
from metajudge.types import Category, letters

Confidence = Literal["high", "medium", "low"]

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "question": ("question", "prompt", "instruction", "query", "user_prompt", "input", "task", "problem"),
    "judge": ("judge", "judge_model", "judge_name", "annotator", "grader", "evaluator", "rater", "judge_id", "scorer"),
    "id": ("id", "judgment_id", "row_id", "uuid", "uid", "annotation_id"),
    "item_id": ("item_id", "question_id", "qid", "pair_id", "prompt_id", "example_id", "sample_id", "task_id", "item"),
    "rationale": (
        *("rationale", "explanation", "reasoning", "reason", "justification", "critique", "judgment_text", "judgment"),
        *("judgement", "judge_response", "judge_output", "raw_completion", "comment", "feedback"),
    ),
    "verdict": (
        *("verdict", "winner", "preference", "preferred", "vote", "choice", "decision"),
        *("better", "best", "result"),
    ),
    "turn": ("turn", "turn_number", "turn_id"),
    "category": ("category", "domain", "subset", "topic", "task_type"),
    "reference": ("reference", "reference_answer", "gold_answer", "expected", "ideal", "target", "reference_output"),
    "instruction": ("judge_instruction", "judge_prompt", "system_prompt", "rubric", "grading_prompt"),
    "order": ("order", "presentation_order", "position"),
    "swapped": ("swapped", "is_swapped", "flipped", "is_flipped", "reversed"),
    "no_verdict": ("no_verdict", "error"),
    "meta": ("meta", "metadata"),
}
"""Names of columns, the likeliest first; a field that comes first takes its column first."""
_GRADES: Final = ("score", "grade", "rating")
_WORDS: Final = ("passed", "pass", "is_correct", "correct", "label")
"""Names of a judge's category of a single response, where nothing else is a verdict."""
_MODELS: Final = ("model", "model_name", "model_id", "generator", "candidate", "system")
_LISTS: Final = ("human_labels", "labels", "annotations", "human_annotations", "responses_by_people")
_SINGLE: Final = ("response", "output", "answer", "completion", "model_output", "prediction")
_TEXT_COLUMN = re.compile(
    r"(?:response|output|answer|completion|candidate|reply|conversation)s?[\s_.-]?([a-h]|[1-8])", re.I
)
_MODEL_COLUMN = re.compile(r"(?:model|generator|system|assistant)(?:_?name)?s?[\s_.-]?([a-h]|[1-8])(?:_name)?", re.I)
_DEPTH: Final = 3
_LONGEST_LABEL: Final = 200
_VOCABULARY: Final = Vocabulary({}, categories=True)


@dataclass(frozen=True, slots=True)
class FieldGuess:
    """One field, the column taken for it, how sure that is, and why."""

    field: str
    column: str
    confidence: Confidence
    why: str


@dataclass(slots=True)
class Guess:
    """A mapping as guessed.

    Attributes:
        fields: what was taken for what.
        values: meanings for words of verdicts and labels.
        verdicts: how often each value of the verdict column occurs among the rows looked at.
        problems: what a person must say.
    """

    fields: list[FieldGuess] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def mapping(self) -> FieldMap:
        """The same as a mapping; it may lack fields (see ``problems``)."""
        return FieldMap(columns={one.field: one.column for one in self.fields}, values=self.values)

    @property
    def is_sure(self) -> bool:
        """Whether nothing is left to ask: usual names, verdicts that mean one thing, and no meaning guessed."""
        high = {one.field for one in self.fields if one.confidence == "high"}
        responses = [one for one in self.fields if one.field.startswith("responses.")]
        return (
            {*SURE_OF, *(one.field for one in responses)} <= high
            and len(responses) > 1
            and not (self.problems or self.values or self.mapping.missing())
        )


SURE_OF: Final = ("verdict", "question", "judge")
"""Fields that must be named as they usually are before a table is read without a question."""


def guess_mapping(columns: Sequence[str], rows: Sequence[Line]) -> Guess:
    """Guesses by the names of the columns and by their values.

    Args:
        columns: the table's columns.
        rows: some of its rows.
    """
    return _Guesser(columns, Survey(rows)).guess()


def is_text_name(column: str) -> bool:
    """Whether a column's name says that it has a question, a response or a verdict."""
    name = known.base_name(column)
    texts = (*_NAMES["question"], *known.NAMES["question"], *_NAMES["verdict"], *known.NAMES["verdict"], *_SINGLE)
    return (name in texts and name != "result") or _TEXT_COLUMN.fullmatch(name) is not None


class _Guesser:
    """Takes one column after the other for a field."""

    def __init__(self, columns: Sequence[str], survey: Survey) -> None:
        data = [row.data for row in survey.rows[:20]]
        self._names = list(
            dict.fromkeys([*columns, *(path for one in data for path in (*_paths(one), *known.nested_paths(one)))])
        )
        self._survey = survey
        self._taken: set[str] = set()
        self._fields: dict[str, FieldGuess] = {}
        self._verdicts = Counter[str]()
        self._problems: list[str] = []

    def guess(self) -> Guess:
        self._find_responses()
        self._find_verdict()
        self._find_labels()
        for name in _NAMES:
            if name not in self._fields and (name != "turn" or self._chats()):
                self._find_by_name(name)
        self._find_by_values()
        self._find_question_in_chat()
        self._drop_ambiguous_ids()
        values = self._values()
        found = self._columns
        texts = ("question", "responses", "rationale")
        found |= {name: known.inside(self._survey, one) for name, one in found.items() if name.split(".")[0] in texts}
        found |= known.as_turns(self._survey, found)
        fields = [replace(one, column=found[name]) for name, one in self._fields.items()]
        guess = Guess(fields, values, self._verdicts, self._problems)
        guess.problems += [_MISSING[name] for name in guess.mapping.missing()]
        return guess

    @property
    def _columns(self) -> dict[str, str]:
        return {name: one.column for name, one in self._fields.items()}

    @property
    def _ids(self) -> tuple[str, ...]:
        return FieldMap(columns=self._columns).response_ids

    @property
    def _free(self) -> list[str]:
        return [name for name in self._names if name not in self._taken]

    def _take(self, target: str, name: str, sure: Confidence, why: str, *, first: bool = False) -> None:
        self._taken.update(columns_in(name))
        taken = {target: FieldGuess(target, name, sure, why)}
        self._fields = taken | self._fields if first else self._fields | taken

    def _find_responses(self) -> None:
        """The columns of responses and models."""
        for family, pattern in (("responses", _TEXT_COLUMN), ("models", _MODEL_COLUMN)):
            ids = self._ids
            for name in self._names:
                found = pattern.fullmatch(name) or pattern.fullmatch(name.split(".")[-1])
                if found is None:
                    continue
                mark = letters(int(found[1]) - 1) if found[1].isdigit() else found[1].upper()
                target = f"{family}.{mark}"
                if target not in self._fields and (family == "responses" or mark in ids):
                    self._take(target, name, "high", f"the name ends in {found[1]}")
        for mark, name in known.paired_columns(self._names, self._survey).items() if not self._fields else ():
            why = f"its name and that of another column differ in {mark} alone"
            self._take(f"responses.{mark}", name, "medium", why)
        if not self._fields and (single := known.named(_SINGLE, self._names)) is not None:
            self._take("responses.A", single, "medium", "the only column of responses: a grade")
            if (model := known.named(_MODELS, self._names)) is not None:
                self._take("models.A", model, "medium", "the name")

    def _find_verdict(self) -> None:
        ids = self._ids
        if len(ids) > 1 and self._find_one_hot_verdict(ids):
            return
        wanted = (
            (*_GRADES, *_NAMES["verdict"], *_WORDS) if len(ids) == 1 else (*_NAMES["verdict"], *known.NAMES["verdict"])
        )
        found = [(self._understood(name), place, name) for place, name in self._verdict_columns(wanted)]
        if not found:
            return
        share, place, name = max(found, key=lambda one: one[0])
        sure: Confidence = "high" if share == 1 and place < 3 else "medium" if share >= 0.5 else "low"
        self._verdicts = Counter(self._survey.keys(name))
        shown = ", ".join(value or "(empty)" for value, _ in self._verdicts.most_common(6))
        self._take("verdict", name, sure, f"the name; its values: {shown}", first=True)

    def _verdict_columns(self, wanted: Sequence[str]) -> list[tuple[int, str]]:
        """Columns that may be the verdict, the likeliest first, each with its place: a judge's own come first."""
        free = self._free
        found = [(0, name) for name in free if known.is_judges_name(name)]
        judged = any(known.base_name(name) in _NAMES["judge"] for name in free)
        for place, one in enumerate(wanted):
            # A label is a judge's only where a judge is named, and no other person.
            if one == "label" and (not judged or any(known.base_name(name) in known.ANNOTATORS for name in free)):
                continue
            found += [(place, name) for name in free if known.base_name(name) == one and (place, name) not in found]
        return found

    def _find_one_hot_verdict(self, ids: Sequence[str]) -> bool:
        """Whether several columns of zeros and ones are the verdict."""
        numbers = [str(number) for number in range(1, len(ids) + 1)]
        found = find_one_hot(self._free, self._survey, ids) or find_one_hot(self._free, self._survey, numbers)
        if found is None:
            return False
        columns = found.names
        rows = zip(*map(self._survey.keys, columns), strict=True)
        self._verdicts = Counter(
            next((name for name, key in zip(columns, row, strict=True) if key in ("1", "true")), "(none)")
            for row in rows
        )
        self._take("verdict", PREFIX + ",".join(columns), "high", "one of these columns is 1", first=True)
        return True

    def _understood(self, column: str) -> float:
        """The share of a column's values that mean a verdict."""
        mapping = FieldMap(columns=self._columns)
        ids, models = (
            mapping.response_ids,
            {name: self._survey.keys(one) for name, one in mapping.model_columns.items()},
        )
        good, words = 0, set()
        for number, value in enumerate(self._survey.cells(column) if ids else ()):
            try:
                found = _VOCABULARY.read(value, ids, {name: keys[number] for name, keys in models.items()})
            except UnknownValueError:
                continue
            good += 1
            words |= {found.value} if isinstance(found, Category) else set()
        return 0.0 if len(words) > MOST_CATEGORIES else good / max(len(self._survey.rows), 1)

    def _find_by_name(self, target: str) -> None:
        for place, wanted in enumerate((*_NAMES[target], *known.NAMES.get(target, ()))):
            # A column of the table itself goes before one inside nested data.
            name = min((name for name in self._free if known.base_name(name) == wanted), key=_level, default=None)
            if name is not None:
                sure: Confidence = "high" if name == target or (place < 2 and _level(name) == 0) else "medium"
                self._take(target, name, sure, "the name")
                return

    def _find_labels(self) -> None:
        """People's labels: columns with such a name, lists of labels, and who gave the one label of a row."""
        flag = known.ruling_flag(self._names, self._survey.keys)
        free = sorted((name for name in self._free if name != flag and known.is_label_name(name)), key=_level)
        found = [name for name in free if not self._is_judges_own(name) and self._is_filled(name)]
        first = next(
            (name for name in found if known.base_name(name) == "label"), found[0] if len(found) == 1 else None
        )
        for name in found:
            target = "label" if name == first else f"label.{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}"
            sure: Confidence = "high" if known.base_name(name) == "label" and _level(name) == 0 else "medium"
            self._take(target, name, sure, "the name: people's label")
        lists = [name for wanted in _LISTS for name in self._free if known.base_name(name) == wanted]
        if (listed := next((one for one in lists if any(map(_is_list, self._survey.cells(one)))), None)) is not None:
            self._take("human_labels", listed, "medium", "the name; its values are lists")
        if first is None or "verdict" not in self._fields:
            return
        annotator = known.named(known.ANNOTATORS, self._free)
        if annotator is None:
            return
        self._take("annotator", annotator, "medium", "the name, beside a label")
        if (time := known.named(known.LABEL_TIMES, self._free)) is not None:
            self._take("label_time", time, "medium", "the name, beside a label")
        if flag is not None:
            self._take("ruling", flag, "medium", "the name, beside an annotator")

    def _find_by_values(self) -> None:
        """What names did not say: by the values of columns, with little confidence."""
        if not self._ids and "verdict" not in self._fields:
            found = known.column_that_names_columns(self._free, self._survey)
            if found is not None:
                verdict, columns = found
                self._verdicts = Counter(self._survey.keys(verdict))
                self._take("verdict", verdict, "medium", "its values are the names of two other columns")
                for place, name in enumerate(columns):
                    self._take(f"responses.{letters(place)}", name, "medium", f"{verdict!r} names it")
        ids = self._ids
        if "verdict" not in self._fields and len(ids) > 1:
            for name in known.few_values([name for name in self._free if not known.is_label_name(name)], self._survey):
                unknown = [value for value in self._unknown(name) if value not in ("1", "2")]
                if all(known.suggested(value, ids) for value in unknown):
                    self._verdicts = Counter(self._survey.keys(name))
                    self._take("verdict", name, "low", "all of its values are verdicts")
                    break
        column = self._columns.get("verdict")
        if column is not None and len(ids) == 2 and "models.A" not in self._fields:
            models = known.columns_of_models(self._free, self._survey, column)
            for mark, name in zip(ids, models or (), strict=False):
                self._take(f"models.{mark}", name, "medium", f"{column!r} has its values")
        if "question" not in self._fields and not self._chats():
            question = known.question_column(self._free, self._survey)
            if question is not None:
                self._take("question", question, "low", "its texts look like questions")

    def _is_filled(self, column: str) -> bool:
        """Whether a column has short values: texts are answers of people, not labels."""
        values = self._survey.keys(column)
        return not values or (any(values) and all(len(value) <= _LONGEST_LABEL for value in values))

    def _is_judges_own(self, name: str) -> bool:
        """Whether a label is the judge's own output: as in Phoenix, or its score in other words."""
        parent = name.rpartition(".")[0]
        beside = {known.base_name(one) for one in self._names if one.rpartition(".")[0] == parent and one != name}
        annotation = any(known.base_name(one) in ("annotator_kind", "annotation_name") for one in self._names)
        if beside & {"score", "explanation"} and (bool(parent) or annotation):
            return True
        column = self._columns.get("verdict")
        if column is None or column.startswith(PREFIX) or known.base_name(name) != "label":
            return False
        pairs = set(zip(self._survey.keys(column), self._survey.keys(name), strict=True))
        scores, words = {score for score, _ in pairs}, {word for _, word in pairs}
        if not len(pairs) == len(scores) == len(words) > 1 or scores == words:
            return False
        self._problems.append(
            f"{name!r} says in other words what {column!r} says, so it is taken for the judge's own: if people gave "
            f"it, --map label={name}"
        )
        return True

    def _find_question_in_chat(self) -> None:
        """Where the responses are chats and no column is the question: the first message of the first one."""
        found = self._chats()
        if found is None or "question" in self._fields:
            return
        column, chats = found
        single = all(len(chat) <= 2 and chat[0].get("role") != "system" for chat in chats)
        path, what = (f"{column}.0.content", "the first message of") if single else (column, "what the user says in")
        self._take("question", path, "medium", f"{what} {column}")

    def _chats(self) -> tuple[str, list[Any]] | None:
        """The column of the first response and its values, where all of them are lists of messages."""
        column = next((one.column for name, one in self._fields.items() if name.startswith("responses.")), None)
        chats = [] if column is None else list(map(chat_in, self._survey.cells(column)))
        return (column, chats) if column is not None and chats and all(map(is_chat, chats)) else None

    def _drop_ambiguous_ids(self) -> None:
        """Takes an id of several rows for the item's, and one that stands with different texts for the question's."""
        columns = self._columns
        texts = [column for name, column in columns.items() if name == "question" or name.startswith("responses.")]
        own = [*texts, *(columns[name] for name in ("verdict", "judge") if name in columns)]
        for target, content in (("id", own if "annotator" in columns else None), ("item_id", texts)):
            column = self._columns.get(target)
            if column is None or self._names_one(column, content):
                continue
            del self._fields[target]
            self._taken.discard(column)
            other = "item_id" if target == "id" and self._names_one(column, texts) else "question_id"
            if other not in self._fields and (other == "item_id" or self._names_questions(column, columns)):
                self._take(other, column, "medium", "the name; it stands in several rows")

    def _names_questions(self, column: str, columns: Mapping[str, str]) -> bool:
        """Whether a column identifies questions: each value has several responses, of different models."""
        if not columns.keys() >= {"responses.A", "question"} or "responses.B" in columns:
            return False
        model = columns.get("models.A")
        return self._names_one(column, [columns["question"]]) and (model is None or all(self._survey.keys(model)))

    def _names_one(self, column: str, content: Sequence[str] | None) -> bool:
        """Whether each value of a column stands with one content; None: whether each stands in one row."""
        seen: dict[str, str] = {}
        for number, row in enumerate(self._survey.rows):
            said = str(number) if content is None else repr([cell(row.data, one) for one in content])
            key = key_of(cell(row.data, column))
            if key == "" or seen.setdefault(key, said) != said:
                return False
        return True

    def _values(self) -> dict[str, str]:
        """Meanings for words that are not understood as they are; numbers and marks are asked about."""
        ids = self._ids
        found: dict[str, str] = {}
        for name, column in self._columns.items() if ids else ():
            if name.split(".")[0] not in ("verdict", "label") or column.startswith(PREFIX):
                continue
            unknown = self._unknown(column, name)
            if len(ids) == 1:  # a text is no verdict, whatever it may mean
                unknown = [value for value in unknown if len(value) <= MOST_CHARACTERS]
            meanings = {value: meaning for value in unknown if (meaning := known.meant(value, ids)) is not None}
            left = [value for value in unknown if value not in meanings]
            if any(known.suggested(value, ids) is None for value in left):  # "right" may be the opposite of "wrong"
                left += [value for value in meanings if value.casefold() in known.SIDES]
                meanings = {value: meaning for value, meaning in meanings.items() if value not in left}
            found |= meanings
            if ties := [value for value, meaning in meanings.items() if meaning == "tie"]:
                self._problems.append(f"{', '.join(map(repr, ties))} in {column!r} are taken for ties; check that")
            if left:
                self._problems.append(known.asked(name, column, left, Counter(self._survey.keys(column)), len(ids) > 1))
        return found

    def _unknown(self, column: str, name: str = "verdict") -> list[str]:
        return known.unknown_values(self._survey, FieldMap(columns={**self._columns, name: column}), name)


_MISSING: Final = {
    "verdict": "no column looks like a verdict: --map verdict=COLUMN",
    "question": "no column looks like the question: --map question=COLUMN",
    "judge": "no column names the judge: --map judge=COLUMN, or judge:=NAME for one judge",
    "responses.A": "no column looks like a response: --map responses.A=COLUMN,responses.B=COLUMN",
}


def _is_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and value.lstrip().startswith("["))


def _level(name: str) -> int:
    return name.count(".")


def _paths(data: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[str]:
    """Dotted paths to values inside nested objects."""
    for key, value in data.items():
        if prefix:
            yield f"{prefix}{key}"
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _paths(value, f"{prefix}{key}.", depth + 1)
