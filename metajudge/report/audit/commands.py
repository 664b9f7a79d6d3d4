"""The commands of an audit's next steps, with the user's own files, quoted for a shell."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metajudge.audit.card import AuditReport, NextStep
from metajudge.report.audit.published import NextCommand

CALIBRATION = "calibration.json"
FOLDER, JOINED = "audit", "judgments.jsonl"
"""Where judgments with the labels of another file are written: the folder of ``--out``, and the name in it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the audit was called with.

    Attributes:
        inputs: files of judgments, as they were named.
        labels: the options that join people's labels, such as ``("--labels", "people.csv")``.
        right: the options that declare what is right.
        reading: the options that say how inputs are read.
        sheet: the file of items to label that was written; None if none was.
        joined: the file of judgments with their labels that was written; None if none was.
    """

    inputs: tuple[str, ...]
    labels: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    sheet: str | None = None
    joined: str | None = None


def next_commands(found: AuditReport, given: Given) -> tuple[NextCommand, ...]:
    """Every next step with its command."""
    return tuple(NextCommand(**step.model_dump(), command=_command(step, found, given)) for step in found.next_steps)


def _command(step: NextStep, found: AuditReport, given: Given) -> str:
    match step.goal:
        case "add labels":
            further = ("--labels", given.sheet or "labels.csv") if given.sheet or not given.labels else ()
            return _quoted("audit", given.inputs, given.labels, further, given.right, given.reading)
        case "calibrate":
            return _on_labelled(given, ("fit",), given.right, ("--share", "0.5", "--out", CALIBRATION))
        case "guarantee":
            return _on_labelled(given, ("threshold", "--calibration", CALIBRATION), given.right, ("--target", "0.9"))
        case "vet":
            calibrated = any(one.goal == "calibrate" for one in found.next_steps)
            fitted = ("--calibration", CALIBRATION) if calibrated else ()
            return _quoted("vet", given.inputs, ("--strategy", "signals"), fitted, given.reading)
        case "judge both orders":
            return _quoted("judge", given.inputs, ("--judge", "PROVIDER:MODEL", "--out", "both-orders.jsonl"))
        case "drop a judge":
            kept = [name for name in found.holdings.judges if name != step.judge]
            chosen = tuple(word for name in kept for word in ("--judge", name))
            return _quoted("vet", given.inputs, ("--strategy", "signals"), chosen, given.reading)


def _on_labelled(given: Given, *words: Iterable[str]) -> str:
    """A `calibrate` command on the judgments with their labels, after the one that writes them if that was not done."""
    first, *rest = words
    if not given.labels:
        data = tuple(word for name in given.inputs for word in ("--data", name))
        return _quoted("calibrate", first, data, given.reading, *rest)
    joined = given.joined or f"{FOLDER}/{JOINED}"
    command = _quoted("calibrate", first, ("--data", joined), *rest)
    if given.joined or "threshold" in first:
        return command
    writes = _quoted("audit", given.inputs, given.labels, given.right, given.reading, ("--out", FOLDER))
    return f"{writes} && {command}"


def _quoted(command: str, *words: Iterable[str]) -> str:
    return shlex.join(["metajudge", command, *(word for group in words for word in group)])


def flags(name: str, values: Sequence[str] | None) -> tuple[str, ...]:
    """An option once for each of its values."""
    return tuple(word for value in values or () for word in (name, value))
