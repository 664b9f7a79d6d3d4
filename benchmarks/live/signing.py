"""Signatures of a result folder by SSH keys, with ``ssh-keygen -Y`` (the format SSHSIG of OpenSSH 8.2 and later).

An SSH key is what most people who publish results already have, and hosts of code publish the keys of their users.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from metajudge.errors import ConfigurationError, InputError

NAMESPACE = "metajudge-live"
"""What the signature is for: one made for something else does not hold here."""

_MISSING = "ssh-keygen is not installed (it is part of OpenSSH)"


@dataclass(frozen=True, slots=True)
class Signed:
    """What a signature says.

    Attributes:
        holds: whether it is a valid signature of the file, and by the signer asked for where one was.
        words: by whom, or what is wrong.
    """

    holds: bool
    words: str


def check_key(key: Path) -> str:
    """Finds out before the work whether it can be signed; gives the path of ssh-keygen.

    Raises:
        ConfigurationError: no ssh-keygen.
        InputError: no such key.
    """
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise ConfigurationError(f"{_MISSING}: install it, or leave --sign out")
    if not key.is_file():
        raise InputError(f"--sign {key}: no such key file; `ssh-keygen -t ed25519` makes one")
    return tool


def sign(path: Path, key: Path) -> Path:
    """Signs a file; the signature stands beside it. A passphrase is asked for on the terminal, or its agent is.

    Raises:
        ConfigurationError: no ssh-keygen.
        InputError: no such key, or it cannot sign.
    """
    tool = check_key(key)
    signature = path.with_name(path.name + ".sig")
    signature.unlink(missing_ok=True)
    done = subprocess.run(
        [tool, "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path)],
        capture_output=True,
        check=False,
    )
    if done.returncode or not signature.is_file():
        raise InputError(f"--sign {key}: ssh-keygen cannot sign with it: {_last_line(done.stderr)}")
    return signature


def check(path: Path, signature: Path, signers: Path | None, identity: str | None) -> Signed:
    """Checks the signature of a file.

    Args:
        path: the signed file.
        signature: beside it.
        signers: an ``allowed_signers`` file of ssh-keygen; None checks the signature alone and says by which key.
        identity: of the signer in that file; None for the first one whose key it is.

    Raises:
        ConfigurationError: no ssh-keygen.
    """
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise ConfigurationError(f"{_MISSING}: the signature cannot be checked without it")
    common = ["-n", NAMESPACE, "-s", str(signature)]
    done = _run([tool, "-Y", "check-novalidate", *common], path)
    if done.returncode:
        return Signed(False, f"the signature does not fit the manifest: {_last_line(done.stderr or done.stdout)}")
    key = _last_line(done.stdout)
    if signers is None:
        return Signed(True, f"{key}; whose key it is was not checked (--signers FILE)")
    found = [identity] if identity else _principals(tool, signers, signature)
    for name in found:
        verified = _run([tool, "-Y", "verify", "-f", str(signers), "-I", name, *common], path)
        if not verified.returncode:
            return Signed(True, f"{key}, {name} by {signers.name}")
    return Signed(False, f"{key}; {signers} does not allow this key" + (f" for {identity}" if identity else ""))


def _principals(tool: str, signers: Path, signature: Path) -> list[str]:
    done = subprocess.run(
        [tool, "-Y", "find-principals", "-f", str(signers), "-s", str(signature)], capture_output=True, check=False
    )
    return done.stdout.decode(errors="replace").split("\n")[:1] if not done.returncode else []


def _run(command: list[str], path: Path) -> "subprocess.CompletedProcess[bytes]":
    with path.open("rb") as stream:
        return subprocess.run(command, stdin=stream, capture_output=True, check=False)


def _last_line(text: bytes) -> str:
    lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it gives no reason"
