"""The study's logged evaluations, a checked line each; of the published ones one per (experiment, run, id)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from metajudge.errors import InputError
from metajudge.stats.panels import Unity, majority, unity

from ..figure import checked_lines

PANEL_SIZE = 3
"""Judges of the panel; the study calls them supreme."""

WEIGHTS = {"supreme": 2, "candidate": 1}
"""Votes in the study's final verdict."""

Winner: TypeAlias = Annotated[
    str | None, BeforeValidator(lambda value: None if value in ("", "none", "tie") else value)
]
"""The source writes "none" or nothing, the data sets "tie", where neither model won."""

EXPERIMENTS = ("mtbench", "arena", "e2e")

FILE = "evaluations.jsonl"
NAME = "agent_clash"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Vote(_Frozen):
    """One judge's ranking of the anonymous labels, best first."""

    judge: str = Field(min_length=1)
    role: Literal["supreme", "candidate"]
    ranking: tuple[str, ...] = ()

    @property
    def first_label(self) -> str | None:
        return self.ranking[0] if self.ranking else None

    @property
    def model(self) -> str:
        """The judge's name without its provider, as the study names candidates."""
        return self.judge.rpartition("/")[2]


class EndToEnd(_Frozen):
    """What the end-to-end cycles add."""

    difficulty: str
    hash_a: str | None = None
    hash_b: str | None = None


class LogSource(_Frozen):
    """The evaluation's position in the source's log."""

    matrix_group: str | None = None


class LoggedEvaluation(_Frozen):
    """One logged evaluation. Every choice is read through the label map stored with it."""

    row_id: str
    experiment: str
    run: int
    eval_id: int | str
    published: bool
    status: str
    model_a: str
    model_b: str
    question_id: int | str | None = None
    human_winner: Winner = None
    ai_winner: Winner = None
    category: str | None = None
    attempt: int | None = None
    timestamp_utc: str | None = None
    confidence_recorded: float | None = None
    cost_usd: float | None = None
    elapsed_s: float | None = None
    label_map: dict[str, str] | None = None
    judges: tuple[Vote, ...]
    e2e: EndToEnd | None = None
    source: LogSource = LogSource()

    @model_validator(mode="after")
    def _check(self) -> "LoggedEvaluation":
        models = {self.model_a, self.model_b}
        if len(models) == 1:
            raise ValueError(f"model_a and model_b are both {self.model_a}: the verdicts cannot be distinguished")
        for field, model in (("human_winner", self.human_winner), ("ai_winner", self.ai_winner)):
            if model is not None and model not in models:
                raise ValueError(f"{field} is {model!r}, which is neither model_a nor model_b (null where none won)")
        names = [vote.judge for vote in self.judges]
        if len(set(names)) != len(names):
            twice = sorted(name for name, count in Counter(names).items() if count > 1)
            raise ValueError(f"a judge appears twice: {', '.join(twice)}")
        if self.judges and self.label_map is None:
            raise ValueError("there are judges but no label_map, so their choices are unknown")
        mapped = self.label_map
        if mapped is not None and (set(mapped.values()) != models or len(mapped) != len(models)):
            raise ValueError("label_map must give each of model_a and model_b one label")
        return self

    @property
    def valid(self) -> bool:
        """Published, with a verdict that names a winner."""
        return self.published and self.status == "ok" and self.ai_winner is not None

    @property
    def labelled(self) -> bool:
        return self.human_winner is not None

    @property
    def match(self) -> bool:
        """Whether the published verdict names the human's choice; ask of labelled rows with a verdict alone."""
        return self.ai_winner == self.human_winner

    @property
    def pair(self) -> tuple[str, str]:
        """Both models, in alphabetical order."""
        first, second = sorted((self.model_a, self.model_b))
        return first, second

    def side(self, model: str | None) -> str:
        """Which side of the pair a model is: A or B."""
        return "A" if model == self.model_a else "B"

    def choice(self, vote: Vote) -> str | None:
        """The model a judge ranked first, by the stored label map; None where it named no label of the map."""
        return (self.label_map or {}).get(vote.first_label or "")

    @property
    def first_shown(self) -> str:
        """The label of the response that was shown first."""
        return min(self.label_map or {"": ""})

    def of_role(self, role: str) -> list[Vote]:
        return [vote for vote in self.judges if vote.role == role]

    @property
    def supreme_choices(self) -> dict[str, str | None]:
        """Panel judge -> the model it ranked first; None where its ranking names none."""
        return {vote.judge: self.choice(vote) for vote in self.of_role("supreme")}

    @property
    def panel_choice(self) -> str | None:
        """The model that a majority of the three panel judges chose; None without one."""
        choice = majority(list(self.supreme_choices.values()), self.panel_size)
        return choice if isinstance(choice, str) else None

    @property
    def unity(self) -> Unity:
        return unity(list(self.supreme_choices.values()), self.panel_size)

    @property
    def panel_size(self) -> int:
        return max(PANEL_SIZE, len(self.supreme_choices))

    @property
    def weighted_tie(self) -> bool:
        """Whether the study's final score, Borda points with panel judges twice, is the same for both models.

        A label at place p (from 1) of a ranking gets 2 - p points each time it appears, as the study's own workflow
        counted, so that a repeated label loses a point at place 3.
        """
        scores = dict.fromkeys(self.label_map or {}, 0)
        for vote in self.judges:
            for place, label in enumerate(vote.ranking, start=1):
                if label in scores:
                    scores[label] += WEIGHTS[vote.role] * (2 - place)
        return bool(self.judges) and len(set(scores.values())) == 1

    @property
    def well_formed(self) -> bool:
        """Whether every ranking is a permutation of the labels."""
        return all(sorted(vote.ranking) == sorted(self.label_map or {}) for vote in self.judges)


