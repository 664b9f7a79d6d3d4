"""A guess at which column of a table is what, with its reasons; not binding."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from metajudge.reading import guessed_values as known
from metajudge.reading.containers.cells import TEXTS, TURNS, cell, key_of, nested
from metajudge.reading.containers.lines import Line
from metajudge.reading.containers.tables import Survey
from metajudge.reading.conversations import chat_in, is_chat
from metajudge.reading.guesses import MISSING, Confidence, FieldGuess, Guess
from metajudge.reading.mapping import FieldMap, FieldName
from metajudge.reading.names import (
    ANNOTATORS,
    FIELDS,
    LABEL_TIMES,
    Heard,
    about,
    base_name,
    heard,
    is_judges_name,
    is_label_name,
    is_named,
    named,
    ruling_flag,
)
from metajudge.reading.spread import PREFIX, columns_in, find_spread
from metajudge.reading.textless import MOST_RANKED, completed, is_draws, responses_of
from metajudge.reading.vocabulary import MOST_CATEGORIES, MOST_CHARACTERS, UnknownValueError, Vocabulary
from metajudge.types import Category, letters

_BY_NAME: Final = (
    *("question", "judge", "id", "item_id", "rationale", "turn", "category", "reference", "instruction", "order"),
    *("swapped", "no_verdict", "meta", "meta.time", "meta.judge_version", "meta.prompt_version"),
)
"""Fields that are found by the names of columns; one that comes first takes its column first."""
_MARKS: Final = frozenset(("note", "nota", "voto", "notation", "evaluation"))
"""Names of a grade that are also names of a text."""
_LONGEST_LABEL: Final = 200
_VOCABULARY: Final = Vocabulary({}, categories=True)


def guess_mapping(columns: Sequence[str], rows: Sequence[Line]) -> Guess:
    """Guesses by the names of the columns and by their values.

    Args:
        columns: the table's columns.
        rows: some of its rows.
    """
    return _Guesser(columns, Survey(rows)).guess()


class _Guesser:
    """Takes one column after the other for a field."""

    def __init__(self, columns: Sequence[str], survey: Survey) -> None:
        data = [row.data for row in survey.rows[:20]]
        self._names = list(
            dict.fromkeys([*columns, *(path for one in data for path in (*known.paths(one), *known.nested_paths(one)))])
        )
        self._survey = survey
        self._taken: set[str] = set()
        self._fields: dict[str, FieldGuess] = {}
        self._verdicts = Counter[str]()
        self._problems: list[str] = []

    def guess(self) -> Guess:
        self._find_responses()
        self._find_verdicts()
        self._find_labels()
        self._find_reasons()
        for name in _BY_NAME:
            if name in self._fields or (name == "turn" and not self._chats()):
                continue
            if not name.startswith("meta.") or "annotator" not in self._fields:  # a time may be the label's
                self._find_by_name(name)
        self._find_by_values()
        self._find_question_in_chat()
        self._drop_ambiguous_ids()
        self._ask_about_values()
        found = self._columns
        texts = ("question", "responses", "rationale")
        found |= {name: known.inside(self._survey, one) for name, one in found.items() if name.split(".")[0] in texts}
        found |= known.as_turns(self._survey, found)
        fields = [replace(one, column=found[name]) for name, one in self._fields.items()]
        whole = completed(FieldMap(columns=found), self._names, self._survey)
        self._ask_who_won(whole)
        guess = Guess(fields, dict(whole.constants), {}, self._verdicts, self._problems)
        guess.problems += [MISSING[name] for name in guess.mapping.missing()]
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
        sides: dict[str, dict[str, str]] = {"responses": {}, "models": {}, "ranks": {}}
        for name in self._names:
            if (found := about(name)) is not None:
                sides[found[0]].setdefault(found[1], name)
        for mark, name in sorted(sides["responses"].items()):
            self._take(f"responses.{mark}", name, "high", f"the name says {mark}")
        texts = [name for name in self._names if name not in sides["models"].values()]
        for mark, name in known.paired_columns(texts, self._survey).items() if not self._fields else ():
            why = f"its name and that of another column differ in {mark} alone"
            self._take(f"responses.{mark}", name, "medium", why)
        self._find_named_columns(texts)
        self._find_listed_responses()
        ids = self._ids
        if not ids and (single := named(FIELDS["response"], self._names)) is not None:
            self._take("responses.A", single, "medium", "the only column of responses: a grade")
            ids = ("A",)
        models = {mark: name for mark, name in sides["models"].items() if mark in ids or not ids}
        for mark, name in models.items() if len(models) > 1 or ids else ():
            self._take(f"models.{mark}", name, "high", f"the name says {mark}")
        if ids == ("A",) and not models and (model := named(FIELDS["model"], self._free)) is not None:
            self._take("models.A", model, "medium", "the name")

    def _find_listed_responses(self) -> None:
        """Responses in one column: a list of as many in every row, or the answer at the end of a conversation."""
        if self._ids or named(FIELDS["response"], self._names) is not None:
            return
        for name in self._names:
            cells = list(map(nested, self._survey.cells(name)))
            if len(cells) < 2 or not all(isinstance(one, list) and one for one in cells):
                continue
            chats = [one for one in map(chat_in, cells) if is_chat(one)]
            if len(chats) == len(cells) and all(one[-1].get("role") == "assistant" for one in chats):
                self._take("responses.A", name, "medium", "its last messages are answers")
                return
            texts = all(isinstance(text, str) for one in cells for text in one)
            if about(f"{name}_1") == ("responses", "A") and texts and {len(one) for one in cells} == {len(cells[0])}:
                for place in range(min(len(cells[0]), MOST_RANKED)):
                    self._take(f"responses.{letters(place)}", f"{name}.{place}", "medium", f"it is in {name!r}")
                return

    def _find_named_columns(self, names: Sequence[str]) -> None:
        """Responses in columns of any names, where a verdict is one of these names."""
        found = known.column_that_names_columns(names, self._survey) if not self._ids else None
        if found is not None:
            verdict, columns = found
            self._verdicts = Counter(self._survey.keys(verdict))
            self._take("verdict", verdict, "medium", "its values are the names of two other columns")
            for place, name in enumerate(columns):
                self._take(f"responses.{letters(place)}", name, "medium", f"{verdict!r} names it")

    def _find_verdicts(self) -> None:
        """What judges say: in several columns together, in a column a judge or a criterion, or in one column."""
        ids = self._ids
        spread = find_spread(self._free, self._survey, ids or self._models)
        if spread is not None and "verdict" not in self._fields:
            self._verdicts = Counter(known.spread_value(spread, row.data) for row in self._survey.rows)
            self._take("verdict", spread.column, "high", "these columns are one verdict", first=True)
        if "verdict" in self._fields:
            return
        if not self._find_judges():
            self._find_verdict()
        self._find_criteria()

    def _find_judges(self) -> bool:
        """Whether there is a column a judge, whose name says who it is."""
        said = {name: one for name in self._free if (one := heard(name)) is not None and one.by == "judge" and one.who}
        wrote = {one.who for one in said.values() if one.what == "text"}
        found: dict[str, str] = {}
        for name, one in said.items():
            if one.what == "value" and not one.criterion and self._is_verdict(name):
                found.setdefault(_key(one.who), name)
        if not found or (len(found) == 1 and named(FIELDS["judge"], self._free) is not None):
            return False
        people = any(is_label_name(name) for name in self._free)
        explained = any(one.what == "reason" for one in said.values())
        if wrote or not (self._ids or people or explained):
            shown = ", ".join(map(repr, found.values()))
            self._problems.append(
                f"{shown} may be what models got, or what they said as judges: --map verdict.JUDGE=COLUMN"
            )
            return True
        for who, name in found.items():
            sure: Confidence = "high" if self._understood(name) == 1 else "medium"
            self._take(f"verdict.{who}", name, sure, "the name: a judge's verdict")
        self._verdicts = Counter(key for name in found.values() for key in self._survey.keys(name))
        return True

    def _find_criteria(self) -> None:
        """A column a criterion: of a judge, of people, or beside one judge."""
        said = {name: one for name in self._free if (one := heard(name)) is not None and one.criterion}
        values = {name: one for name, one in said.items() if one.what == "value" and self._is_verdict(name)}
        twice = Counter(one.criterion for one in values.values())
        for name, one in values.items():
            if one.by == "judge" and (one.known or twice[one.criterion] > 1):
                self._take_criterion("verdict", _key(one.who), name, one)
        free = {name: one for name, one in values.items() if not one.by}
        if self._verdict_columns:
            if whose := [name for name, one in free.items() if twice[one.criterion] > 1 and name not in self._taken]:
                told = "may be people's or a judge's: --map label@CRITERION=COLUMN or verdict@CRITERION=COLUMN"
                self._problems.append(f"{', '.join(map(repr, whose))} {told}")
            return
        for name, one in free.items():
            if len(free) > 1:
                self._take_criterion("verdict", "", name, one)
            else:
                self._take("verdict", name, "medium", "the name: the only criterion", first=True)

    def _take_criterion(self, family: str, who: str, name: str, one: Heard) -> None:
        target = f"{family}.{who}@{_key(one.criterion)}" if who else f"{family}@{_key(one.criterion)}"
        if target not in self._fields:
            sure: Confidence = "high" if one.known else "medium"
            self._take(target, name, sure, f"the name: {one.criterion}")
            self._verdicts.update(self._survey.keys(name) if family == "verdict" else [])

    def _find_verdict(self) -> None:
        """The one column that is the verdict."""
        ids = self._ids
        words = (*FIELDS["grade"], *FIELDS["verdict"], *FIELDS["word"])
        found = [(self._understood(name), place, name) for place, name in self._candidates(
            words if len(ids) == 1 else FIELDS["verdict"] if ids or self._models else (*FIELDS["verdict"], *words)
        )]  # fmt: skip
        if not found:
            return
        share, place, name = max(found, key=lambda one: one[0])
        sure: Confidence = "high" if share == 1 and place < 3 else "medium" if share >= 0.5 else "low"
        sure = "low" if base_name(name) == "label" else sure  # which people may have given
        self._verdicts = Counter(self._survey.keys(name))
        shown = ", ".join(value or "(empty)" for value, _ in self._verdicts.most_common(6))
        self._take("verdict", name, sure, f"the name; its values: {shown}", first=True)

    def _candidates(self, wanted: Sequence[str]) -> list[tuple[int, str]]:
        """Columns that may be the verdict, the likeliest first, each with its place: a judge's own come first."""
        free = self._free
        found = [(0, name) for name in free if is_judges_name(name)]
        judged = named(FIELDS["judge"], free) is not None
        people = named(ANNOTATORS, [name for name in free if base_name(name) != "annotator"]) is not None
        for place, one in enumerate(wanted):
            # A label is a judge's only where a judge is named, and no other person.
            if one == "label" and (not judged or people or named(("annotator",), free)):
                continue
            same = [name for name in free if is_named(name, one) and (place, name) not in found]
            found += [(place, name) for name in same if one not in _MARKS or self._are_numbers(name)]
        return found

    def _are_numbers(self, column: str) -> bool:
        return all(re.fullmatch(r"[\d.,/ -]{0,20}", key) for key in self._survey.keys(column))

    def _is_verdict(self, column: str) -> bool:
        """Whether a column's values may be verdicts: most are understood, or they are few."""
        if not self._is_filled(column):
            return False
        return self._understood(column) >= 0.5 or bool(known.few_values([column], self._survey))

    @property
    def _models(self) -> tuple[str, ...]:
        return tuple(name[7:] for name in self._fields if name.startswith("models."))

    @property
    def _verdict_columns(self) -> dict[str, str]:
        return {name: one for name, one in self._columns.items() if FieldName.of(name).family == "verdict"}

    def _understood(self, column: str) -> float:
        """The share of a column's values that mean a verdict."""
        mapping = FieldMap(columns={**self._columns, "verdict": column})
        ids = self._ids or responses_of(mapping, self._survey) or ()
        models = {name: self._survey.keys(one) for name, one in mapping.model_columns.items() if name in ids}
        good, words = 0, set()
        for number, value in enumerate(self._survey.cells(column) if ids else ()):
            drawn = nested(value)
            try:
                for one in drawn if is_draws(drawn, ids) else [value]:
                    found = _VOCABULARY.read(one, ids, {name: keys[number] for name, keys in models.items()})
                    words |= {found.value} if isinstance(found, Category) else set()
            except UnknownValueError:
                continue
            good += 1
        return 0.0 if len(words) > MOST_CATEGORIES else good / max(len(self._survey.rows), 1)

    def _find_by_name(self, target: str) -> None:
        if target == "judge" and any(FieldName.of(name).own for name in self._verdict_columns):
            return
        several = len(self._verdict_columns) > 1 and "verdict" not in self._fields
        if target == "rationale" and several and len({FieldName.of(name).own for name in self._verdict_columns}) > 1:
            return
        for place, wanted in enumerate(FIELDS[target]):
            # A column of the table itself goes before one inside nested data.
            name = min((name for name in self._free if is_named(name, wanted)), key=_level, default=None)
            if name is not None:
                sure: Confidence = "high" if name == target or (place < 2 and _level(name) == 0) else "medium"
                self._take(target, self._with_more(name) if target == "question" else name, sure, "the name")
                return

    def _with_more(self, name: str) -> str:
        """A question's column with those of its input and its context."""
        if base_name(name) not in FIELDS["instruction_of_question"]:
            return name
        more = [one for one in self._free if base_name(one) in FIELDS["more"] and one != name and "," not in one]
        parts = [one for one in more if not all(map(is_chat, self._survey.cells(one)))]
        chats = any(map(is_chat, self._survey.cells(name))) or name.startswith(TURNS)
        return f"{TEXTS}{name},{','.join(parts)}" if parts and not chats and "," not in name else name

    def _find_reasons(self) -> None:
        """Why a judge said so, in a column that names the judge or the criterion."""
        for name in self._free:
            one = heard(name)
            if one is None or one.what != "reason" or one.by == "people":
                continue
            judge = _key(one.who) if f"verdict.{_key(one.who)}" in self._judges else ""
            target = f"rationale.{judge}" if judge else "rationale"
            target += f"@{_key(one.criterion)}" if one.criterion else ""
            if (target.replace("rationale", "verdict", 1) in self._fields or not one.criterion) and (
                target not in self._fields and (judge or one.by or one.criterion)
            ):
                self._take(target, name, "medium", "the name: a judge's reason")

    @property
    def _judges(self) -> set[str]:
        return {name.partition("@")[0] for name in self._verdict_columns}

    def _find_labels(self) -> None:
        """People's labels: columns with such a name, lists of labels, and who gave the one label of a row."""
        flag = ruling_flag(self._names, self._survey.keys)
        criteria = {FieldName.of(name).criterion for name in self._verdict_columns} - {""}
        for name in self._free if criteria else ():
            one = heard(name)
            if one is not None and one.by == "people" and one.what == "value" and _key(one.criterion) in criteria:
                who = (
                    "label" if f"label@{_key(one.criterion)}" not in self._fields else f"label.{known.plain_name(name)}"
                )
                self._take(f"{who}@{_key(one.criterion)}", name, "medium", "the name: people's label")
        persons = known.columns_of_people(self._free, self._survey, self._verdict_columns.values())
        labels = [name for name in self._free if name in persons or is_label_name(name)]
        free = sorted((name for name in labels if name != flag), key=_level)
        lists = [name for wanted in FIELDS["labels"] for name in self._free if is_named(name, wanted)]
        lists = [name for name in (*lists, *free) if any(map(known.is_list, self._survey.cells(name)))]
        found = [one for one in free if one not in lists and not self._is_judges_own(one) and self._is_filled(one)]
        if criteria and found and all(FieldName.of(name).criterion for name in self._verdict_columns):
            self._problems.append(f"{', '.join(map(repr, found))} names no criterion: --map label@CRITERION=COLUMN")
            return
        first = next((one for one in found if base_name(one) == "label"), found[0] if len(found) == 1 else None)
        for name in found:
            target = "label" if name == first else f"label.{known.plain_name(name)}"
            sure: Confidence = "high" if base_name(name) == "label" and _level(name) == 0 else "medium"
            self._take(target, name, sure, "the name: people's label")
        if lists:
            self._take("human_labels", lists[0], "medium", "the name; its values are lists")
        if first is None or not self._verdict_columns:
            return
        annotator = named(ANNOTATORS, self._free)
        if annotator is None:
            return
        self._take("annotator", annotator, "medium", "the name, beside a label")
        if (time := named(LABEL_TIMES, self._free)) is not None:
            self._take("label_time", time, "medium", "the name, beside a label")
        if flag is not None:
            self._take("ruling", flag, "medium", "the name, beside an annotator")

    def _find_by_values(self) -> None:
        """What names did not say: by the values of columns, with little confidence."""
        ids = self._ids
        if not self._verdict_columns and len(ids) > 1:
            for name in known.few_values([name for name in self._free if not is_label_name(name)], self._survey):
                unknown = [value for value in self._unknown(name) if value not in ("1", "2")]
                if all(known.suggested(value) for value in unknown):
                    self._verdicts = Counter(self._survey.keys(name))
                    self._take("verdict", name, "low", "all of its values are verdicts")
                    break
        column = next(iter(self._verdict_columns.values()), None)
        if column is not None and len(ids) == 2 and "models.A" not in self._fields:
            models = known.columns_of_models(self._free, self._survey, column)
            for mark, name in zip(ids, models or (), strict=False):
                self._take(f"models.{mark}", name, "medium", f"{column!r} has its values")
        if "question" not in self._fields and not self._chats():
            question = known.question_column(self._free, self._survey)
            if question is not None:
                self._take("question", question, "low", "its texts look like questions")

    def _is_filled(self, column: str) -> bool:
        """Whether a column has short values: texts are answers of people, not labels, and objects have values."""
        values = self._survey.keys(column)
        if any(isinstance(one, dict) and one.keys() != {"category"} for one in map(nested, self._survey.cells(column))):
            return False
        return not values or (any(values) and all(len(value) <= _LONGEST_LABEL for value in values))

    def _is_judges_own(self, name: str) -> bool:
        """Whether a label is the judge's own output: as in Phoenix, or its score in other words."""
        parent = name.rpartition(".")[0]
        beside = {base_name(one) for one in self._names if one.rpartition(".")[0] == parent and one != name}
        annotation = any(base_name(one) in ("annotator_kind", "annotation_name") for one in self._names)
        if beside & {"score", "explanation"} and (bool(parent) or annotation):
            return True
        column = self._columns.get("verdict")
        if column is None or column.startswith(PREFIX) or base_name(name) != "label":
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
        if "question" in self._fields or (found := self._chats()) is None:
            return
        column, chats = found
        single = all(len(chat) <= 2 and chat[0].get("role") != "system" for chat in chats)
        self._take("question", f"{column}.0.content" if single else column, "medium", f"the user asks in {column}")

    def _chats(self) -> tuple[str, list[Any]] | None:
        """The column of the first response and its values, where all are lists of messages."""
        column = next((one.column for name, one in self._fields.items() if name.startswith("responses.")), None)
        chats = [] if column is None else list(map(chat_in, self._survey.cells(column)))
        return (column, chats) if column is not None and chats and all(map(is_chat, chats)) else None

    def _drop_ambiguous_ids(self) -> None:
        """Takes an id of several rows for the item's, and one that stands with different texts for the question's."""
        columns = self._columns
        of_item = ("question", "responses", "models")
        texts = [column for name, column in columns.items() if name.split(".")[0] in of_item]
        own = [*texts, *self._verdict_columns.values(), *([columns["judge"]] if "judge" in columns else [])]
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

    def _ask_about_values(self) -> None:
        """Notes the values that mean nothing by themselves; what they mean is never guessed."""
        ids = self._ids
        for name, column in self._columns.items() if ids else ():
            if FieldName.of(name).family not in ("verdict", "label") or column.startswith(PREFIX):
                continue
            unknown = self._unknown(column, name)
            if len(ids) == 1:  # a text is no verdict, whatever it may mean
                unknown = Counter({one: count for one, count in unknown.items() if len(one) <= MOST_CHARACTERS})
            if unknown:
                self._problems.append(known.asked(name, column, unknown, len(ids) > 1))

    def _ask_who_won(self, mapping: FieldMap) -> None:
        """Notes numbers in a column that says who won, where no texts say between how many."""
        for column in self._verdict_columns.values() if mapping.constants and len(mapping.response_ids) == 1 else ():
            numbers = any(re.fullmatch(r"[+-]?\d[\d.,]{0,20}", key) for key in self._survey.keys(column))
            if numbers and not {*FIELDS["verdict"]}.isdisjoint(base_name(column).split("_")):
                self._problems.append(known.asked("verdict", column, Counter(self._survey.keys(column)), several=True))

    def _unknown(self, column: str, name: str = "verdict") -> Counter[str]:
        """Values that mean nothing, each of a list of them."""
        plain = {one: own for one, own in self._columns.items() if FieldName.of(one).family not in ("verdict", "label")}
        family = FieldName.of(name).family
        beside = {one: own for one, own in self._columns.items() if one == family} if name == family else {}
        if any(is_draws(nested(value), self._ids) for value in self._survey.cells(column)):
            return Counter()
        return known.unknown_values(self._survey, FieldMap(columns={**plain, **beside, family: column}), family)


def _key(name: str) -> str:
    """A judge's or a criterion's name as a field's name may contain it."""
    return re.sub(r"[=,@:]+", "_", name).strip()


def _level(name: str) -> int:
    return name.count(".")
