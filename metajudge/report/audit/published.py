"""An audit as it is shown: with its files and next commands; texts are shortened, what looks like a secret hidden."""

import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metajudge.audit.card import AuditDocument, Disagreement, NextCommand
from metajudge.audit.gather import EXCERPT
from metajudge.files.command_line import command
from metajudge.files.secrets import without_secrets
from metajudge.files.tables import csv_writer
from metajudge.types import Item, Judgment
from metajudge.types.label import Chosen, chosen_cells


def published(
    found: AuditDocument,
    *,
    inputs: tuple[str, ...] = (),
    next_commands: tuple[NextCommand, ...] | None = None,
    notices: tuple[str, ...] = (),
) -> AuditDocument:
    """The document of an audit.

    Args:
        found: what the audit found.
        inputs: the files' names, for the reader.
        next_commands: the next steps with commands; without, the steps have none.
        notices: what reading the files gave to know, before the audit's own notices.
    """
    shown = {
        "inputs": inputs,
        "judges": tuple(one.model_copy(update={"worst": tuple(map(_shown, one.worst))}) for one in found.judges),
        "next": found.next if next_commands is None else next_commands,
        "notices": tuple(dict.fromkeys((*notices, *found.notices))),
    }
    return found.model_copy(update=shown)


def _shown(one: Disagreement) -> Disagreement:
    texts: dict[str, Any] = {
        name: _cut(without_secrets(getattr(one, name))) for name in ("question", "response", "rationale")
    }
    return one.model_copy(update=texts)


def _cut(text: str) -> str:
    """The text, with dots where it or the audit ended it early."""
    if len(text) < EXCERPT:
        return text
    return text[: EXCERPT - 3].rstrip() + "..."


CALIBRATION = "calibration.json"
FOLDER, JOINED = "audit", "judgments.jsonl"
"""Where judgments with the labels of another file are written: the folder of ``--out``, and the name in it."""
SHEET = "to-label.csv"
MOST_ITEMS = 200
SEED = 0


def to_label(judgments: Sequence[Judgment], most: int = MOST_ITEMS, seed: int = SEED) -> list[Item]:
    """Items without a label, drawn at random without replacement.

    A random sample is what corrected rates need: items chosen for how they look would bias them.

    Args:
        judgments: whose items are drawn from.
        most: how many at most.
        seed: of the draw.
    """
    items = {one.item.id: one.item for one in judgments if one.item.truth is None}
    ordered = [items[name] for name in sorted(items)]
    return random.Random(seed).sample(ordered, min(most, len(ordered)))


def sheet(items: Sequence[Item], chosen: Chosen | None = None) -> str:
    """The table as CSV: where an item has no label, ``label`` and ``annotator`` wait for a person.

    Args:
        items: in the order in which they are to be labelled.
        chosen: how they were chosen; None where that is not recorded.
    """
    names = list(dict.fromkeys(name for item in items for name in item.responses))
    single = all(len(item.responses) == 1 for item in items)
    titles = ["response_text"] if single else [f"text_of_{name}" for name in names]
    stream = io.StringIO(newline="")
    how = chosen_cells(chosen)
    write = csv_writer(stream, ["item_id", "label", "annotator", "question_text", *titles, *how])
    for item in items:
        texts = item.responses.values() if single else (item.responses.get(name) for name in names)
        known = {"item_id": item.id, "label": item.truth, "question_text": item.question}
        write({**known, **dict(zip(titles, texts, strict=True)), **how})
    return stream.getvalue()


@dataclass(frozen=True, slots=True)
class Given:
    """What the audit was called with.

    Attributes:
        inputs: files of judgments, as they were named.
        labels: the options that join people's labels, such as ``("--labels", "people.csv")``.
        right: the options that declare what is right.
        reading: the options that say how inputs are read.
        sheet: the file of items to label that was written; None if none was.
    """

    inputs: tuple[str, ...]
    labels: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    sheet: str | None = None


def next_commands(found: AuditDocument, given: Given) -> tuple[NextCommand, ...]:
    """Every next step with its command; empty where no command takes it with these files."""
    first = f"; fill in {Path(given.sheet).name} first" if given.sheet else ""
    reasons = [step.reason + (first if step.goal == "add labels" else "") for step in found.next]
    return tuple(
        step.model_copy(update={"reason": reason, "command": _command(step, found, given)})
        for step, reason in zip(found.next, reasons, strict=True)
    )


def _command(step: NextCommand, found: AuditDocument, given: Given) -> str:
    data = tuple(word for name in given.inputs for word in ("--data", name))
    labelled = (*data, *given.labels, *given.right, *given.reading)
    match step.goal:
        case "add labels":
            audit = ("audit", given.inputs, given.labels)
            if given.sheet is not None:
                return command(*audit, ("--labels", given.sheet), given.right, given.reading)
            unlabelled = found.holdings.labelled_items < found.holdings.items
            return command(*audit, given.right, given.reading, "--out", FOLDER) if unlabelled else ""
        case "calibrate":
            return command("calibrate", "fit", labelled, "--out", CALIBRATION)
        case "guarantee":
            stated = ("--target", "0.9", "--labels-drawn", "random")
            return command("calibrate", "threshold", "--calibration", CALIBRATION, labelled, stated)
        case "vet":
            return command("vet", given.inputs, "--strategy", "signals", given.reading)
        case "judge both orders":
            asked = ("--judge", "PROVIDER:MODEL", "--out", "both-orders.jsonl")
            return command("judge", given.inputs, given.reading, asked)
        case "drop a judge":
            kept = [name for name in found.holdings.judges if name != step.judge]
            chosen = tuple(word for name in kept for word in ("--judge", name))
            return command("vet", given.inputs, "--strategy", "signals", chosen, given.reading)


def flags(name: str, values: Sequence[str] | None) -> tuple[str, ...]:
    """An option once for each of its values."""
    return tuple(word for value in values or () for word in (name, value))
