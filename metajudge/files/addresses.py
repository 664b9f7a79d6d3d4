"""Files and folders at addresses that Arrow knows, such as ``s3://bucket/verdicts/``: copied from there or to there."""

import atexit
import shutil
import tempfile
from pathlib import Path, PurePosixPath

from metajudge.errors import InputError


def near(address: str) -> Path:
    """A place for what has an address, under its name, in a folder that is gone with this process."""
    folder = tempfile.mkdtemp(prefix="metajudge-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / PurePosixPath(address).name


def transfer(source: str, target: str) -> None:
    """Copies a file or a folder from or to an address.

    Raises:
        InputError: that cannot be done.
    """
    try:
        from pyarrow import fs

        files, path = fs.FileSystem.from_uri(source)
        if files.get_file_info(path).type == fs.FileType.Directory:
            Path(target).mkdir()
        fs.copy_files(source, target)
    except (ImportError, OSError, ValueError) as error:
        raise InputError(f"{source} cannot be copied to {target}: {error}") from None
