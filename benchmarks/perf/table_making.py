"""Tables whose truth is known, in the shapes and words that people use; :mod:`.tables` reads them.

``tables.toml`` has the words. A table is made by a generator of random numbers alone, so that its seed gives it again.
"""

import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from random import Random
from typing import Any, Final

from .table_files import Cells

WORDS: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("tables.toml").read_text("utf-8"))
VALUES: Final = {"pair": ("A", "B", "tie"), "grade": ("1", "2", "3", "4", "5"), "category": ("yes", "no")}
ALIKE: Final = ("yes/no", "Yes/No", "pass/fail", "PASS/FAIL", "true/false", "correct/incorrect")
"""Words of categories that mean the same, so that people may use others than judges."""
TEXTS: Final = (
    *("Why is the sky blue?", "Übersetze „Guten Tag“ ins Französische.", "Name a café; then say why", "2 + 2 = ?"),
    *('He said "no", twice.', "Line one\nLine two?", "What is the capital of France?", "List: a, b; c\td"),
)


@dataclass(slots=True)
class Row:
    """One line of a table: an item in the order shown, with what judges and people said of it; None is no answer."""

    item: int
    verdicts: dict[str, str | None]
    labels: dict[str, str | None]
    swapped: bool = False


@dataclass(slots=True)
class Sheet:
    """A table before it is written: of a kind of verdicts, in a shape, with the mutations so far."""

    rng: Random
    kind: str
    mutations: list[str] = field(default_factory=list)
    judged: str = ""
    people: str = ""
    both: bool = False
    rows: list[Row] = field(default_factory=list)

    def pick(self, what: str, *choices: str) -> str:
        """One of these, which is noted; the first one is as likely as all others."""
        found = choices[0] if self.rng.random() < 0.5 else self.rng.choice(choices)
        self.mutations.append(f"{what}: {found}")
        return found

    def happens(self, what: str, share: float) -> bool:
        """Whether something happens, in a share of the tables; it is noted then."""
        found = self.rng.random() < share
        self.mutations += [what] * found
        return found


def made(rng: Random) -> Sheet:
    """A table: what is right of each item, judges that are often right, people of whom most say what is right."""
    sheet = Sheet(rng, rng.choice([*VALUES]))
    sheet.mutations.append(f"verdicts: {sheet.kind}")
    sheet.judged = sheet.pick("judges", "one", "rows", "columns", "prefix")
    sheet.people = sheet.pick("people", "one", "columns", "none", *(["rows"] if sheet.judged == "one" else []))
    if sheet.kind == "pair" and sheet.judged in ("one", "rows") and sheet.people != "rows":
        sheet.both = sheet.happens("both orders", 0.3)
    values = VALUES[sheet.kind]
    names = rng.sample([*WORDS["prefixes"]], {"rows": 2, "columns": 3}.get(sheet.judged, 1))
    persons = [f"p{number}" for number in range({"none": 0, "one": 1}.get(sheet.people, 3))]
    silent = 0.08 * sheet.happens("some without a verdict", 0.3)
    unlabelled = 0.3 * (sheet.people == "one" and sheet.happens("some without a label", 0.3))
    for item in range(rng.randint(24, 48)):
        free = item >= len(values)  # each value occurs
        right = rng.choice(values) if free else values[item]
        dissent = rng.choice(persons[1:] or [""]) if free and rng.random() < 0.3 else ""
        labels = {one: rng.choice(values) if one == dissent else right for one in persons}
        shown: dict[str, str | None] = dict.fromkeys(labels) if free and rng.random() < unlabelled else {**labels}
        for swapped in (False, True)[: 1 + sheet.both]:
            said = {name: rng.choice(values) if free and rng.random() < 0.3 else right for name in names}
            given = {name: None if free and rng.random() < silent else value for name, value in said.items()}
            by_judge = [{name: value} for name, value in given.items()] if sheet.judged == "rows" else [given]
            by_person = [{one: value} for one, value in shown.items()] if sheet.people == "rows" else [shown]
            sheet.rows += [Row(item, one, other, swapped) for one in by_judge for other in by_person]
    if sheet.happens("rows cut", 0.3):
        kept = {item for item in range(len(sheet.rows)) if rng.random() < 0.8}
        places = [row.item for row in sheet.rows] if sheet.people == "rows" else range(len(sheet.rows))
        sheet.rows = [row for row, place in zip(sheet.rows, places, strict=True) if place in kept]
    return sheet


