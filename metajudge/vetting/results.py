"""What takes the results of a run: a file of lines, counts by labels, a progress display."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from metajudge.bulk.correctness import UNKNOWN, correctness
from metajudge.bulk.reading import Intake
from metajudge.bulk.run import Block
from metajudge.readers import JudgmentSource
from metajudge.readers.right_rules import rules_of
from metajudge.runs.outputs import OrderedFile
from metajudge.types import Assessment, Category, Grade, Judgment, Right
from metajudge.types.right import DEFAULTS
from metajudge.vetting.bars import Bar, check_labelled, check_labels
from metajudge.vetting.label_count import LabelCount


@dataclass(slots=True)
class Results:
    """Takes results one by one, or in blocks.

    Args:
        file: gets a line each; None for none.
        given: what counts as right; None for the default of each kind of verdict.
        bars: what the run has to reach.
        progress: called when there is more to show.
        heard: called with the bytes of the input read so far and altogether (None where that is unknown), while an
            input that is vetted in blocks is read.

    Attributes:
        labels: how the labels of the input bear out what was kept.
    """

    file: OrderedFile | None = None
    given: Right | None = None
    bars: Sequence[Bar] = ()
    progress: Callable[[], None] = lambda: None
    heard: Callable[[tuple[int, int | None]], None] = lambda _done: None
    labels: LabelCount = field(default_factory=LabelCount)

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
            self.labels.rules = rules_of(everything(), self.given)
        check_labels(self.bars, judgments, self.labels.rules)

    def add(self, index: int, judgment: Judgment, assessment: Assessment) -> None:
        """Takes the result of one judgment."""
        self.labels.add(judgment, assessment)
        if self.file is not None:
            self.file.write(index, assessment.model_dump_json().encode() + b"\n")
        self.progress()

    def expect_blocks(self, intake: Intake) -> "Callable[[Block], None]":
        """Finds what counts as right, and returns what takes the results in blocks; errors as :meth:`expect`."""
        facts, wanted = intake.facts, intake.wanted
        self.labels.rules = intake.rules()
        correct = correctness(facts, self.labels.rules)
        check_labelled(self.bars, bool((correct[wanted] != UNKNOWN).any()))
        labelled = bool((correct != UNKNOWN).any())
        questions = [int(item.question[:16], 16) for item in facts.items] if labelled else []

        def take(block: Block) -> None:
            if self.file is not None:
                self.file.write_block(block.first, block.lines)
            finals = block.endings.finals
            for at in np.flatnonzero(correct[block.rows] != UNKNOWN).tolist():
                row, final = int(block.rows[at]), finals[block.codes[at]]
                covered = final.guarantee is not None
                name, question = facts.judgment_ids[row], questions[facts.item[row]]
                self.labels.count_key(name, question, final.accepted, bool(correct[row]), guaranteed=covered)
            self.progress()

        return take
