"""The command line: arguments in, engine called, text or JSON out."""

import sys


def main() -> None:
    """Runs ``metajudge`` and exits with its code; see :mod:`metajudge.exit_codes`."""
    try:
        from metajudge.cli.boundary import guarded
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(guarded(sys.argv[1:]))
