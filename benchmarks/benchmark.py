"""The benchmarks there are, what each offers, and labelled files of one's own, measured like one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from metajudge.errors import InputError
from metajudge.files.packaged import packaged
from metajudge.reading import JudgmentSource, open_judgments
from metajudge.types import Judgment, Right, VerdictKind, kind_of

from . import judgebench, llmbar, mtbench, realmistake, rewardbench2
from .findings import Accuracy, AccuracyKind
from .observations import question_of, undecided
from .tally import Tally


@dataclass(frozen=True, slots=True)
class Card:
    """Where a benchmark comes from and how it is read.

    Attributes:
        name: as on the command line, and of the folder looked for in a parent folder.
        title: what the readers' names of its formats begin with, too.
        categories: in the order of the published tables; others follow in alphabetical order.
        upstream: the folder of the upstream repository that contains the judgments; empty where its layout is not read.
        layout: what makes a folder that is read out of the repository's files, where its layout is not.
        repository: the public source, ``commit`` the state its files are checked against.
        formats: what the readers call this benchmark's files.
        measures: further shares that the tables show.
        fitted: whether a calibration is fitted to the labels, out of fold, unless another is asked for.
    """

    name: str
    title: str
    citation: str
    licence: str
    label_rule: str
    games_rule: str
    repository: str = ""
    commit: str = ""
    categories: tuple[str, ...] = ()
    upstream: str = ""
    formats: tuple[str, ...] = ()
    layout: str = ""
    measures: tuple[str, ...] = ()
    fitted: bool = True


Accuracies: TypeAlias = Callable[[Iterable[Judgment], Path], list[Accuracy]]
"""The accuracy of every judge there is by a benchmark's own rule, of its judgments and of the folder that
:func:`find_folder` returns, for records that are no judgments."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: a card, and the accuracy of judges by its own rule."""

    card: Card
    accuracy: Accuracies


def read_cards() -> dict[str, Card]:
    """Name -> card, of ``cards.toml``."""
    found = packaged("benchmarks", "cards")
    cards: dict[str, Card] = {}
    for name, fields in found.items():
        given: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in fields.items()}
        cards[name] = Card(name=name, **given)
    return cards


OF_META_JUDGES = "judgments"
"""Where the repository of "Leveraging LLMs as Meta-Judges", a fork of JudgeBench's, keeps judgments in its outputs."""


def find_folder(card: Card, given: Path) -> Path:
    """The folder (or file) of judgments: the one given, the upstream repository's, or a subfolder of the given one.

    Raises:
        InputError: none was found; the message lists what was searched.
    """
    if given.is_file():
        return given
    if not given.is_dir():
        raise InputError(f"--data {given}: no such file or folder")
    for folder in (given, given / card.name, *sorted(given.glob(f"*_{card.name}"))):
        if card.upstream and (folder / card.upstream).is_dir():
            below = folder / card.upstream
            deeper = below / OF_META_JUDGES
            return deeper if not _has_records(below) and _has_records(deeper) else below
        if _has_records(folder):
            return folder
    own = f"for the repository's folder {card.upstream}/, " if card.upstream else ""
    made = f" ({card.layout})" if card.layout else ""
    raise InputError(
        f"--data {given}: no judgments of {card.title} here; looked for JSONL files (pairs or items, and judgments), "
        f"{own}and for the same in {card.name}/ or *_{card.name}/. The public source is {card.repository}{made}"
    )


def open_recorded(card: Card, folder: Path) -> JudgmentSource:
    """Opens the judgments of a folder found by :func:`find_folder`.

    Raises:
        InputError: nothing readable, or another benchmark's files.
    """
    source = open_judgments([folder])
    for name in (name for found in source.formats.values() for name in found.split(" and ")):
        other = next((one for one, found in BENCHMARKS.items() if name.startswith(found.card.title)), None)
        if other is not None and name not in card.formats:
            raise InputError(f"{folder} contains {name} data, not {card.title}: use `metajudge bench {other}`")
    return source


