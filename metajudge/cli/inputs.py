"""Options for reading tables in other formats and for people's labels, and the source they open."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import StrictOption, complete_right, takes
from metajudge.errors import ConfigurationError
from metajudge.reading import FieldMap, JudgmentSource, open_judgments, parse_map
from metajudge.reading.items import ItemSource, open_items
from metajudge.reading.joined_labels import JoinReport, join_source, parse_on
from metajudge.reading.label_files import parse_labels_map, read_labels
from metajudge.reading.mapping import parse_values
from metajudge.reading.saved_maps import save_map, saved_map
from metajudge.types import Right, parse_right

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
        help="Meaning of the verdict's and the label's values: C=tie,0.5=tie,1=A,pass=1,error=none; "
        "verdict:1=A and label:1=B for one of them alone. Saved likewise.",
        metavar="VALUE=MEANING,...",
    ),
]
OneJudgeOption = Annotated[
    str | None, typer.Option(help="One judge for all rows, as --map judge:=NAME.", metavar="NAME")
]
PrefixIdsOption = Annotated[
    bool, typer.Option("--prefix-ids", help="Put each file's name before its ids, for files that use the same ids.")
]


RightOption = Annotated[
    str | None,
    typer.Option(
        help="What counts as right: equal, within:T (grades at most T apart), side:PASSMARK (both at least, or both "
        "below), top1 (the same winner) or kendall>=T (rankings). Default: by the kind of verdict.",
        metavar="RULE",
        autocompletion=complete_right,
    ),
]


@dataclass(frozen=True, slots=True)
class Labelling:
    """People's labels and what counts as right: ``--labels``, ``--on``, ``--labels-map`` and ``--right``."""

    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="People's labels in another file: a table with an id and a value in each row, or any file that can be "
            "read as judgments. Repeatable.",
            metavar="FILE",
        ),
    ] = None
    on: Annotated[
        str | None,
        typer.Option(
            help="What the labels name: id (of the judgment), item, or item+response (its id or model). Default: what "
            "their values match.",
            metavar="KEY",
        ),
    ] = None
    labels_map: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the labels: item_id=qid,response=model,label=human_score,annotator=who,label_time=when,"
            "ruling=adjudicated; several labels in a row: label=human_1+human_2. Default: guessed by their names.",
            metavar="FIELD=COLUMN,...",
        ),
    ] = None
    right: RightOption = None

    @property
    def rule(self) -> Right | None:
        """The rule given; None for the default of a verdict's kind.

        Raises:
            ConfigurationError: it is none.
        """
        if self.right is None:
            return None
        try:
            return parse_right(self.right)
        except ValueError as error:
            raise ConfigurationError(f"--right {error}") from None

    def join(self, source: JudgmentSource, values: list[str] | None = None) -> JoinReport | None:
        """Adds the labels to every judgment of a source; what that gave is among the source's notices.

        Args:
            source: as :meth:`Reading.open` gives it.
            values: ``--map-values``.

        Returns:
            None where no labels are given.

        Raises:
            ConfigurationError: ``--on`` or ``--labels-map`` without ``--labels``.
            InputError: a file that cannot be read, or nothing that matches.
        """
        if not self.labels:
            if self.on or self.labels_map:
                raise ConfigurationError("--on and --labels-map are about the file of --labels: give it, too")
            return None
        rows = read_labels(self.labels, parse_labels_map(self.labels_map or ()))
        return join_source(source, rows, None if self.on is None else parse_on(self.on), parse_values(values or ()))


UNLABELLED = Labelling()
"""No labels but those of the records themselves."""

takes_labels = takes("labelling", Labelling)
"""Gives a command the options for people's labels, as its argument ``labelling``."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a command's inputs are read: ``--map``, ``--map-values``, ``--prefix-ids``, ``--strict`` and ``--unit``."""

    maps: MapOption = None
    values: MapValuesOption = None
    prefix_ids: PrefixIdsOption = False
    strict: StrictOption = False
    unit: Annotated[
        str | None,
        typer.Option(
            help="What is independent, for intervals, folds and splits: item, question, or a field. Default: a stated "
            "question_id, else question and reference; item where one text covers nine tenths of the items.",
            metavar="UNIT",
        ),
    ] = None

    def open(
        self,
        inputs: list[str],
        *,
        judges: Collection[str] | None = None,
        limit: int | None = None,
        labelling: Labelling | None = None,
    ) -> JudgmentSource:
        """Opens judgments, with the labels of ``--labels`` joined; a given mapping that fits is saved for later."""
        source = open_judgments(
            inputs,
            mapping=self.mapping,
            prefix_ids=self.prefix_ids,
            strict=self.strict,
            judges=judges,
            limit=limit,
            unit=self.unit,
        )
        self.keep(inputs, source.formats)
        if labelling is not None:
            labelling.join(source, _values_of(inputs, self.values or []))
        return source

    def open_items(self, inputs: list[str], *, responses: int | None = None, limit: int | None = None) -> ItemSource:
        """Opens items, or judgments for their items; a given mapping that fits is saved for later runs."""
        source = open_items(inputs, mapping=self.mapping, prefix_ids=self.prefix_ids, responses=responses, limit=limit)
        self.keep(inputs, source.formats)
        return source

    def keep(self, inputs: list[str], formats: Mapping[str, str]) -> None:
        """Saves the mapping given for every input read by it; reports that, or why it cannot be saved."""
        if (mapping := self.mapping) is None:
            return
        for name in inputs:
            if name == "-" or not formats.get(name, "").endswith("mapped"):
                continue
            kept = saved_map(name)
            whole = mapping if mapping.columns or kept is None else kept.updated(values=mapping.values)
            if whole != kept and whole.columns:
                try:
                    file = save_map(name, whole)
                except ConfigurationError as error:
                    typer.echo(f"metajudge: note: {error}; --map is needed again next time", err=True)
                    continue
                typer.echo(
                    f"metajudge: the mapping of {name} is saved in {file.name}; the next run needs no --map", err=True
                )

    @property
    def mapping(self) -> FieldMap | None:
        """The mapping given; None without one."""
        return mapping_of(self.maps, self.values)


AS_THEY_ARE = Reading()
"""Reads every input by its format, or by the mapping saved for it."""

reads_judgments = takes("reading", Reading)
"""Gives a command the options for reading its inputs, as its argument ``reading``."""
reads_items = takes("reading", Reading, "unit")
"""The same for a command without intervals or splits by unit."""


def _values_of(inputs: list[str], given: list[str]) -> list[str]:
    """The meanings of values that are saved for the inputs, and those given, which come first."""
    kept = [saved_map(name) for name in inputs if name != "-"]
    saved = {value: meaning for one in kept if one is not None for value, meaning in one.values.items()}
    return [f"{value}={meaning}" for value, meaning in {**saved, **parse_values(given)}.items()]


def mapping_of(maps: list[str] | None, values: list[str] | None, judge: str | None = None) -> FieldMap | None:
    """The mapping that the flags make, with one judge for all rows where it is named; None without flags."""
    given = [*(maps or ()), *([f"judge:={judge}"] if judge else [])]
    return parse_map(given, values or ()) if given or values else None
