"""Hugging Face datasets saved with ``save_to_disk``: Arrow files in a folder, for one split or for several.

Read as the documentation of ``datasets`` 4 and 5 describes ("Save and export", ``Dataset.save_to_disk``): a folder with
``state.json``, which lists the Arrow streams, and ``dataset_info.json``; several splits are folders beside a
``dataset_dict.json``. Only ``pyarrow`` is needed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.parquet_table import TableRow, plain

ROWS: Final = 512
"""Rows of a record batch that are Python objects together."""


class ArrowTable:
    """Rows of an Arrow file; batches are mapped into memory one at a time."""

    format = "Arrow"

    def __init__(self, source: Source) -> None:
        self.source = source

    def columns(self) -> tuple[str, ...]:
        return tuple(self._opened().schema.names)

    def rows(self) -> Iterator[Line | Reject]:
        file = self._opened()
        batches = (file.get_batch(at) for at in range(file.num_record_batches))
        yield from _numbered(self.source, [(batches, "the file is damaged; nothing after this row can be read")])

    def _opened(self) -> Any:
        name = self.source.name
        fault = f"{name} cannot be read as an Arrow file"
        return _opened(self.source.path, "open_file", f"{name} is an Arrow file", fault)


def plain_rows(batch: Any) -> Iterator[dict[str, Any]]:
    """The rows of a record batch, a few at a time; cells are as JSON has them."""
    names = batch.schema.names
    for start in range(0, batch.num_rows, ROWS):
        columns = [[plain(cell) for cell in column.to_pylist()] for column in batch.slice(start, ROWS).columns]
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))


class DatasetTable:
    """Rows of one split, in order; Arrow batches are mapped into memory one at a time."""

    format = "Hugging Face dataset on disk"

    def __init__(self, source: Source) -> None:
        self.source = source
        self._files = _arrow_files(source)

    def columns(self) -> tuple[str, ...]:
        return tuple(name for file in self._files[:1] for name in self._opened(file).schema.names)

    def rows(self) -> Iterator[Line | Reject]:
        damage = "is damaged; the rest of it cannot be read"
        return _numbered(self.source, ((self._opened(file), f"{file.name} {damage}") for file in self._files))

    def _opened(self, file: Path) -> Any:
        name = self.source.name
        fault = f"{name}: {file.name} cannot be read as an Arrow stream"
        return _opened(file, "open_stream", f"{name} is a Hugging Face dataset on disk", fault)


def dataset_folders(path: Path) -> list[Path]:
    """The folders of the splits of a saved dataset; empty where the folder is none."""
    if (path / "state.json").is_file():
        return [path]
    if not (path / "dataset_dict.json").is_file():
        return []
    return [split for split in sorted(path.iterdir()) if (split / "state.json").is_file()]


def _arrow_files(source: Source) -> list[Path]:
    try:
        state = orjson.loads((source.path / "state.json").read_bytes())
        files = [source.path / str(entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source.name}: state.json does not list the dataset's files ({error})") from None
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise InputError(
            f"{source.name} was saved with an indices mapping: save it again after dataset.flatten_indices()"
        )
    missing = [file.name for file in files if not file.is_file()]
    if missing or not files:
        raise InputError(f"{source.name}: the dataset's files are missing: {', '.join(missing) or 'none is listed'}")
    return files


def _numbered(source: Source, parts: Iterable[tuple[Iterable[Any], str]]) -> Iterator[Line | Reject]:
    """The rows of parts, numbered through; each part is its record batches, and what to say where they are damaged."""
    number = 0
    for batches, damage in parts:
        import pyarrow

        try:
            for batch in batches:
                for data in plain_rows(batch):
                    number += 1
                    yield TableRow(number, data)
        except (OSError, pyarrow.ArrowException) as error:
            yield Reject(source.name, number + 1, f"{damage} ({error})", "")


def _opened(file: Path, opening: str, what: str, fault: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise InputError(f"{what}, which needs pyarrow: {install_command('inputs')}") from None
    try:
        return getattr(pyarrow.ipc, opening)(pyarrow.memory_map(str(file)))
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{fault}: {error}") from None