def columns_of(sheet: Sheet) -> Cells:
    """The columns by name: ids, texts, verdicts and labels in words, and unused ones."""
    rng, rows, pair = sheet.rng, sheet.rows, sheet.kind == "pair"
    names, usual = WORDS["names"][sheet.pick("names", *WORDS["names"])], WORDS["names"]["English"]

    def named(role: str) -> str:
        return str(rng.choice(names.get(role) or usual[role]))

    columns: Cells = {}
    texts = sheet.pick("texts", "yes", "no") == "yes"
    if "rows" in (sheet.judged, sheet.people) or not texts or rng.random() < 0.5:
        numbered = rng.choice(("{}", "q{}", "{:03d}"))
        columns[named("item_id")] = [numbered.format(row.item) for row in rows]
    if texts:
        columns[named("question")] = [f"{TEXTS[row.item % len(TEXTS)]} ({row.item})" for row in rows]
        for which, header in zip(
            ("One", "Another"), named("responses" if pair else "response").split("/"), strict=False
        ):
            columns[header] = [f"{which} answer to {row.item}, é." for row in rows]
    models = [rng.sample(("m-small", "m-large", "base", "tuned"), 2) for _ in range(48)]
    spelled = _spelling(sheet)
    if spelled == "models" or (pair and rng.random() < 0.3):
        for side, header in enumerate(named("models").split("/")):
            columns[header] = [models[row.item][side] for row in rows]
    if sheet.judged in ("one", "rows"):
        blanks = sheet.happens("blanks around names", 0.1)
        columns[named("judge")] = [next(iter(row.verdicts)) + " " * (blanks and row.item % 3) for row in rows]
        cells = [next(iter(row.verdicts.values())) for row in rows]
        columns[named(sheet.kind)] = _written(sheet, cells, spelled, models)
    else:
        noun = rng.choice(WORDS["nouns"][sheet.kind])
        by_name = ["{name}"] * (sheet.judged == "columns")
        form = sheet.pick("column of a judge", "{judge}_{noun}", "{noun}_{judge}", *by_name)
        for name in rows[0].verdicts:
            header = form.format(judge=WORDS["prefixes"][name], noun=noun, name=name)
            columns[header] = _written(sheet, [row.verdicts[name] for row in rows], spelled, models)
    if sheet.both:
        header, plain, turned = rng.choice(WORDS["values"]["orders"]).split("/")
        columns[header] = [turned if row.swapped else plain for row in rows]
    others = ALIKE if spelled in ALIKE else ("A/B/tie", "model_a/model_b/tie") if pair else ("{0}",)
    other = rng.choice(others) if spelled != "models" and rng.random() < 0.3 else spelled
    other = spelled if sheet.kind == "category" and spelled not in ALIKE else other
    if sheet.people == "rows":
        columns[named("annotator")] = [next(iter(row.labels)) for row in rows]
    form = rng.choice(("human_{}", "annotator_{}", "expert_{}", f"human_{WORDS['nouns'][sheet.kind][0]}_{{}}"))
    one = named(f"{sheet.kind}_label")
    for place in range({"none": 0, "columns": 3}.get(sheet.people, 1)):
        cells = [list(row.labels.values())[place] for row in rows]
        columns[form.format(place + 1) if sheet.people == "columns" else one] = _written(
            sheet, cells, other, models, ""
        )
    if rng.random() < 0.4:
        columns[named("rationale")] = [f"Because of {row.item} and {''.join(row.verdicts)}." for row in rows]
    return _with_more(sheet, columns)


def _spelling(sheet: Sheet) -> str:
    """How verdicts are written: where both orders are shown, by no word that may mean a place in them."""
    values = WORDS["values"]
    pairs = [*values["named"], *([] if sheet.both else values["placed"]), "models"]
    return sheet.pick("values", *{**values, "pair": pairs}[sheet.kind])


def _written(
    sheet: Sheet, cells: list[str | None], spelled: str, models: list[list[str]], absent: str | None = None
) -> list[Any]:
    """Verdicts or labels as they are written; no answer by a word for it, where none is given."""
    if absent is None:  # an empty cell in a column of one judge may also be a row that it did not see
        single = len(sheet.rows[0].verdicts) == 1
        words = [*WORDS["values"]["absent"], *["-1"] * (spelled == "{0}"), *["", "", ""] * single]
        absent = sheet.rng.choice(words)
    found: list[Any] = []
    for row, value in zip(sheet.rows, cells, strict=True):
        if value is None:
            found.append(absent)
        elif sheet.kind == "grade":
            found.append(spelled.format(int(value), 20 * int(value)))
        else:
            words = [*models[row.item], "tie"] if spelled == "models" else spelled.split("/")
            found.append(words[VALUES[sheet.kind].index(value)])
    return found


def _with_more(sheet: Sheet, columns: Cells) -> Cells:
    """The columns with others among them, in another order, and with names in another form."""
    rng = sheet.rng
    if sheet.happens("columns unused", 0.4):
        for name in rng.sample([*WORDS["unused"]], rng.randint(1, 3)):
            columns.setdefault(name, [rng.choice(WORDS["unused"][name]) for _ in sheet.rows])
    if sheet.happens("columns shuffled", 0.4):
        columns = {name: columns[name] for name in rng.sample([*columns], len(columns))}
    match sheet.pick("letters", "as they are", "Title Case", "UPPER"):
        case "Title Case":
            return {
                re.sub(r"(?:^|_)(.)", lambda m: f" {m[1].upper()}", name).strip(): of for name, of in columns.items()
            }
        case "UPPER":
            return {name.upper(): cells for name, cells in columns.items()}
    return columns
