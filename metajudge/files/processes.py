"""Which process is still there: its host, its number, and when it was born."""

import os
import socket


def identity(pid: int) -> str:
    """Host, process and when it was born, so that a number that was given again is another process."""
    return f"{socket.gethostname()}|{pid}|{_born(pid)}"


def is_alive(identity: str) -> bool:
    """Whether a process is still there; one of another host, which cannot be seen from here, is taken to be."""
    host, pid, born = identity.rsplit("|", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _born(int(pid)) in {"", born}


def _born(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):  # no such process, or a system without /proc
        return ""
