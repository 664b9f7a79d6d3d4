"""The sets that transfer is measured on: recorded sets by their folders, and labelled files of one's own."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from metajudge.calibration.fit import data_digest
from metajudge.calibration.free_columns import NO_LABELS, OWN, PEERS
from metajudge.calibration.table import SignalTable, table_of
from metajudge.calibration.transfer import EVIDENCE, PriorSet, evidence_of
from metajudge.errors import InputError
from metajudge.evidence.class_answers import collect_class_answers
from metajudge.evidence.facts import Facts, FactsBuilder
from metajudge.evidence.no_labels import is_enough
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import Judgment, VerdictKind, kind_of

from .label_free import APART, SETS, Votes

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")

SIGNALS = ("order", "strength", "repeats", "versions", "peers", "free")
"""What labels of one's own are pooled on, and the model of the item is fitted on for comparison."""

RIVALS = ("heuristic", "majority of peers", "Dawid-Skene", "no labels")
"""What needs no labels."""


@dataclass(frozen=True, slots=True, eq=False)
class TransferInput:
    """One part of a set, as a user who has recorded it would vet it.

    Attributes:
        name: of the set: a folder's, or a file's without its suffix.
        part: of the set, such as a prompt; empty where it is not divided.
        table: labelled rows with free evidence.
        rivals: name -> [n] P(right) by what needs no labels; .5 where it says nothing.
        silent: name -> how many rows it says nothing of.
        models: [n] the model behind each judge.
        prompts: [n] the wording that the judge was asked in; empty where the data do not say.
        left_out: reason -> judgments that are no rows.
    """

    name: str
    part: str
    table: SignalTable
    rivals: Mapping[str, Floats]
    silent: Mapping[str, int]
    models: tuple[str, ...]
    prompts: tuple[str, ...]
    left_out: Mapping[str, int]

    @property
    def title(self) -> str:
        """Set and part."""
        return f"{self.name} {self.part}".strip()

    def about(self) -> PriorSet:
        """What is recorded of it where a prior is fitted on it."""
        table = self.table
        questions = len(set(table.questions))
        return PriorSet(name=self.title, kind=table.kind, n=len(table), questions=questions, data=data_digest(table))


def read_inputs(data: Path) -> list[TransferInput]:
    """Every set below a folder; a file is a set of its own.

    Raises:
        InputError: nothing with labels.
    """
    found, why = list[TransferInput](), list[str]()
    for name, place in _places(data):
        try:
            found += _inputs(name, open_judgments([place]).all())
        except InputError as error:
            why.append(f"{place.name}: {error}")
    if not found:
        said = f" ({'; '.join(why[:3])})" if why else ""
        raise InputError(
            f"--data {data}: no labelled judgments in it{said}. Give a folder with the sets' folders "
            f"({', '.join(SETS)}), or with JSONL files of labelled judgments"
        )
    return found


def _places(data: Path) -> Iterator[tuple[str, Path]]:
    """Sets by name."""
    if data.is_file():
        yield data.name.partition(".")[0], data
        return
    if not data.is_dir():
        raise InputError(f"--data {data}: no such file or folder")
    known = [name for name in SETS if (data / name).is_dir()]
    if not known and data.name in SETS:
        yield data.name, data
        return
    for name in known:
        yield name, data / name
    for one in sorted(data.iterdir()):
        own_file = one.is_file() and one.name.endswith(SUFFIXES)
        own_folder = one.is_dir() and any(below.name.endswith(SUFFIXES) for below in one.iterdir())
        if one.name not in SETS and not one.name.startswith(".") and (own_file or own_folder):
            yield one.name.partition(".")[0], one


def _inputs(name: str, judgments: Iterable[Judgment]) -> Iterator[TransferInput]:
    """The parts of a set: by prompt or series where these were recorded apart, else by kind of verdict."""
    parts: defaultdict[tuple[str, VerdictKind], list[Judgment]] = defaultdict(list)
    without = 0
    for judgment in judgments:
        kind = None if judgment.verdict is None else kind_of(judgment.verdict)
        kind = kind or (None if judgment.item.truth is None else kind_of(judgment.item.truth))
        if kind is None:
            without += 1
            continue
        parts[str(judgment.meta.get(APART.get(name, ""), "")), kind].append(judgment)
    kinds = {kind for _, kind in parts}
    for (part, kind), members in sorted(parts.items()):
        title = f"{part} {kind}".strip() if len(kinds) > 1 else part
        made = _input(name, title, kind, members, without)
        if made is not None:
            yield made


