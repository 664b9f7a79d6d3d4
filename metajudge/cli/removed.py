"""What was removed from the command line, each with one sentence that names what takes its place."""

from collections.abc import Mapping, Sequence
from typing import Final

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
    "calibrate plan": "was removed: `metajudge calibrate threshold` says after an abstention how many more labels help",
    "bench live": f"was an experiment kit; {_LAST}: `metajudge bench judgebench --grid FILE` measures your panels",
    "bench withhold": _PROTOCOL,
    "bench score": _PROTOCOL,
    "bench entries": _PROTOCOL,
    "bench table": _PROTOCOL,
    "bench transfer": f"was a study; {_LAST}: `metajudge vet FILE --calibration shipped` applies what it found",
}
"""Command -> the sentence that names its substitute; a group stands for its commands."""

OPTIONS: Final[Mapping[str, str]] = {
    "vet --no-label-free": "was removed with the probability without labels that it left out: drop it",
    "peers --no-sweep": "was removed with the sweeps that it left out: drop it",
    "peers --sweep": "was removed: subsamples are not analysed any more",
    "calibrate threshold --this-file": "was removed: the promise is about new questions like the labelled ones",
    **{
        f"calibrate {command} --{option}": "was removed: one model serves all judges, and knows them by name; drop it"
        for command in ("fit", "diagnose")
        for option in ("pooled", "per-judge")
    },
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
