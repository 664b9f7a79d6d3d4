"""The names by which language models and their makers give themselves away, from ``known_names.toml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from metajudge.files.packaged import packaged

Certainty = Literal["sure", "name", "capital", "word"]
Kind = Literal["id", "family", "maker"]


@dataclass(frozen=True, slots=True)
class KnownName:
    """One name.

    Attributes:
        family: whose name it is; the families of :mod:`metajudge.providers.families`, and some more.
        kind: of a model (``family``) or of its maker.
    """

    parts: tuple[str, ...]
    family: str
    kind: Kind
    certainty: Certainty

    @property
    def key(self) -> str:
        """The name without joiners: how a match is looked up."""
        return "".join(self.parts)


@cache
def known_names() -> Mapping[str, KnownName]:
    """Every name by its key."""
    found: dict[str, KnownName] = {}
    tables: dict[Kind, dict[str, dict[Certainty, list[str]]]] = packaged("judging", "known_names")  # type: ignore[assignment]
    for kind, table in tables.items():
        for family, by_certainty in table.items():
            for certainty, names in by_certainty.items():
                for name in names:
                    one = KnownName(tuple(name.split()), family, kind, certainty)
                    found.setdefault(one.key, one)
    return found
