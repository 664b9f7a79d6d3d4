"""Model files on this machine: which are GGUF files, what identifies them, and the one that is only a demo."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from metajudge.errors import ConfigurationError

DEMO_MARK = "demo model, not a judge"
"""Said wherever the demo model's scores appear: they carry no signal."""

DEMO_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DEMO_BYTES = 98_362_432
SUFFIX = ".gguf"

_MAGIC = b"GGUF"
_SAMPLE = 1 << 20
_INSTALL = "`metajudge local install` fetches a demo model"


def find_model_file(name: str) -> Path:
    """The file behind ``local:PATH``; ``~`` is the home folder.

    Raises:
        ConfigurationError: no such file, or one that is not a GGUF file.
    """
    path = Path(name).expanduser()
    if path.is_file():
        check_gguf(path)
        return path
    if path.is_dir():
        raise ConfigurationError(f"local:{name} is a folder: name the {SUFFIX} file in it")
    raise ConfigurationError(
        f"local:{name}: no such file; give the path of a {SUFFIX} file. `metajudge local list` shows installed ones, "
        f"and {_INSTALL}"
    )


def check_gguf(path: Path) -> None:
    """Refuses what is not a GGUF file, by its first four bytes.

    Raises:
        ConfigurationError: another kind of file, an empty or an unreadable one.
    """
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from None
    if magic != _MAGIC:
        found = f"it begins with {magic!r}" if magic else "it is empty"
        raise ConfigurationError(
            f"{path} is not a GGUF file ({found}, not {_MAGIC!r}): name a model in llama.cpp's format; "
            f"others (safetensors, PyTorch) must be converted first, and {_INSTALL}"
        )


def fingerprint(path: Path) -> str:
    """Twelve hexadecimal digits that identify a model file: of its size and its first and last mebibyte.

    The whole of a file of many gigabytes would take longer to read than a short run; the first mebibyte contains the
    metadata, and no two files that are used under one path are likely to agree in all three.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as stream:
        digest.update(stream.read(_SAMPLE))
        stream.seek(max(0, size - _SAMPLE))
        digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()[:12]


def is_demo(path: Path) -> bool:
    """Whether a file is the demo model, by its content."""
    stat = path.stat()
    return stat.st_size == DEMO_BYTES and _sha256(path, stat.st_mtime_ns) == DEMO_SHA256


def sha256_of(path: Path) -> str:
    """The digest of a whole file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@lru_cache(maxsize=8)
def _sha256(path: Path, _modified: int) -> str:
    return sha256_of(path)


def model_id(path: Path) -> str:
    """What a local model is called in results: the file's name and its fingerprint, and that it is a demo."""
    mark = f" ({DEMO_MARK})" if is_demo(path) else ""
    return f"{path.stem}#{fingerprint(path)}{mark}"


def installed_models(folder: Path) -> Iterator[Path]:
    """The model files in the folder of installed models, by name."""
    if folder.is_dir():
        yield from sorted(folder.glob(f"*{SUFFIX}"))