@dataclass(frozen=True)
class Study:
    """All logged rows, and the published ones, each evaluation once.

    Attributes:
        rows: every line, by experiment, run and id, whatever their order in the file.
        published: published rows, one per (experiment, run, id).
        repeated: row ids that were left out of ``published`` as another row of the same evaluation counts.
        identical: lines that repeat another one word for word; they count once everywhere.
    """

    rows: tuple[LoggedEvaluation, ...]
    published: tuple[LoggedEvaluation, ...]
    repeated: tuple[str, ...]
    identical: int
    path: Path
    sha256: str

    def of(self, experiment: str, run: int | None = None) -> list[LoggedEvaluation]:
        """Published rows of an experiment, with or without a verdict."""
        return [r for r in self.published if r.experiment == experiment and run in (None, r.run)]

    def valid(self, experiment: str, run: int | None = None) -> list[LoggedEvaluation]:
        """Published rows with a verdict."""
        return [row for row in self.of(experiment, run) if row.valid]

    def judged(self, experiment: str, run: int | None = None) -> list[LoggedEvaluation]:
        """Published rows with a verdict and a human's choice to compare it with."""
        return [row for row in self.valid(experiment, run) if row.labelled]

    @property
    def logged(self) -> list[LoggedEvaluation]:
        """Every row of the two experiments with human labels, unpublished attempts included."""
        return [row for row in self.rows if row.experiment in ("mtbench", "arena")]

    @cached_property
    def panel(self) -> list[str]:
        """The panel's judges, in alphabetical order."""
        return sorted({vote.judge for row in self.rows for vote in row.of_role("supreme")})


def dollars(rows: Iterable[LoggedEvaluation]) -> float:
    """The cost of rows; one without a recorded cost adds nothing."""
    return sum(row.cost_usd or 0.0 for row in rows)


def by_id(rows: Iterable[LoggedEvaluation]) -> dict[str, LoggedEvaluation]:
    """Rows of one run by their id."""
    return {str(row.eval_id): row for row in rows}


def find_file(given: Path) -> Path:
    """The file of evaluations: the one given, or in the folder given, or in its subfolder ``agent_clash``.

    Raises:
        InputError: none was found; the message lists what was searched.
    """
    if given.is_file():
        return given
    if not given.is_dir():
        raise InputError(f"--data {given}: no such file or folder")
    for path in (given / FILE, given / NAME / FILE):
        if path.is_file():
            return path
    raise InputError(f"--data {given}: neither {FILE} nor {NAME}/{FILE} is here")


def load_study(given: Path) -> Study:
    """Reads the study.

    Raises:
        InputError: no file, a broken line (with its number), no rows at all, a row id that comes twice with different
            contents, or two published rows of one evaluation between which nothing decides.
    """
    from hashlib import sha256

    path = find_file(given)
    rows: dict[str, tuple[int, LoggedEvaluation]] = {}
    identical = 0
    for number, row in checked_lines(path, LoggedEvaluation, "repair or remove the line"):
        if row.row_id in rows and rows[row.row_id][1] != row:
            raise InputError(
                f"{path}:{number}: row_id {row.row_id} is at line {rows[row.row_id][0]} with other contents: "
                "remove one of the two"
            )
        identical += row.row_id in rows
        rows.setdefault(row.row_id, (number, row))
    if not rows:
        raise InputError(f"{path} contains no evaluations")
    ordered = sorted(rows.values(), key=lambda found: _place(found[1]))
    digest = sha256(path.read_bytes()).hexdigest()
    return Study(tuple(row for _, row in ordered), *_once(ordered, path), identical, path, digest)


def _place(row: LoggedEvaluation) -> tuple[int, str, int, str, str]:
    """A row's sort key: sums of doubles, and the rows quoted first, must not depend on the file's order."""
    known = EXPERIMENTS.index(row.experiment) if row.experiment in EXPERIMENTS else len(EXPERIMENTS)
    return known, row.experiment, row.run, str(row.eval_id).zfill(6), row.row_id


def _once(
    rows: Iterable[tuple[int, LoggedEvaluation]], path: Path
) -> tuple[tuple[LoggedEvaluation, ...], tuple[str, ...]]:
    groups: defaultdict[tuple[str, int, str], list[tuple[int, LoggedEvaluation]]] = defaultdict(list)
    for number, row in rows:
        if row.published:
            groups[row.experiment, row.run, str(row.eval_id)].append((number, row))
    chosen = tuple(_chosen(group, path) for group in groups.values())
    kept = {row.row_id for row in chosen}
    return chosen, tuple(row.row_id for group in groups.values() for _, row in group if row.row_id not in kept)


def _chosen(group: Sequence[tuple[int, LoggedEvaluation]], path: Path) -> LoggedEvaluation:
    """The study's own rule: a row with a verdict before one without, then the latest by time."""
    best = max((row.valid, row.timestamp_utc or "") for _, row in group)
    last = [(number, row) for number, row in group if (row.valid, row.timestamp_utc or "") == best]
    first = last[0][1]
    contents = {row.model_dump_json(exclude={"row_id", "attempt", "source"}) for _, row in last}
    if len(contents) > 1:
        lines = " and ".join(str(number) for number, _ in last)
        raise InputError(
            f"{path}: lines {lines} are both published as {first.experiment} run {first.run} id {first.eval_id}, with "
            "equal times and different contents; set published to false on all but one"
        )
    return first
