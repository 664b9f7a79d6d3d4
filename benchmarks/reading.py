"""One pass over a benchmark's records, or over files of one's own."""

from metajudge.readers import JudgmentSource, Reject
from metajudge.readers.right_rules import RightRules
from metajudge.types import Judgment, Right

from .own_judges import WithOwnJudges
from .peer_agreement import PeerAgreement
from .population import Census, Population
from .records import Records


class Read:
    """What a run needs to know of all records.

    Args:
        right: what counts as right; None for the default of each kind of verdict.
        population: which judgments the census counts as members.
        sampled: whether the census is to draw a sample of items.

    Attributes:
        reject: the first record that could not be read.
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
        self.records.add(record)
        self.rules.add(record)
        self.peers.add(record)
        self.census.add(record, member=self._member(record), drawn_from=self._sampled)