def _has_records(folder: Path) -> bool:
    there = folder.iterdir() if folder.is_dir() else iter(())
    return any(
        one.is_file() and one.name.endswith((".jsonl", ".jsonl.gz")) and not one.name.startswith(".") for one in there
    )


NAME = "file"
"""What such a run is called."""


def own_files(names: Sequence[str], rules: Mapping[VerdictKind, Right]) -> Benchmark:
    """Files in any format that is read, with labels in them or joined to them."""
    title = ", ".join(Path(name).name or name for name in names)
    card = Card(
        name=NAME,
        title=title,
        citation=f"Files of your own: {title}",
        licence="your own",
        label_rule="as the files have them",
        games_rule="every verdict on an item with a label counts; a tie is wrong where the label names a winner",
    )
    return Benchmark(card, partial(_accuracy, rules))


def _accuracy(rules: Mapping[VerdictKind, Right], judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """The share of right verdicts of every judge; by kind, where a judge gave verdicts of several."""
    tallies: dict[tuple[str, AccuracyKind], Tally] = {}
    without: dict[str, int] = defaultdict(int)
    for judgment in judgments:
        why = undecided(judgment.verdict, judgment.item.truth, rules)
        if judgment.verdict is None:
            without[judgment.judge] += why == "none"
            continue
        kind = kind_of(judgment.verdict)
        tally = tallies.setdefault((judgment.judge, kind), Tally(kind))
        if why in (None, "tie"):
            tally.games += 1
            tally.ties += why == "tie"
            right, question = bool(judgment.right(rules[kind])), question_of(judgment)
            tally.add(judgment.item.category or "", right, question)
            if why is None:
                tally.decided.add(right, question)
    for (judge, _), tally in tallies.items():
        tally.without_verdict = without.pop(judge, 0)
    alike = "not counted here: see the selections"
    return [tally.accuracy(judge, alike=alike) for (judge, _), tally in tallies.items() if tally.games]


_RULES = {one.__name__.rpartition(".")[2]: one for one in (judgebench, llmbar, mtbench, realmistake, rewardbench2)}
BENCHMARKS = {name: Benchmark(card, _RULES[name].accuracy) for name, card in read_cards().items()}


class Study(NamedTuple):
    """A benchmark of judge panels, with a command path of its own."""

    title: str
    source: str


STUDIES = {
    "agent_clash": Study(
        "recomputes a published study of a judge panel from its raw judgments",
        "Boisbouvier and Claude Opus 4.5, Multi-Agent Judging for LLM Evaluation; data CC-BY-4.0 "
        "(github.com/anthonyboisbouvier-paris/agent-clash-paper)",
    ),
    "reliability": Study(
        "runs a panel of yours over labelled pairs, again with fresh seeds, and writes its reliability",
        "any file of labelled pairs; MT-Bench human judgments (lmsys/mt_bench_human_judgments) and Arena-100k "
        "(lmarena-ai/arena-human-preference-100k), both CC-BY-4.0, are read as published",
    ),
}


def benchmark_named(name: str) -> Benchmark:
    """Finds a benchmark.

    Raises:
        InputError: the name is unknown; the message lists the known ones.
    """
    if name not in BENCHMARKS:
        raise InputError(f"no benchmark is named {name!r}; there are: {', '.join([*BENCHMARKS, *STUDIES])}")
    return BENCHMARKS[name]


def lines() -> Iterator[str]:
    """Every benchmark and study with its citation, labels, licence and source."""
    for benchmark in BENCHMARKS.values():
        card = benchmark.card
        yield f"{card.name:<12} {card.citation}"
        yield f"{'':<12} labels: {card.label_rule}; licence: {card.licence}"
        yield f"{'':<12} {card.repository}"
    for name, study in STUDIES.items():
        yield f"{name:<12} {study.title}"
        yield f"{'':<12} {study.source}"
