"""What every benchmark file offers."""

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from metajudge.errors import InputError
from metajudge.readers import JudgmentSource, open_judgments
from metajudge.types import Judgment

from .findings import Accuracy


@dataclass(frozen=True, slots=True)
class Card:
    """Where a benchmark comes from and how it is read.

    Attributes:
        name: as on the command line, and of the folder looked for in a parent folder.
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
    found = tomllib.loads(files("metajudge.benchmarks").joinpath("cards.toml").read_text("utf-8"))
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
    foreign = [name for found in source.formats.values() for name in found.split(" and ") if _is_foreign(name, card)]
    if foreign:
        other = next(name for prefix, name in _COMMANDS.items() if foreign[0].startswith(prefix))
        raise InputError(f"{folder} contains {foreign[0]} data, not {card.title}: use `metajudge bench {other}`")
    return source


def _has_records(folder: Path) -> bool:
    return folder.is_dir() and any(_holds_records(entry) for entry in folder.iterdir())


def _holds_records(entry: Path) -> bool:
    return entry.is_file() and entry.name.endswith((".jsonl", ".jsonl.gz")) and not entry.name.startswith(".")


def _is_foreign(format_name: str, card: Card) -> bool:
    return format_name not in card.formats and format_name.startswith(tuple(_COMMANDS))


_COMMANDS = {
    "JudgeBench": "judgebench",
    "LLMBar": "llmbar",
    "MT-Bench": "mtbench",
    "ReaLMistake": "realmistake",
    "RewardBench 2": "rewardbench2",
}
"""What a format's name begins with -> the command that measures it."""
