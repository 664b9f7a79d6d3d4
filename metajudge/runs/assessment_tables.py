"""Assessments as tables: Parquet and Arrow files, made of lines of JSON without an object a record.

The columns, one row an assessment:

- ``judgment_id, item_id, judge, category, status, accepted, score, score_low, score_high, probability``: as in the
  record; ``score`` is ``final_score``, the next two its bounds where only these are known.
- ``decision``: a policy's action; ``failure, failure_message``: why there is no decision.
- ``strategy, threshold, rubric, panel_digest, judgment_digest, calls, cost_usd, metajudge_version``.
- ``agents``: a list of agents with their scores.
- ``signal.NAME``: each signal's value, absent where the signal has none.
- ``assessment``: the whole record as JSON, as a line of ``vet --out FILE.jsonl`` has it.

What is absent is null, never 0. pyarrow is imported when it is used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metajudge.errors import ConfigurationError, InputError
from metajudge.files.replacing import replacing
from metajudge.installation import install_command
from metajudge.reading.containers.lines import Reject, Source
from metajudge.reading.containers.typed_tables import arrow_table, parquet_table

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS: Final = (".parquet", ".arrow", ".feather")
"""Endings of files that are tables."""

ROWS: Final = 16_384
"""Rows that are in memory together, and in a row group."""


def _signals() -> tuple[str, ...]:
    """The names of the signals, which only a table with columns for them needs."""
    from metajudge.evidence.columns import SIGNALS, STABILITY

    return (*SIGNALS, *STABILITY, "no_labels")  # the last one is in records of version 0.2


def write_table(path: Path, lines: Iterable[bytes]) -> None:
    """Writes assessments as a Parquet file, or as an Arrow file by the ending ``.arrow`` or ``.feather``.

    Args:
        lines: of JSON.
    """
    pa = arrow()
    source = iter(lines)
    with replacing(path) as partial:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            writer = parquet.ParquetWriter(partial, schema(), compression="zstd")
        else:
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            writer = pa.ipc.new_file(str(partial), schema(), options=options)
        with writer:
            while part := list(islice(source, ROWS)):
                writer.write_table(table_of(part))


def table_of(lines: Sequence[bytes]) -> "pa.Table":
    """Lines of JSON as a table with the columns of :func:`schema`."""
    pa = arrow()
    from pyarrow import compute, json

    text = b"\n".join(line.rstrip(b"\n") for line in lines) + b"\n"
    read = json.read_json(
        BytesIO(text),
        read_options=json.ReadOptions(block_size=len(text) + 1),
        parse_options=json.ParseOptions(explicit_schema=_record(pa), unexpected_field_behavior="ignore"),
    )

    columns = {
        name: compute.struct_field(read[place], list(inside)) if inside else read[place]
        for name, (_, place, *inside) in COLUMNS.items()
        if place != "score_bounds"
    }
    bounds = read["score_bounds"].combine_chunks()
    known = compute.if_else(compute.equal(compute.list_value_length(bounds), 2), bounds, None)
    columns |= {name: compute.list_element(known, at) for at, name in enumerate(("score_low", "score_high"))}
    columns |= {
        "agents": read["agents"],
        "assessment": pa.array([line.rstrip(b"\n") for line in lines], pa.binary()).cast(pa.string()),
    }
    columns |= {f"signal.{name}": compute.struct_field(read["signals"], [name, "value"]) for name in _signals()}
    return pa.table([columns[name] for name in schema().names], schema=schema())


def schema() -> "pa.Schema":
    """The columns of a table of assessments."""
    pa = arrow()
    named = [(name, getattr(pa, kind)()) for name, (kind, *_) in COLUMNS.items()]
    signals = [(f"signal.{name}", pa.float64()) for name in _signals()]
    return pa.schema([*named, ("agents", _agents(pa)), *signals, ("assessment", pa.string())])


def assessment_lines(path: Path) -> Iterator[bytes]:
    """The records of a table of assessments as lines of JSON.

    Raises:
        InputError: a file that cannot be read, or without the column ``assessment``; an Arrow file without pyarrow.
    """
    source = Source(path, str(path))
    table = (parquet_table if path.suffix.lower() == ".parquet" else arrow_table)(source, "assessment")
    try:
        for row in table.rows():
            if isinstance(row, Reject):
                raise InputError(row.reason)
            if (text := row.data["assessment"]) is not None:
                yield text.encode()
    except (InputError, KeyError) as error:
        raise InputError(f"{path} cannot be read as a table of assessments: {error}") from None


_TEXTS: Final = {name: ("string", name) for name in ("judgment_id", "item_id", "judge", "category", "status")}
_VERSIONS: Final = {name: ("string", name) for name in ("rubric", "panel_digest", "judgment_digest")}
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    **_TEXTS,
    "accepted": ("bool_", "accepted"),
    "score": ("float64", "final_score"),
    "score_low": ("float64", "score_bounds"),
    "score_high": ("float64", "score_bounds"),
    "probability": ("float64", "probability"),
    "decision": ("string", "decision", "action"),
    "failure": ("string", "failure", "kind"),
    "failure_message": ("string", "failure", "message"),
    "strategy": ("string", "strategy"),
    "threshold": ("float64", "threshold"),
    **_VERSIONS,
    "calls": ("int64", "calls"),
    "cost_usd": ("float64", "cost_usd"),
    "metajudge_version": ("string", "metajudge_version"),
}
"""Column -> its type, and where its value stands in a record."""
_NESTED: Final = ("score_bounds", "decision", "failure")


def _agents(pa: Any) -> Any:
    return pa.list_(pa.struct([("agent", pa.string()), ("score", pa.float64())]))


def _record(pa: Any) -> Any:
    """What is read of a record."""
    signal = pa.struct([("value", pa.float64())])
    return pa.schema(
        [
            *((path[0], getattr(pa, kind)()) for kind, *path in COLUMNS.values() if path[0] not in _NESTED),
            ("score_bounds", pa.list_(pa.float64())),
            ("decision", pa.struct([("action", pa.string())])),
            ("failure", pa.struct([("kind", pa.string()), ("message", pa.string())])),
            ("agents", _agents(pa)),
            ("signals", pa.struct([(name, signal) for name in _signals()])),
        ]
    )


def arrow() -> Any:
    """The package pyarrow.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise ConfigurationError(
            f"Parquet and Arrow files need pyarrow, which is not installed: {install_command('inputs')}, or name a "
            "file that ends in .jsonl"
        ) from None
    return pyarrow
