"""The boundary of the command line: every error becomes one line of text and an exit code.

The traceback is shown with ``--debug`` before or after the command, or with ``METAJUDGE_DEBUG=1``.
"""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import typer

from metajudge.errors import MetajudgeError
from metajudge.runs.exit_codes import ExitCode, exit_code_of

DEBUG = "--debug"

_kept_in: list[Path] = []
"""The file of the store that the command uses, once it is known."""
_LAST: Final = "metajudge 0.2.0 (commit 059a1b5) has it"
_PROTOCOL: Final = (
    f"was part of a protocol for leaderboards; {_LAST}: `metajudge bench FILE` measures judges on labels of your own"
)

COMMANDS: Final[Mapping[str, str]] = {
    "local": "was removed: serve the model with Ollama, vLLM, LM Studio or llama-server, and name it as ollama:NAME, "
    "vllm:NAME, lmstudio:NAME or openai:NAME@http://localhost:PORT",
    "calibrate cascade": "was removed with the strategy cascade: use weighted_average or majority_vote, which with "
    "early_exit ask no further agent once the decision is certain",
    "calibrate weights": "was removed: write each agent's weight in the panel file, or let `metajudge calibrate fit "
    "--agent-scores FILE` find out what each agent's score is worth",
    "calibrate diagnose": "was removed: `metajudge audit FILE` says how many independent judges there are, and what "
    "each finding costs",
    "bench live": f"was an experiment kit; {_LAST}: `metajudge bench judgebench --grid FILE` measures your panels",
    **{f"bench {name}": _PROTOCOL for name in ("withhold", "score", "entries", "table")},
    "bench transfer": f"was a study; {_LAST}: `metajudge vet FILE --calibration shipped` applies what it found",
}
"""Command -> the sentence that names its substitute; a group stands for its commands."""

OPTIONS: Final[Mapping[str, str]] = {
    "vet --ray-address": "was removed: one process vets a million judgments, and several share a store on PostgreSQL",
    "vet --no-label-free": "was removed with the probability without labels that it left out: drop it",
    "peers --no-sweep": "was removed with the sweeps that it left out: drop it",
    "peers --sweep": "was removed: subsamples are not analysed any more",
    "calibrate threshold --this-file": "was removed: the promise is about new questions like the labelled ones",
    **{
        f"calibrate {command} --{option}": "was removed: one model serves all judges, and knows them by name; drop it"
        for command in ("fit",)
        for option in ("pooled", "per-judge")
    },
    "calibrate show --data": "was removed: `metajudge monitor --for drift` compares the signals of stored runs",
    "calibrate threshold --or-lower": "is what the command does now: drop it",
    "calibrate threshold --by": "was removed: make a promise with --judge NAME, a look each",
    "calibrate threshold --procedure": "was removed: --schedule anytime bets, all others are exact tests; drop it",
    "feedback draft --kind": "was removed: a draft is an instruction, tried on held-out records",
}
"""Command and option -> the sentence that names its substitute."""

_JSON_FILE: Final = "--json takes no file: print with --json, or write with --json-out FILE"


def sentence(problem: str, words: Sequence[str]) -> str | None:
    """The sentence for a usage error about something removed; None for any other.

    Args:
        problem: the message of the usage error.
        words: the arguments after ``metajudge``.
    """
    names = [word for word in words if not word.startswith("-")]
    paths = [" ".join(names[:length]) for length in (3, 2, 1)]
    if problem.startswith("No such command"):
        return next((f"`metajudge {path}` {COMMANDS[path]}" for path in paths if path in COMMANDS), None)
    if problem.startswith("No such option"):
        option = problem.removeprefix("No such option: ").split()[0]
        return next((f"{option} {OPTIONS[one]}" for path in paths if (one := f"{path} {option}") in OPTIONS), None)
    return _JSON_FILE if problem.startswith("Option '--json'") else None


def keeps_state_in(store: object) -> None:
    """Records where a command stores its results, for error messages."""
    if isinstance(store, Path):
        _kept_in[:] = [store]


def guarded(words: Sequence[str]) -> int:
    """Runs the command line and returns its exit code; no exception leaves it.

    Args:
        words: the arguments after ``metajudge``.
    """
    options = words[: words.index("--")] if "--" in words else words
    debug = DEBUG in options or os.environ.get("METAJUDGE_DEBUG", "") not in ("", "0")
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


def _call(words: Sequence[str]) -> int:
    from metajudge.cli.app import app

    end = words.index("--") if "--" in words else len(words)
    rest = [word for place, word in enumerate(words) if word != DEBUG or place > end]
    code = app(rest, standalone_mode=False)
    return int(code) if isinstance(code, int) else ExitCode.DONE


def _told(error: BaseException, debug: bool, words: Sequence[str]) -> int:
    """Prints the error in one line and returns the exit code."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        _print(str(error.code))
        return 1
    if debug and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
        traceback.print_exception(error)
    if isinstance(error, typer.Abort):  # Ctrl-C, or the end of the input, at a question
        return ExitCode.USAGE if isinstance(error.__cause__, EOFError) else ExitCode.INTERRUPTED
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        said = sentence(str(error), words)
        if said is None:  # a usage error prints itself
            error.show()
        _print(said)
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
        name = "a file or standard output" if error.filename is None else error.filename
        where = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else f"file descriptor {name}"
        return f"{where}: {error.strerror or error}.{_state()}"
    place = traceback.extract_tb(error.__traceback__)[-1:]
    at = f" ({Path(place[0].filename).name}:{place[0].lineno})" if place else ""
    what = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
    return f"unexpected error: {what}{at}.{_state()} {DEBUG} shows the trace; please report it."


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
