"""A folder that all workers reach: on a file system, or in an object store by its URL (``s3://``, ``gs://``, ...).

A file appears whole or not at all: on a file system it is moved to its name, and an object exists once it is complete.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.fs as pfs
import pyarrow.parquet as pq

from metajudge.errors import ConfigurationError, StoreError
from metajudge.files.replacing import replacing


class Place:
    """A folder by its path or URL; serialisable, so that it can be sent to workers.

    Args:
        where: a path, ``file://`` or another URL that Arrow knows, with options as a query
            (``s3://bucket/folder?region=eu-west-1``). Keys come from the environment.

    Raises:
        ConfigurationError: a URL of no known kind, or a path that is not a folder or cannot be made.
    """

    def __init__(self, where: str | Path, *names: str) -> None:
        self.where, self.names = str(where), names
        if self.path is not None:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigurationError(f"--out {where}: {error.strerror}; name a writable folder") from None

    def __reduce__(self) -> tuple[type["Place"], tuple[str, ...]]:
        return type(self), (self.where, *self.names)

    def __truediv__(self, name: str) -> "Place":
        return Place(self.where, *self.names, name)

    def __str__(self) -> str:
        return "/".join([self.where.partition("?")[0].rstrip("/"), *self.names])

    @cached_property
    def path(self) -> Path | None:
        """The folder, where it is one of a file system of this machine; None in an object store."""
        if self.where.startswith("file://"):
            return Path(self._opened[1])
        return None if "://" in self.where else Path(self.where).resolve().joinpath(*self.names)

    @property
    def address(self) -> str:
        """The place as other processes are told of it: an absolute path, or the URL."""
        return self.where if self.path is None else str(self.path)

    def names_of(self, pattern: str = "*") -> list[str]:
        """Names of the files here that match, sorted.

        Raises:
            StoreError: the place cannot be read, here and in what else reads.
        """
        with self._reading():
            found = self._fs.get_file_info(pfs.FileSelector(self._base, allow_not_found=True))
        files = [Path(one.path) for one in found if one.type == pfs.FileType.File]
        return sorted(one.name for one in files if one.match(pattern) and not one.name.startswith("."))

    def write(self, name: str, content: bytes) -> None:
        """Writes a file; one of the same name is replaced.

        Raises:
            StoreError: it cannot be written.
        """
        with self._writing(name) as stream:
            stream.write(content)

    def write_table(self, name: str, table: pa.Table, rows_a_group: int | None = None) -> None:
        """Writes Parquet; see :meth:`write`."""
        with self._writing(name) as stream:
            pq.write_table(table, stream, compression="zstd", row_group_size=rows_a_group)

    def read(self, filter: Any = None, *, pattern: str = "*.parquet", schema: pa.Schema | None = None) -> pa.Table:
        """The rows of Parquet files; columns that a file lacks are null.

        Args:
            filter: an expression that rows have to meet.
            schema: the columns to read; None for those of the first file.
        """
        files = [f"{self._base}/{name}" for name in self.names_of(pattern)]
        if not files:
            return schema.empty_table() if schema is not None else pa.table({})
        with self._reading():
            return pds.dataset(files, schema=schema, format="parquet", filesystem=self._fs).to_table(filter=filter)

    def read_bytes(self, name: str) -> bytes | None:
        """A file's content; None where there is no such file."""
        try:
            with self._reading(), self._fs.open_input_stream(f"{self._base}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def delete(self, names: Sequence[str]) -> None:
        """Removes files; those that are gone already are passed over."""
        for name in names:
            try:
                self._fs.delete_file(f"{self._base}/{name}")
            except FileNotFoundError:
                continue

    def clear(self) -> None:
        """Removes everything here."""
        self._fs.delete_dir_contents(self._base, missing_dir_ok=True)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"cannot read {self}: {error.strerror or error}. For an object store see that the URL names its region "
                "or endpoint, and that the environment has its keys"
            ) from error

    @contextmanager
    def _writing(self, name: str) -> Iterator[Any]:
        target = f"{self}/{name}"
        try:
            if self.path is not None:
                with replacing(self.path / name) as part, part.open("wb") as file:
                    yield file
            else:
                with self._fs.open_output_stream(f"{self._base}/{name}") as stream:
                    yield stream
        except OSError as error:
            raise StoreError(f"cannot write {target}: {error.strerror or error}") from error

    @cached_property
    def _opened(self) -> tuple[pfs.FileSystem, str]:
        if "://" not in self.where:
            return pfs.LocalFileSystem(), str(self.path)
        try:
            system, base = pfs.FileSystem.from_uri(self.where)
        except (pa.ArrowException, OSError) as error:
            raise ConfigurationError(
                f"--out {self.where}: {error}; name a folder, or a URL such as s3://BUCKET/FOLDER or gs://BUCKET/FOLDER"
            ) from None
        return system, "/".join([base.rstrip("/"), *self.names])

    @property
    def _fs(self) -> Any:
        return self._opened[0]

    @property
    def _base(self) -> str:
        return self._opened[1]
