"""Labels withheld by digest: judgments to publish, a commitment for the label of each item, and the labels to keep.

A commitment is ``sha256(salt + canonical JSON of the label)`` with a random salt of 16 bytes for each item, without
which a label of few possible values could be guessed. Published first, it shows later that the labels were not changed.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from metajudge import __version__
from metajudge.errors import InputError
from metajudge.files.output import write_text
from metajudge.types import Item, Judgment, Label
from metajudge.types.digests import json_bytes
from metajudge.types.frozen import Finite, Frozen
from metajudge.types.verdict import Verdict

from ..live.folder import file_digest
from ..live.records import lines_of, read_lines, read_record

JUDGMENTS, COMMITMENTS, CARD = "judgments.jsonl", "commitments.jsonl", "protocol.json"

KEPT_META = ("judge_model", "judge_prompt", "pointwise", "phase", "sample", "confidence")
"""Entries of ``meta`` that evidence reads; all others are left out, since they may say what is right."""


class WithheldLabel(Frozen):
    """The label of one item, and the salt of its commitment."""

    item: str
    label: Verdict | None = None
    labels: tuple[Label, ...] = ()
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]

    @property
    def commitment(self) -> str:
        """64 hex digits of SHA-256."""
        plain = self.model_dump(mode="json", include={"label", "labels"})
        return hashlib.sha256(bytes.fromhex(self.salt) + json_bytes(plain, sort_keys=True)).hexdigest()


class Commitment(Frozen):
    """What is published of an item's label."""

    item: str
    commitment: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class WithheldCard(Finite):
    """What a folder of judgments with withheld labels is."""

    version: Literal[1] = 1
    judgments: int
    items: int
    labelled: int
    commitment: str = "sha256(salt bytes + canonical JSON of {label, labels}: keys sorted, no white space)"
    files: dict[str, str]
    metajudge: str = __version__


def withhold(judgments: Iterable[Judgment], folder: Path, labels: Path) -> WithheldCard:
    """Writes the folder to publish and the file of labels to keep, which only its owner can read.

    Args:
        judgments: with labels.
        folder: to publish; made if missing, must be empty.
        labels: to keep, outside of the folder; must not exist.

    Raises:
        InputError: nothing is labelled, labels that contradict each other, or a place that is taken.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already: choose an empty folder for what is published")
    if labels.exists():
        raise InputError(f"{labels} is there already: salts are made only once, choose another file for the labels")
    if folder.resolve() in labels.resolve().parents:
        raise InputError(f"{labels} lies in {folder}, which is published: choose a place outside of it")
    every = list(judgments)
    kept = _labels_of(every)
    if not kept:
        raise InputError("no item has a label: there is nothing to withhold")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(labels, "")
    os.chmod(labels, 0o600)
    write_text(labels, lines_of(kept.values()))
    os.chmod(labels, 0o600)
    write_text(folder / JUDGMENTS, (without_label(one).model_dump_json() + "\n" for one in every))
    commitments = [Commitment(item=name, commitment=one.commitment) for name, one in kept.items()]
    write_text(folder / COMMITMENTS, lines_of(commitments))
    card = WithheldCard(
        judgments=len(every),
        items=len({one.item.id for one in every}),
        labelled=len(kept),
        files={name: file_digest(folder / name) for name in (JUDGMENTS, COMMITMENTS)},
    )
    write_text(folder / CARD, card.model_dump_json(indent=1) + "\n")
    return card


def _labels_of(judgments: Iterable[Judgment]) -> dict[str, WithheldLabel]:
    found: dict[str, WithheldLabel] = {}
    for one in judgments:
        item = one.item
        if item.label is None and not item.labels:
            continue
        there = found.get(item.id)
        if there is None:
            salt = secrets.token_hex(16)
            found[item.id] = WithheldLabel(item=item.id, label=item.label, labels=item.labels, salt=salt)
        elif (there.label, there.labels) != (item.label, item.labels):
            raise InputError(f"item {item.id!r} has two different labels: one item needs one")
    return found


def without_label(judgment: Judgment) -> Judgment:
    """The judgment as a vetter may see it: no label, and nothing of ``meta`` but what evidence reads."""
    item = judgment.item.model_copy(update={"label": None, "labels": ()})
    meta = {name: value for name, value in judgment.meta.items() if name in KEPT_META}
    return judgment.model_copy(update={"item": item, "meta": meta})


def is_withheld(path: Path) -> bool:
    """Whether a path is a folder of judgments with withheld labels."""
    return path.is_dir() and (path / CARD).is_file() and (path / COMMITMENTS).is_file()


def check_folder(folder: Path) -> dict[str, str]:
    """Item -> commitment, after checking that the folder is as its card says.

    Raises:
        InputError: a file that was changed.
    """
    card = read_record(folder / CARD, WithheldCard)
    for name, value in card.files.items():
        if name not in (JUDGMENTS, COMMITMENTS) or not (folder / name).is_file():
            raise InputError(f"{folder}: {name} is missing")
        if file_digest(folder / name) != value:
            raise InputError(
                f"{folder / name} is not the file that {CARD} names: it was changed after it was published"
            )
    return {one.item: one.commitment for one in read_lines(folder / COMMITMENTS, Commitment)}


def revealed(path: Path, commitments: Mapping[str, str]) -> Callable[[Judgment], Judgment]:
    """Gives judgments the labels of a file, after checking each against its commitment.

    Raises:
        InputError: a label that is not the one committed to, is missing, or belongs to no item.
    """
    labels: dict[str, WithheldLabel] = {}
    for one in read_lines(path, WithheldLabel):
        if one.item in labels:
            raise InputError(f"{path}: item {one.item!r} has two labels")
        labels[one.item] = one
    unknown = sorted(labels.keys() - commitments.keys())
    missing = sorted(commitments.keys() - labels.keys())
    changed = sorted(name for name, one in labels.items() if commitments.get(name) not in (None, one.commitment))
    for names, what in (
        (changed, "not those committed to"),
        (missing, "missing"),
        (unknown, "of no item committed to"),
    ):
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            raise InputError(f"{path}: {len(names)} labels are {what}: {shown}")

    def labelled(judgment: Judgment) -> Judgment:
        found = labels.get(judgment.item.id)
        if found is None:
            return judgment
        item: Item = judgment.item.model_copy(update={"label": found.label, "labels": found.labels})
        return judgment.model_copy(update={"item": item})

    return labelled
