"""Options for reading tables in other formats, and the source they open."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated

import typer

from metajudge.cli.options import StrictOption, takes
from metajudge.errors import ConfigurationError
from metajudge.readers import FieldMap, JudgmentSource, open_judgments, parse_map
from metajudge.readers.items import ItemSource, open_items
from metajudge.readers.saved_maps import save_map, saved_map

MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="Columns of a table: verdict=winner,question=prompt,responses.A=output_1,... or judge:=NAME "
        "for all rows. Saved in metajudge-inputs.toml for later runs. `metajudge inspect FILE` suggests a mapping.",
        metavar="FIELD=COLUMN,...",
    ),
]
MapValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map-values",
        help="Meaning of the verdict's values: C=tie,0.5=tie,1=A,pass=1,error=none. Saved likewise.",
        metavar="VALUE=MEANING,...",
    ),
]
PrefixIdsOption = Annotated[
    bool,
    typer.Option("--prefix-ids", help="Put each file's name before its ids, for files that use the same ids."),
]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a command's inputs are read: ``--map``, ``--map-values``, ``--prefix-ids`` and ``--strict``."""

    maps: MapOption = None
    values: MapValuesOption = None
    prefix_ids: PrefixIdsOption = False
    strict: StrictOption = False

    def open(
        self, inputs: list[str], *, judges: Collection[str] | None = None, limit: int | None = None
    ) -> JudgmentSource:
        """Opens judgments; see :func:`open_inputs`."""
        return open_inputs(
            inputs,
            self.maps,
            self.values,
            prefix_ids=self.prefix_ids,
            strict=self.strict,
            judges=judges,
            limit=limit,
        )

    def open_items(self, inputs: list[str], *, responses: int | None = None, limit: int | None = None) -> ItemSource:
        """Opens items, or judgments for their items; a given mapping that fits is saved for later runs."""
        source = open_items(inputs, mapping=self.mapping, prefix_ids=self.prefix_ids, responses=responses, limit=limit)
        if self.mapping is not None:
            keep_mapping(inputs, source.formats, self.mapping)
        return source

    @property
    def mapping(self) -> FieldMap | None:
        """The mapping given; None without one."""
        return mapping_of(self.maps, self.values)


AS_THEY_ARE = Reading()
"""Reads every input by its format, or by the mapping saved for it."""

reads_judgments = takes("reading", Reading)
"""Gives a command the options for reading its inputs, as its argument ``reading``."""


def mapping_of(maps: list[str] | None, values: list[str] | None) -> FieldMap | None:
    """The mapping that the flags make; None without flags."""
    return parse_map(maps or (), values or ()) if maps or values else None


def open_inputs(
    inputs: list[str],
    maps: list[str] | None,
    values: list[str] | None,
    *,
    prefix_ids: bool = False,
    strict: bool = False,
    judges: Collection[str] | None = None,
    limit: int | None = None,
) -> JudgmentSource:
    """Opens a command's inputs; a given mapping that fits is saved for later runs."""
    mapping = mapping_of(maps, values)
    source = open_judgments(inputs, mapping=mapping, prefix_ids=prefix_ids, strict=strict, judges=judges, limit=limit)
    if mapping is not None:
        keep_mapping(inputs, source.formats, mapping)
    return source


def keep_mapping(inputs: list[str], formats: Mapping[str, str], mapping: FieldMap) -> None:
    """Saves a mapping for every input read by it; reports that, or why it cannot be saved."""
    for name in inputs:
        if name == "-" or not formats.get(name, "").endswith("mapped"):
            continue
        kept = saved_map(name)
        whole = mapping if mapping.columns or kept is None else kept.with_values(mapping.values)
        if whole != kept and whole.columns:
            try:
                file = save_map(name, whole)
            except ConfigurationError as error:
                typer.echo(f"metajudge: note: {error}; --map is needed again next time", err=True)
                continue
            typer.echo(
                f"metajudge: the mapping of {name} is saved in {file.name}; the next run needs no --map", err=True
            )
