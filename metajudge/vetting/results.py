"""What takes the results of a run: a file of lines, counts by labels, a progress display."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from metajudge.evidence.counting import Counts, ending_of
from metajudge.evidence.units import note_of
from metajudge.runs.outputs import OrderedFile
from metajudge.types import Assessment, Right
from metajudge.vetting.bars import Bar, check_labelled

if TYPE_CHECKING:
    from metajudge.vetting.annotating import Block
    from metajudge.vetting.intake import Intake
    from metajudge.vetting.picture import Picture


Alike: TypeAlias = Sequence[tuple[Assessment, int]]
"""Results, and how many are like each."""


@dataclass(slots=True)
class Results:
    """Takes the results of a run.

    Args:
        file: gets a line each; None for none.
        given: what counts as right; None for the default of each kind of verdict.
        heard: called with the bytes of the input read so far and altogether (None where that is unknown), while the
            input is read.
        watcher: looks at every result, too, for a report; None for none.

    Attributes:
        labels: what became of the judgments, and how many are right by the labels of the input.
        told: grades on two scales, which are not compared, a sentence each.
    """

    file: OrderedFile | None = None
    given: Right | None = None
    bars: Sequence[Bar] = ()
    progress: Callable[[], None] = lambda: None
    heard: Callable[[tuple[int, int | None]], None] = lambda _done: None
    watcher: "Picture | None" = None
    labels: Counts = field(default_factory=Counts)
    told: list[str] = field(default_factory=list)

    def expect_blocks(self, intake: "Intake") -> "Callable[[Block, Alike], None]":
        """Finds what counts as right, and returns what takes the results.

        Raises:
            ConfigurationError: a bar needs labels, and there are none.
            InputError: the rule given applies to no verdict here.
        """
        from metajudge.evidence.counting import RowCounting, correctness

        facts, wanted = intake.facts, intake.wanted
        self.labels.rules, self.told = intake.rules(), intake.labels.scales.sentences()
        self.labels.note = note_of(facts.asked, intake.unit)
        correct = correctness(facts, self.labels.rules)
        check_labelled(self.bars, bool((correct[wanted] >= 0).any()))
        counting = RowCounting(facts, correct, self.labels)
        if self.watcher is not None:
            self.watcher.expect_blocks(intake, correct, counting.questions)

        def take(block: "Block", alike: Alike) -> None:
            if self.file is not None:
                lines = [one.model_dump_json().encode() + b"\n" for one in block.assessments]
                self.file.write_block(block.places, lines)
            counting.add(block.rows, [ending_of(one) for one in block.said.kinds], block.said.codes)
            if self.watcher is not None:
                self.watcher.add_block(block, alike)
            self.progress()

        return take

    def finish_blocks(self) -> None:
        """After the last block, while the input can still be read."""
        if self.watcher is not None:
            self.watcher.finish_blocks()