def _input(
    name: str, part: str, kind: VerdictKind, judgments: Sequence[Judgment], without: int
) -> TransferInput | None:
    builder = FactsBuilder(texts=True)
    models, prompts = {}, {}
    for judgment in judgments:
        builder.add(judgment)
        models[judgment.id] = str(judgment.meta.get("judge_model") or judgment.judge)
        prompts[judgment.id] = str(judgment.meta.get("judge_prompt") or "")
    facts = builder.facts()
    whole = table_of(facts, SIGNALS, kind=kind)
    state, _ = evidence_of(whole)
    table = whole.select(whole.labelled & (state >= 0)).sorted()
    if not len(table) or table.correct.all() or not table.correct.any():
        return None
    left = dict(whole.left_out) | {
        "no label": int((~whole.labelled).sum()),
        "no evidence": int((state < 0).sum()),
        "no verdict and no label": without,
    }
    rivals, silent = _rivals(facts, table)
    return TransferInput(
        name,
        part,
        table,
        rivals,
        silent,
        tuple(models[one] for one in table.judgment_ids),
        tuple(prompts[one] for one in table.judgment_ids),
        {reason: count for reason, count in left.items() if count},
    )


def _rivals(facts: Facts, table: SignalTable) -> tuple[dict[str, Floats], dict[str, int]]:
    """P(right) by what needs no labels, and how often each says nothing."""
    columns = table.columns
    majority, independent = _by_votes(facts, table)
    heuristic = expit(columns[OWN].values + columns[PEERS].values)
    agreed = np.where(columns[NO_LABELS].present, expit(columns[NO_LABELS].values), np.nan)
    known = dict(zip(RIVALS, (heuristic, majority, independent, agreed), strict=True))
    silent = {name: int(np.isnan(values).sum()) for name, values in known.items()}
    return {name: np.where(np.isnan(values), 0.5, values) for name, values in known.items()}, silent


def _by_votes(facts: Facts, table: SignalTable) -> tuple[Floats, Floats]:
    """[n] the peers' share and the posterior of independent judges; NaN where there are none."""
    rules = facts.rules(table.right)
    share, posterior = np.full(len(facts), np.nan), np.full(len(facts), np.nan)
    for answers in collect_class_answers(facts.recorded, [item.id for item in facts.items], rules):
        if not is_enough(answers):
            continue
        votes, hits = Votes(answers), answers.hits
        for at in np.flatnonzero(hits.any(axis=1)).tolist():
            item, which = int(answers.item[at]), int(hits[at].argmax())
            subject, named = answers.subjects[item], answers.classes[item][which]
            row = int(answers.row[at])
            share[row] = votes.share(subject, named, answers.judges[int(answers.judge[at])])
            posterior[row] = votes.posterior.get((subject, named), np.nan)
    place = {name: row for row, name in enumerate(facts.judgment_ids)}
    rows = np.array([place[name] for name in table.judgment_ids], dtype=np.intp)
    return share[rows], posterior[rows]


def rows_of(one: TransferInput, chosen: Bools) -> TransferInput:
    """Some rows of an input, with their evidence as it is."""
    at = np.flatnonzero(chosen)
    return TransferInput(
        one.name,
        one.part,
        one.table.select(at),
        {name: values[at] for name, values in one.rivals.items()},
        one.silent,
        tuple(one.models[row] for row in at.tolist()),
        tuple(one.prompts[row] for row in at.tolist()),
        {},
    )


def states_of(one: TransferInput) -> dict[str, int]:
    """How many rows are in each state of the evidence."""
    state, _ = evidence_of(one.table)
    return {name: int((state == place).sum()) for place, name in enumerate(EVIDENCE)}
