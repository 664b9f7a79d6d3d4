"""The boundary of the command line: every error becomes one line of text and an exit code.

The traceback is shown with ``--debug`` before or after the command, or with ``METAJUDGE_DEBUG=1``.
"""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from metajudge.cli import removed
from metajudge.errors import MetajudgeError
from metajudge.runs.exit_codes import ExitCode, exit_code_of

DEBUG = "--debug"

_kept_in: list[Path] = []
"""The file of the store that the command uses, once it is known."""


def keeps_state_in(store: object) -> None:
    """Records where a command stores its results, for error messages."""
    if isinstance(store, Path):
        _kept_in[:] = [store]


def guarded(words: Sequence[str]) -> int:
    """Runs the command line and returns its exit code; no exception leaves it.

    Args:
        words: the arguments after ``metajudge``.
    """
    debug = _debug_wanted(words)
    try:
        code = _call(words)
        sys.stdout.flush()
    except BaseException as error:
        code = _told(error, debug, words)
    with contextlib.suppress(ValueError):  # not the main thread
        # The interpreter still ends threads and closes files; an interrupt there no longer concerns the command.
        signal.signal(signal.SIGINT, lambda _number, _frame: leave_at_once())
    _let_go_of_output()
    return code


def leave_at_once(sentence: str | None = None) -> NoReturn:
    """Ends the process at once, as a second Ctrl-C does. Nothing is closed: acknowledged records are on disk."""
    show_cursor = "\r\033[K\033[?25h" if os.isatty(2) else ""
    line = "" if sentence is None else f"metajudge: {sentence}\n"
    with contextlib.suppress(OSError):
        os.write(2, (show_cursor + line).encode())
    os._exit(ExitCode.INTERRUPTED)


def _debug_wanted(words: Sequence[str]) -> bool:
    options = words[: words.index("--")] if "--" in words else words
    return DEBUG in options or os.environ.get("METAJUDGE_DEBUG", "") not in ("", "0")


def _call(words: Sequence[str]) -> int:
    from metajudge.cli.app import app

    end = words.index("--") if "--" in words else len(words)
    rest = [word for place, word in enumerate(words) if word != DEBUG or place > end]
    code = app(rest, standalone_mode=False)
    return int(code) if isinstance(code, int) else ExitCode.DONE


def _told(error: BaseException, debug: bool, words: Sequence[str]) -> int:
    """Prints the error in one line and returns the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if debug and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
        traceback.print_exception(error)
    if isinstance(error, typer.Abort):  # Ctrl-C, or the end of the input, at a question
        return ExitCode.USAGE if isinstance(error.__cause__, EOFError) else ExitCode.INTERRUPTED
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        sentence = removed.sentence(str(error), words)
        if sentence is None:  # a usage error prints itself
            error.show()
        _print(sentence)
        return int(error.exit_code)
    _print(_sentence(error))
    return exit_code_of(error)


def _print(sentence: str | None) -> None:
    if sentence is not None:
        with contextlib.suppress(OSError):
            print(f"metajudge: {sentence}", file=sys.stderr)  # noqa: T201 - the one place where errors become text


def _sentence(error: BaseException) -> str | None:
    """The message for the user; None if no message is needed."""
    if isinstance(error, KeyboardInterrupt | BrokenPipeError):
        return None
    if isinstance(error, MetajudgeError):
        return str(error)
    if isinstance(error, OSError):
        where = error.filename if error.filename is not None else "a file or standard output"
        return f"{_text(where)}: {error.strerror or error}.{_state()}"
    place = traceback.extract_tb(error.__traceback__)[-1:]
    at = f" ({Path(place[0].filename).name}:{place[0].lineno})" if place else ""
    what = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
    return f"unexpected error: {what}{at}.{_state()} {DEBUG} shows the trace; please report it."


def _text(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else f"file descriptor {name}"


def _state() -> str:
    if _kept_in and _kept_in[0].exists():
        return f" Finished work is kept in {_kept_in[0]}: run the same command again to resume."
    return ""


def _let_go_of_output() -> None:
    """Prevents an error at exit about output to a closed pipe or a full disk."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
