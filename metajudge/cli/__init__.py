"""The command line: arguments in, engine called, text or JSON out."""

import sys


def main() -> None:
    """Runs ``metajudge`` and exits with its code (2 for errors the user must fix)."""
    from metajudge.cli.app import app
    from metajudge.errors import MetajudgeError

    try:
        app()
    except MetajudgeError as error:
        print(f"metajudge: {error}", file=sys.stderr)  # noqa: T201 - the one place where errors become text
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
