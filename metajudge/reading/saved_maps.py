"""Mappings that are given once and reused from then on: ``metajudge-inputs.toml`` in the working folder.

::

    [inputs."votes.csv".columns]
    verdict = "winner"
    "responses.A" = "output_1"

    [inputs."votes.csv".constants]
    judge = "gpt-4o"

    [inputs."votes.csv".values]
    C = "tie"

A name may contain ``*`` and ``?`` (``[inputs."runs/*.csv".columns]``): it then applies to all files whose paths match.
A folder's name applies to the files in it. Paths are relative to the file's folder.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from pydantic import Field, ValidationError

from metajudge.errors import ConfigurationError
from metajudge.files.replacing import replacing
from metajudge.reading.mapping import FieldMap
from metajudge.types.frozen import Frozen

FILE_NAME = "metajudge-inputs.toml"
_HEAD = "# How tables are read as judgments. Written by metajudge; values may be edited, comments are not kept.\n"


class _Inputs(Frozen):
    inputs: dict[str, FieldMap] = Field(default_factory=dict)


def saved_map(path: Path | str) -> FieldMap | None:
    """The mapping kept for a file: in the working folder, else beside the file.

    Raises:
        ConfigurationError: the file of mappings is not what it should be.
    """
    absolute = Path(os.path.abspath(path))
    for folder in dict.fromkeys((Path.cwd(), absolute.parent)):
        maps, key = _load(folder / FILE_NAME), _key(absolute, folder)
        fitting = [one for name, one in maps.items() if fnmatch(key, name)]
        around = [one for name, one in maps.items() if name == "." or key.startswith(f"{name}/")]
        if found := [*([maps[key]] if key in maps else []), *fitting, *around]:
            return found[0]
    return None


def save_map(path: Path | str, mapping: FieldMap) -> Path:
    """Keeps a mapping for a file in the working folder, in place of an earlier one; returns the file it is kept in.

    Raises:
        ConfigurationError: it cannot be written.
    """
    target = Path.cwd() / FILE_NAME
    maps = {**_load(target), _key(Path(os.path.abspath(path)), target.parent): mapping}
    try:
        with replacing(target) as part:
            part.write_text(_HEAD + "".join(_toml(name, one) for name, one in maps.items()), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def _load(file: Path) -> Mapping[str, FieldMap]:
    if not file.is_file():
        return {}
    try:
        return _Inputs.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))).inputs
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read as TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(
            f"{file}: {where}: {first['msg'][0].lower()}{first['msg'][1:]}; see `metajudge inspect --help`"
        ) from None


def _key(path: Path, folder: Path) -> str:
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def _toml(name: str, mapping: FieldMap) -> str:
    text = ""
    for table, entries in mapping.model_dump().items():
        if entries:
            lines = "".join(f"{_string(key)} = {_string(value)}\n" for key, value in entries.items())
            text += f"\n[inputs.{_string(name)}.{table}]\n{lines}"
    return text


def _string(text: str) -> str:
    # A JSON string is a basic string of TOML once DEL is escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
