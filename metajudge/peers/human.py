"""Human rankings to compare with: from a file, or written out on the command line."""

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError, model_validator

from metajudge.errors import InputError
from metajudge.peers.record import Groups, refuse_repeated
from metajudge.peers.table import places_of
from metajudge.reading.questions import Name
from metajudge.reading.reasons import reason_of
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.frozen import Frozen

FORMS = (
    'a file with {"ranking": [...]} (best first, a list for a tie) or {"scores": {NAME: NUMBER}} (higher is better), '
    "or 'm1 > m2 = m3', with NAME: before it to give it a name"
)


class HumanRanking(Frozen):
    """A ranking of models by people.

    Attributes:
        name: what it is called in results.
        ranking: groups of tied models, best first.
    """

    name: Name
    ranking: Groups

    @model_validator(mode="after")
    def _check(self) -> "HumanRanking":
        refuse_repeated(self.models, "it names")
        return self

    @property
    def models(self) -> tuple[str, ...]:
        """Every model it ranks, best first; the order within a group means nothing."""
        return tuple(name for group in self.ranking for name in group)

    def places(self, models: tuple[str, ...]) -> tuple[Floats, Bools]:
        """[K] places among the given models, ties sharing the mean, and [K] whether the model is ranked at all."""
        number = {name: n for n, group in enumerate(self.ranking) for name in group}
        there = np.array([name in number for name in models], dtype=bool)
        values = np.array([float(number.get(name, 0)) for name in models])
        return places_of(values, there), there


def read_human_rankings(given: Iterable[str]) -> tuple[HumanRanking, ...]:
    """Reads every ``--human``: a file's path or a ranking written out.

    Raises:
        InputError: no such file and no ranking, a malformed one, or two of one name.
    """
    found = [_read(text) for text in given]
    names = [one.name for one in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"several human rankings are called {', '.join(repeated)}: name them apart, as in 'NAME: a > b'"
        )
    return tuple(found)


def _read(text: str) -> HumanRanking:
    if os.path.isfile(text):  # a ranking written out may be no legal path
        return _from_file(Path(text))
    if ">" not in text:
        raise InputError(f"--human {text!r}: no such file, and not a ranking. Give {FORMS}")
    head, colon, rest = text.partition(": ")
    name, ranking = (head.strip(), rest) if colon and ">" not in head else ("human", text)
    groups = [[one.strip() for one in group.split("=")] for group in ranking.split(">")]
    return _checked({"name": name, "ranking": groups}, f"--human {text!r}")


def _from_file(path: Path) -> HumanRanking:
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    except ValueError as error:
        raise InputError(f"{path} is no human ranking: {error}. Give {FORMS}") from None
    if isinstance(data, list):
        data = {"ranking": data}
    if not isinstance(data, dict) or ("ranking" in data) == ("scores" in data):
        raise InputError(f"{path} must have either ranking or scores. Give {FORMS}")
    unknown = sorted(set(data) - {"name", "ranking", "scores"})
    if unknown:
        raise InputError(f"{path}: unknown field {', '.join(unknown)}; there are name, ranking and scores")
    groups = data["ranking"] if "ranking" in data else _groups_of(data["scores"], path)
    return _checked({"name": data.get("name", path.stem), "ranking": groups}, str(path))


def _groups_of(scores: Any, path: Path) -> list[list[str]]:
    """Models by falling score; equal scores are ties."""
    if not isinstance(scores, dict) or not scores:
        raise InputError(f"{path}: scores must be an object from names to numbers")
    for name, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise InputError(
                f"{path}: the score of {name!r} must be a finite number, not {score!r}; leave it out instead"
            )
    levels = sorted(set(scores.values()), reverse=True)
    return [sorted(name for name, score in scores.items() if score == level) for level in levels]


def _checked(data: dict[str, Any], where: str) -> HumanRanking:
    ranking = data["ranking"]
    if isinstance(ranking, list):
        data = {**data, "ranking": [[one] if isinstance(one, str) else one for one in ranking]}
    try:
        human = HumanRanking.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{where} is no ranking: {reason_of(error)}. Give {FORMS}") from None
    if len(human.models) < 2:
        raise InputError(f"{where} ranks fewer than two models; at least two are needed. Give {FORMS}")
    return human


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
