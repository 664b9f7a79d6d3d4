"""Benchmark data from their public repositories.

The checksum is the commit's own id: git refuses objects whose content does not match their id, and the commit's id
covers every file. So the state that the figures of this project were made from can be fetched from any copy of the
repository, and nothing else passes for it.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from metajudge.errors import InputError

from .benchmark import Card


def fetch(card: Card, out: Path, *, source: str | None = None, timeout_s: float = 1800.0) -> int:
    """Downloads a benchmark's repository at the commit of its card.

    Everything goes to a folder beside ``out`` first, which takes its name only once the content is checked.

    Args:
        out: a folder that does not exist yet, or is empty.
        source: where to fetch from; None for the public repository.

    Returns:
        The number of files.

    Raises:
        InputError: ``out`` is not empty, git is missing, the source cannot be reached, or it lacks the commit.
    """
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise InputError(f"{out} is not empty: name a new folder, or remove it first")
    if shutil.which("git") is None:
        raise InputError(f"git is not installed: install it, or get {card.repository} at {card.commit} by other means")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        _download(card, part, source or card.repository, timeout_s)
        shutil.rmtree(part / ".git")
        count = sum(entry.is_file() for entry in part.rglob("*"))
        if out.is_dir():
            out.rmdir()
        part.replace(out)
        out.chmod(0o755)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count


def _download(card: Card, folder: Path, source: str, timeout_s: float) -> None:
    _git(["init", "--quiet"], folder, timeout_s, f"cannot make a repository in {folder}")
    cannot = (
        f"cannot fetch {card.title} (commit {card.commit}) from {source}: check the network, or give another copy "
        "of the repository with --source; nothing was kept"
    )
    _git(["fetch", "--quiet", "--depth", "1", source, card.commit], folder, timeout_s, cannot)
    found = _git(["rev-parse", "FETCH_HEAD^{commit}"], folder, timeout_s, cannot).strip()
    if found != card.commit:
        raise InputError(f"{source} gave commit {found} in place of {card.commit}; nothing was kept")
    damaged = f"what {source} sent does not match its checksums; nothing was kept"
    _git(["fsck", "--full", "--strict", "--no-dangling"], folder, timeout_s, damaged)
    _git(["-c", "core.autocrlf=false", "checkout", "--quiet", card.commit], folder, timeout_s, damaged)


def _git(arguments: list[str], folder: Path, timeout_s: float, wrong: str) -> str:
    """Runs git without asking anybody for a password; its last words end up in the error."""
    command = ["git", "-c", "credential.helper=", "-c", "protocol.ext.allow=never", *arguments]
    # Of the environment git needs where programs are, and how the network is reached.
    kept = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR")
    inherited = {name: value for name, value in os.environ.items() if name in kept or name.lower().endswith("_proxy")}
    environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=inherited | environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{wrong} (no answer within {timeout_s:g} s)") from None
    except OSError as error:
        raise InputError(f"{wrong} ({error})") from None
    if done.returncode:
        words = done.stderr.strip().splitlines()
        raise InputError(f"{wrong} ({words[-1] if words else f'git ended with {done.returncode}'})")
    return done.stdout
