"""What takes the results of a run: a file of lines, counts by labels, a progress display."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from metajudge.evidence.counting import Counts, ending_of
from metajudge.evidence.units import Clusters
from metajudge.readers import JudgmentSource
from metajudge.readers.right_rules import RightRules, right_of
from metajudge.runs.outputs import OrderedFile
from metajudge.types import Assessment, Category, Grade, Judgment, Right
from metajudge.types.right import DEFAULTS
from metajudge.vetting.bars import Bar, check_labelled, check_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metajudge.bulk.reading import Intake
    from metajudge.bulk.run import Block
    from metajudge.decision import Policy


class Watcher(Protocol):
    """Looks at results as they come, such as for a report.

    Attributes:
        policy: that decides, set before the first result; None without one.
    """

    policy: "Policy | None"

    def add(
        self,
        judgment: Judgment,
        assessment: Assessment,
        right: bool | None,
        place: int | None = None,
        question: str | None = None,
    ) -> None:
        """Takes the result of one judgment.

        Args:
            right: None without a comparable label.
            place: in the input; None where results come in its order.
            question: name of its cluster, as hexadecimal digits; None where the item says it.
        """

    def expect_blocks(self, intake: "Intake", correct: "NDArray[np.int8]", questions: Sequence[int]) -> None:
        """Before blocks come: what was read, whether each verdict is right, and the questions of items as numbers."""

    def add_block(self, block: "Block") -> None:
        """Takes results of judgments that follow each other."""

    def finish_blocks(self) -> None:
        """After the last block, while the input can still be read."""


@dataclass(slots=True)
class Results:
    """Takes results one by one, or in blocks.

    Args:
        file: gets a line each; None for none.
        given: what counts as right; None for the default of each kind of verdict.
        heard: called with the bytes of the input read so far and altogether (None where that is unknown), while an
            input that is vetted in blocks is read.
        watcher: looks at every result, too; None for none.

    Attributes:
        labels: what became of the judgments, and how many are right by the labels of the input.
        told: grades on two scales, which are not compared, a sentence each.
    """

    file: OrderedFile | None = None
    given: Right | None = None
    bars: Sequence[Bar] = ()
    progress: Callable[[], None] = lambda: None
    heard: Callable[[tuple[int, int | None]], None] = lambda _done: None
    watcher: Watcher | None = None
    labels: Counts = field(default_factory=Counts)
    told: list[str] = field(default_factory=list)

    def expect(self, judgments: "JudgmentSource | Sequence[Judgment]") -> None:
        """Finds what counts as right before results come one by one.

        Raises:
            ConfigurationError: a bar needs labels, and there are none.
            InputError: the rule given applies to no verdict here.
        """
        everything = judgments.all if isinstance(judgments, JudgmentSource) else judgments.__iter__
        first = next((one.verdict for one in everything() if one.verdict is not None), None)
        if self.given is None and not isinstance(first, Grade | Category):
            self.labels.rules = DEFAULTS
        else:  # only grades and categories need a look at the whole input
            rules = RightRules(self.given)
            for judgment in everything():
                rules.add(judgment)
            self.labels.rules, self.told = rules.rules(), rules.scales.sentences()
        check_labels(self.bars, judgments, self.labels.rules)
        given = judgments.unit if isinstance(judgments, JudgmentSource) else None
        self.labels.clusters = Clusters(everything(), given)
        self.labels.note = self.labels.clusters.note

    def add(self, index: int, judgment: Judgment, assessment: Assessment) -> None:
        """Takes the result of one judgment."""
        self.labels.add(judgment, assessment)
        if self.file is not None:
            self.file.write(index, assessment.model_dump_json().encode() + b"\n")
        if self.watcher is not None:
            right = right_of(judgment, self.labels.rules)
            self.watcher.add(judgment, assessment, right, index, self.labels.clusters.name(judgment.item))
        self.progress()

    def expect_blocks(self, intake: "Intake") -> "Callable[[Block], None]":
        """Finds what counts as right, and returns what takes the results in blocks; errors as :meth:`expect`."""
        from metajudge.bulk.correctness import RowCounting, correctness

        facts, wanted = intake.facts, intake.wanted
        self.labels.rules, self.told = intake.rules(), intake.labels.scales.sentences()
        self.labels.note = intake.unit_note
        correct = correctness(facts, self.labels.rules)
        check_labelled(self.bars, bool((correct[wanted] >= 0).any()))
        counting = RowCounting(facts, correct, self.labels)
        if self.watcher is not None:
            self.watcher.expect_blocks(intake, correct, counting.questions)

        def take(block: "Block") -> None:
            if self.file is not None:
                self.file.write_block(block.first, block.lines)
            counting.add(block.rows, [ending_of(one) for one in block.endings.finals], block.codes)
            if self.watcher is not None:
                self.watcher.add_block(block)
            self.progress()

        return take

    def finish_blocks(self) -> None:
        """After the last block, while the input can still be read."""
        if self.watcher is not None:
            self.watcher.finish_blocks()
