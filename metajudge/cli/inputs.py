"""Options that say how foreign tables are read, and the source they open."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from metajudge.readers import FieldMap, JudgmentSource

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
        keep_mapping(inputs, source, mapping)
    return source


def keep_mapping(inputs: list[str], source: "JudgmentSource", mapping: "FieldMap") -> None:
    """Keeps a mapping for every input that was read by it, and says so."""
    from metajudge.readers.saved_maps import save_map, saved_map

    for name in inputs:
        if name == "-" or not source.formats.get(name, "").endswith("mapped"):
            continue
        kept = saved_map(name)
        whole = mapping if mapping.columns or kept is None else kept.with_values(mapping.values)
        if whole != kept and whole.columns:
            file = save_map(name, whole)
            typer.echo(f"metajudge: how {name} is read is kept in {file.name}; the next run needs no --map", err=True)
