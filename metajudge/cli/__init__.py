"""The command line: arguments in, engine called, text or JSON out."""

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

_YOUNG_OBJECTS = 200_000
"""What the collector waits for while modules are imported: their objects stay, and need not be looked at again."""


def main() -> None:
    """Runs ``metajudge`` and exits with its code; see :mod:`metajudge.runs.exit_codes`.

    Called by a script, it ends the process; called by another module, it raises SystemExit.
    """
    script = sys._getframe(1).f_globals.get("__name__") == "__main__"
    try:
        gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
        # The search for pydantic's plugins reads the metadata of every installed package.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt)
        from metajudge.cli.boundary import guarded

        code = guarded(sys.argv[1:])
    except KeyboardInterrupt:  # before the boundary stands, or after it
        os._exit(130)
    if script:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """Ends the process as the interpreter does, but does not take its modules apart first, which takes .1 s.

    Threads are joined, exit handlers are called and output is written. What modules hold is left to the system;
    extension modules report it as leaked where the garbage collector no longer comes to it.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls first
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed, or its reader has gone
            stream.flush()
    os._exit(code)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, except inside an import: there the process ends at once with code 130.

    An exception in the middle of an import leaves half-made modules behind, and extension modules crash on them.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt
