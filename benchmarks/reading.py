"""One pass over a benchmark's records, or over files of one's own."""

from collections.abc import Sequence

from metajudge.readers import JudgmentSource, Reject
from metajudge.readers.right_rules import RightRules
from metajudge.types import Judgment, Right

from .observations import PeerAgreement
from .own_judges import WithOwnJudges
from .population import Census, Population
from .records import Records


class Read:
    """What a run needs to know of all records.

    Args:
        right: what counts as right; None for the default of each kind of verdict.
        population: which judgments the census counts as members.
    """

    def __init__(self, right: Right | None, population: Population, *, sampled: bool) -> None:
        self.records, self.rules, self.peers, self.census = Records(right), RightRules(right), PeerAgreement(), Census()
        self.reject: Reject | None = None
        self._member, self._sampled = population.members(), sampled

    @classmethod
    def of(
        cls, source: JudgmentSource | WithOwnJudges, right: Right | None, population: Population, *, sampled: bool
    ) -> "Read":
        """Reads a source."""
        if isinstance(source, JudgmentSource):
            return source.collect(lambda: cls(right, population, sampled=sampled))
        found = cls(right, population, sampled=sampled)
        for record in source.scan():
            found.add(record)
        return found

    def add(self, record: Judgment | Reject) -> None:
        """Takes one record."""
        if isinstance(record, Reject):
            self.reject = self.reject or record
            return
        self._take([record])

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        judgments = [record for record in block if isinstance(record, Judgment)]
        if self.reject is None and len(judgments) < len(block):
            self.reject = next(record for record in block if isinstance(record, Reject))
        self._take(judgments)

    def _take(self, judgments: Sequence[Judgment]) -> None:
        self.records.add_all(judgments)
        for judgment in judgments:
            self.rules.add(judgment)
            self.peers.add(judgment)
            self.census.add(judgment, member=self._member(judgment), drawn_from=self._sampled)
