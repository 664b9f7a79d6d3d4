"""The judgments that entries score: those of a labelled file, or of a folder whose labels are withheld."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metajudge.errors import ConfigurationError, InputError
from metajudge.readers import JudgmentSource, open_judgments
from metajudge.types import Right

from ..bench import Bench, Request
from ..observations import Observation, Observations
from ..own_files import NAME as FILE
from .withholding import JUDGMENTS, check_folder, is_withheld, revealed


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be scored, and by what it is measured.

    Attributes:
        asked: ids of the judgments that an entry must score: with a verdict, on items with a label or a commitment.
        known: ids of all judgments.
        observations: the judgments that are right or wrong by their label; None while labels are withheld.
        left_out: reason -> judgments asked for that are neither right nor wrong, and so not measured.
        bench: the records, where labels are known.
    """

    asked: frozenset[str]
    known: frozenset[str]
    observations: Observations | None = None
    left_out: dict[str, int] | None = None
    bench: Bench | None = None

    @property
    def rows(self) -> Sequence[Observation]:
        """The judgments measured.

        Raises:
            InputError: labels are withheld.
        """
        if self.observations is None:
            raise InputError("the labels of these items are withheld: --labels FILE reveals them")
        return self.observations.rows


def open_asked(items: Path, labels: Path | None = None, *, rule: Right | None = None) -> Asked:
    """Reads the judgments, and checks labels that were withheld.

    Args:
        items: any labelled file or folder that ``vet`` reads, or a folder of ``bench withhold``.
        labels: the file that ``bench withhold`` kept.
        rule: what counts as right.

    Raises:
        InputError: nothing readable, or labels that are not those committed to.
        ConfigurationError: labels for a file that has its own.
    """
    if not is_withheld(items):
        if labels is not None:
            raise ConfigurationError(f"{items} is no folder of `bench withhold`: its labels are in the file itself")
        return _measured(open_judgments([items]), rule)
    commitments = check_folder(items)
    source = open_judgments([items / JUDGMENTS])
    if labels is None:
        known, asked = set[str](), set[str]()
        for one in source.all():
            known.add(one.id)
            if one.verdict is not None and one.item.id in commitments:
                asked.add(one.id)
        return Asked(frozenset(asked), frozenset(known))
    source.label(revealed(labels, commitments))
    return _measured(source, rule)


def _measured(source: JudgmentSource, rule: Right | None) -> Asked:
    bench = Bench(Request(benchmark=FILE, rule=rule), source)
    known, asked = set[str](), set[str]()
    for one in source.all():
        known.add(one.id)
        if one.verdict is not None and one.item.truth is not None:
            asked.add(one.id)
    left_out: dict[str, int] = {}
    for counts in bench.observations.undecided.values():
        for why, count in counts.items():
            left_out[why] = left_out.get(why, 0) + count
    return Asked(frozenset(asked), frozenset(known), bench.observations, left_out, bench)
