"""Files that are one JSON object, and the members of zip archives: read whole, within a limit."""

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

import orjson

from metajudge.errors import InputError
from metajudge.installation import install_command
from metajudge.readers.lines import Line, Source, open_bytes

MAX_OBJECT_BYTES = 1 << 30
"""A longer object is refused: it would have to be held in memory."""

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<26xHH")


def read_object(source: Source) -> dict[str, Any]:
    """The object that a file contains.

    Raises:
        InputError: it is longer than :data:`MAX_OBJECT_BYTES`, no JSON, or no object.
    """
    try:
        with open_bytes(source) as stream:
            raw = stream.read(MAX_OBJECT_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{source.name} is damaged or ends early ({error})") from None
    if len(raw) > MAX_OBJECT_BYTES:
        raise InputError(
            f"{source.name} is one JSON object of more than {MAX_OBJECT_BYTES // 2**30} GiB, which would have to be "
            "held in memory: export it as JSONL, as an Inspect .eval file, or in parts"
        )
    return parsed_object(raw, source.name)


def parsed_object(raw: bytes, name: str) -> dict[str, Any]:
    """Parses an object in which numbers may be NaN, as Inspect writes them; an infinite number is its text.

    Raises:
        InputError: no JSON, or no object.
    """
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            data = json.loads(raw, parse_constant=lambda name: math.nan if name == "NaN" else name)
        except (ValueError, RecursionError):
            raise InputError(f"{name} is no valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{name} contains no JSON object")
    return data


def entries_of(values: Iterable[Any] | None) -> list[Line]:
    """The entries of a list inside an object as rows, numbered from 1."""
    return [Line(number, orjson.dumps(value, default=str), value) for number, value in enumerate(values or (), start=1)]


def read_member(archive: zipfile.ZipFile, name: str, source: Source) -> bytes:
    """The bytes of one member of a zip archive, compressed as zip files usually are, or with zstandard.

    Raises:
        InputError: the member is missing or damaged, or needs a package that is not installed.
    """
    try:
        info = archive.getinfo(name)
        if info.file_size > MAX_OBJECT_BYTES:
            raise InputError(f"{source.name}: {name} is longer than {MAX_OBJECT_BYTES // 2**30} GiB")
        return _unpacked(source, info) if info.compress_type == _ZSTANDARD else archive.read(name)
    except KeyError:
        raise InputError(f"{source.name} has no member {name}") from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, struct.error) as error:
        raise InputError(f"{source.name}: {name} is damaged ({error})") from None


def _unpacked(source: Source, info: zipfile.ZipInfo) -> bytes:
    """A member packed with zstandard, which the standard library reads only from Python 3.14 on."""
    try:
        import zstandard
    except ImportError:
        raise InputError(
            f"{source.name} is packed with zstandard: {install_command('inputs')}, or convert the log with "
            "`inspect log convert --to json`"
        ) from None
    with source.path.open("rb") as stream:
        stream.seek(info.header_offset)
        name_length, extra_length = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
        stream.seek(name_length + extra_length, 1)
        packed = stream.read(info.compress_size)
    try:
        data = bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    except zstandard.ZstdError as error:
        raise OSError(error) from None
    if zlib.crc32(data) != info.CRC:
        raise OSError("its checksum is wrong")
    return data
