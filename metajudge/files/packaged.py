"""Tables of the package that stand in data files: constants, as if they stood in a module."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def packaged(package: str, name: str) -> dict[str, Any]:
    """The table ``NAME.toml`` of one of metajudge's packages."""
    return tomllib.loads(files(f"metajudge.{package}").joinpath(f"{name}.toml").read_text("utf-8"))
