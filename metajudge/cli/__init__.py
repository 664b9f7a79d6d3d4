"""The command line: arguments in, engine called, text or JSON out."""

import gc
import os
import signal
import sys
from types import FrameType

_YOUNG_OBJECTS = 50_000
"""What the collector waits for while modules are imported: their objects stay, and need not be looked at again."""


def main() -> None:
    """Runs ``metajudge`` and exits with its code; see :mod:`metajudge.runs.exit_codes`."""
    try:
        gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt)
        from metajudge.cli.boundary import guarded

        code = guarded(sys.argv[1:])
    except KeyboardInterrupt:  # before the boundary stands, or after it
        os._exit(130)
    sys.exit(code)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, except inside an import: there the process ends at once with code 130.

    An exception in the middle of an import leaves half-made modules behind, and extension modules crash on them.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt
