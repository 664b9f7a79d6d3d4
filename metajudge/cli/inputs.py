"""Options that say how foreign tables are read, and the source they open."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metajudge.cli.options import StrictOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metajudge.readers import FieldMap, JudgmentSource
    from metajudge.readers.items import ItemSource

MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="Which column of a table is what: verdict=winner,question=prompt,responses.A=output_1,... or judge:=NAME "
        "for all rows. Kept in metajudge-inputs.toml: the next run needs no flag. `metajudge inspect FILE` guesses.",
        metavar="FIELD=COLUMN,...",
    ),
]
MapValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map-values",
        help="What values of the verdict mean: C=tie,0.5=tie,1=A,pass=1,error=none. Kept likewise.",
        metavar="VALUE=MEANING,...",
    ),
]
PrefixIdsOption = Annotated[
    bool,
    typer.Option("--prefix-ids", help="Put each file's name before its ids, where files use the same ones."),
]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a command's inputs are read: what ``--map``, ``--map-values``, ``--prefix-ids`` and ``--strict`` say."""

    maps: list[str] | None = None
    values: list[str] | None = None
    prefix_ids: bool = False
    strict: bool = False

    def open(self, inputs: list[str], **options: Any) -> "JudgmentSource":
        """Opens judgments; see :func:`open_inputs`."""
        return open_inputs(inputs, self.maps, self.values, prefix_ids=self.prefix_ids, strict=self.strict, **options)

    def open_items(self, inputs: list[str], **options: Any) -> "ItemSource":
        """Opens items, or judgments for their items; a mapping that was given, and fits, is kept for the next run."""
        from metajudge.readers.items import open_items

        source = open_items(inputs, mapping=self.mapping, prefix_ids=self.prefix_ids, **options)
        if self.mapping is not None:
            keep_mapping(inputs, source.formats, self.mapping)
        return source

    @property
    def mapping(self) -> "FieldMap | None":
        """The mapping given; None without one."""
        return mapping_of(self.maps, self.values)


AS_THEY_ARE = Reading()
"""Every input by its format, or by the mapping kept for it."""


def reads_judgments(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that say how its inputs are read, as its argument ``reading``."""
    options = {"maps": (MapOption, None), "map_values": (MapValuesOption, None), "prefix_ids": (PrefixIdsOption, False)}
    options |= {"strict": (StrictOption, False)}
    signature = inspect.signature(command, eval_str=True)
    own = [one for name, one in signature.parameters.items() if name != "reading"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, (option, default) in options.items()
    ]

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:
        command(reading=Reading(*(given.pop(name) for name in options)), **given)

    with_reading.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    with_reading.__annotations__ = {one.name: one.annotation for one in (*own, *added)}
    return with_reading


def mapping_of(maps: list[str] | None, values: list[str] | None) -> "FieldMap | None":
    """The mapping that the flags make; None without flags."""
    from metajudge.readers import parse_map

    return parse_map(maps or (), values or ()) if maps or values else None


def open_inputs(
    inputs: list[str],
    maps: list[str] | None,
    values: list[str] | None,
    *,
    prefix_ids: bool = False,
    **options: Any,
) -> "JudgmentSource":
    """Opens what a command is to read; a mapping that was given, and fits, is kept for the next run."""
    from metajudge.readers import open_judgments

    mapping = mapping_of(maps, values)
    source = open_judgments(inputs, mapping=mapping, prefix_ids=prefix_ids, **options)
    if mapping is not None:
        keep_mapping(inputs, source.formats, mapping)
    return source


def keep_mapping(inputs: list[str], formats: "Mapping[str, str]", mapping: "FieldMap") -> None:
    """Keeps a mapping for every input that was read by it, and says so, or why it cannot be kept."""
    from metajudge.errors import ConfigurationError
    from metajudge.readers.saved_maps import save_map, saved_map

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
            typer.echo(f"metajudge: how {name} is read is kept in {file.name}; the next run needs no --map", err=True)
