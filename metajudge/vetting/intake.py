"""One pass over an input: each line is read, checked and digested once, and its facts are kept.

Plain files of metajudge JSONL are read as lines. Whatever else there is (other formats, compressed files, joined
labels, people's scores, ids with a prefix, ``strict``, records that contradict each other) is read as a
:class:`~metajudge.reading.source.JudgmentSource` gives it, with the same result and more passes.
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from metajudge.concurrency import off_the_loop
from metajudge.evidence.grouping import Key
from metajudge.evidence.verdicts import NO_VERDICT, Verdicts, VerdictsBuilder
from metajudge.reading import JudgmentSource
from metajudge.reading.containers.lines import RawLine, Reject
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.right_rules import RightRules
from metajudge.reviews.opening import Reviewed
from metajudge.store.rows import item_row
from metajudge.store.sql import Row
from metajudge.types import VERDICT_KINDS, Judgment, Right, VerdictKind, is_right, kind_of
from metajudge.types.digests import raw_digest
from metajudge.types.right import DEFAULTS
from metajudge.vetting.texts import DIGEST, GivenTexts, LineTexts, Parser, SourceTexts, Texts, judgment_payload

READ_AT_ONCE: Final = 4_096
"""Lines or judgments in a block."""
STEP: Final = 256
"""Lines of a block that are read, then digested, then kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Intake:
    """What one pass over an input gave: n judgments in its order, repeated ones left out.

    Attributes:
        digests, vetting_digests: of the records and of what vetting depends on, :data:`DIGEST` bytes each.
        wanted: [m] rows that are to be vetted, ascending.
        labels: what default rules depend on.
        unit: of dependence, where it was asked for.
        characters: of rationales, where judgments are at hand.
    """

    facts: Verdicts
    digests: bytes
    vetting_digests: bytes
    wanted: NDArray[np.int64]
    texts: Texts
    labels: RightRules
    unit: str | None = None
    characters: int = 0

    @classmethod
    async def around(cls, judgments: Sequence[Judgment]) -> "Intake":
        """A table of judgments at hand, of which the first one is to be vetted; of it alone there are digests.

        Raises:
            InputError: two of them have different contents of one item.
        """
        characters = sum(len(one.rationale) for one in judgments)

        def taken() -> "Intake":
            builder = VerdictsBuilder()
            builder.add_all(judgments)
            facts, digests = builder.facts(), judgments[0].raw_digests()
            facts.refuse_conflicts()
            first, texts = np.zeros(1, dtype=np.int64), GivenTexts(judgments)
            return cls(facts, *digests, first, texts, RightRules(None), None, characters)

        return await off_the_loop(taken, characters)

    def rules(self) -> Mapping[VerdictKind, Right]:
        """What counts as right, for each kind of verdict.

        Raises:
            InputError: the rule given applies to none of the kinds.
        """
        labels, kinds = self.labels, self.facts.kind
        # The rule of verdicts on a single response depends on all of them.
        graded = any(VERDICT_KINDS[first] in ("grade", "category") for first in kinds[kinds >= 0][:1].tolist())
        needed = labels.given is not None or graded or labels.scales.unlike_people()
        return labels.rules() if needed else DEFAULTS

    def digest_column(self, rows: NDArray[np.int64]) -> list[str]:
        """[m] digests of the judgments' records."""
        return _hex(self.digests, rows)

    def vetting_digest_column(self, rows: NDArray[np.int64]) -> list[str]:
        """[m] digests of what vetting the judgments depends on."""
        return _hex(self.vetting_digests, rows)

    def text_rows(
        self, rows: NDArray[np.int64], no_item: Collection[str], no_judgment: Collection[str]
    ) -> tuple[list[Row], list[Row]]:
        """Rows of a store with the texts of items and judgments whose digests it does not have.

        Args:
            no_item, no_judgment: digests of what the store lacks.
        """
        facts, items, judgments = self.facts, dict[str, Row](), list[Row]()
        places = zip(rows.tolist(), facts.item[rows].tolist(), facts.judge[rows].tolist(), strict=True)
        for (row, place, judge), digest in zip(places, self.digest_column(rows), strict=True):
            item = facts.items[place]
            if item.digest in no_item and item.digest not in items:
                items[item.digest] = item_row(self.texts.judgment(row))
            if digest in no_judgment:
                names = (digest, facts.judgment_ids[row], item.digest, item.id, facts.judges[judge])
                judgments.append((*names, judgment_payload(self.texts.judgment(row)), False))
        return list(items.values()), judgments

    def reviewed(self, row: int, digest: str) -> Reviewed:
        """What a review says of a judgment whose record has this digest."""
        facts = self.facts
        item, category = facts.items[facts.item[row]], int(facts.category[row])
        verdict, truth = facts.verdict_of(int(facts.verdict[row])), int(facts.truth[row])
        label = None if truth < 0 else facts.truths[truth]
        return Reviewed(
            subject_id=facts.judgment_ids[row],
            subject_digest=digest,
            item_id=item.id,
            judge=facts.judges[facts.judge[row]],
            category=None if category < 0 else facts.categories[category],
            verdict=verdict,
            answer_scale=item.scale,
            truth=None if verdict is None or label is None else is_right(verdict, label, DEFAULTS[kind_of(verdict)]),
            question=item.digest,
        )


class Reading:
    """Reads an input once, a block at a time: iterate :meth:`blocks` to its end, then take :meth:`intake`.

    Args:
        right: the rule given, None for the default of each kind.
        compared: whether verdicts are evidence on each other: signals of texts are read then, and judgments at hand
            with different contents of one item are refused.
    """

    def __init__(
        self, source: JudgmentSource | Sequence[Judgment], right: Right | None = None, *, compared: bool = True
    ) -> None:
        self._source = source
        self._right = right
        self._compared = compared
        self._kept = self._new()
        self._texts: Texts | None = None
        self._lines: LineTexts | None = None

    async def blocks(self) -> AsyncIterator[tuple[int, int | None]]:
        """Reads on; gives bytes read so far, and bytes altogether, after every block.

        Raises:
            InputError, BadLineError: as :meth:`JudgmentSource.scan`.
        """
        source = self._source
        readers = source.line_readers if isinstance(source, JudgmentSource) else None
        if isinstance(source, JudgmentSource) and readers is not None:
            lines = self._lines = LineTexts(readers)
            async for done in self._read_lines(readers, lines):
                yield done
            if self._settled(source, lines):
                self._texts = lines
                return
            self._kept = self._new()
        if isinstance(source, JudgmentSource):
            for taken in source.collecting(self._started, READ_AT_ONCE):
                yield len(taken.builder), None
        else:
            self._texts, rest, count = GivenTexts(source), iter(source), 0
            while some := list(islice(rest, STEP)):
                self._kept.add_all(some)
                count += len(some)
                if not count % READ_AT_ONCE:
                    yield count, None
            if self._compared:
                self._kept.builder.facts().refuse_conflicts()

    def _new(self) -> "_Kept":
        return _Kept(RightRules(self._right), VerdictsBuilder(texts=self._compared))

    def _started(self) -> "_Kept":
        """Begins anew with the records of a source; what was read of it before is dropped."""
        assert isinstance(self._source, JudgmentSource)
        self._kept, self._texts = self._new(), SourceTexts(self._source)
        return self._kept

    def intake(self) -> Intake:
        """What was read.

        Raises:
            InputError: no judgment is by any of the judges asked for.
        """
        assert self._texts is not None, "the blocks are read first"
        kept = self._kept
        facts = kept.builder.facts()
        kept.note_labels(facts)
        digests, vetting = bytes(kept.digests), bytes(kept.vetting_digests)
        if kept.repeated:
            rows = np.setdiff1d(np.arange(len(facts)), kept.repeated)
            facts = facts.select(rows)
            digests, vetting = _taken(digests, rows), _taken(vetting, rows)
        unit = self._source.unit if isinstance(self._source, JudgmentSource) else None
        return Intake(facts, digests, vetting, self._wanted(facts), self._texts, kept.labels, unit)

    def close(self) -> None:
        """Closes the file that is open."""
        if self._lines is not None:
            self._lines.close()

    def _wanted(self, facts: Verdicts) -> NDArray[np.int64]:
        source = self._source
        if not isinstance(source, JudgmentSource):
            return np.arange(len(facts))
        rows = np.arange(len(facts))
        if source.judges is not None:
            asked = np.array([name in source.judges for name in facts.judges], dtype=bool)
            rows = rows[asked[facts.judge]] if len(facts) else rows
            if not len(rows) and len(facts):
                source.refuse_judges(set(facts.judges))
        return rows if source.limit is None else rows[: source.limit]

    async def _read_lines(
        self, readers: Sequence[JudgmentLines], texts: LineTexts
    ) -> AsyncIterator[tuple[int, int | None]]:
        total, before = sum(reader.source.path.stat().st_size for reader in readers), 0
        for number, reader in enumerate(readers):
            parse, lines = reader.parser(), reader.raw_lines()
            while block := list(islice(lines, READ_AT_ONCE)):
                at = self._read_block(block, parse, texts, number)
                yield before + at, total
            before += reader.source.path.stat().st_size

    def _read_block(self, block: Sequence[RawLine | Reject], parse: Parser, texts: LineTexts, reader: int) -> int:
        """Takes a block of lines; returns where its last one begins."""
        kept = self._kept
        lines = [line for line in block if isinstance(line, RawLine)]
        rejects = [line for line in block if isinstance(line, Reject)]
        for start in range(0, len(lines), STEP):
            some = lines[start : start + STEP]
            read = [(line, parse(line)) for line in some]
            rejects += [found for _, found in read if isinstance(found, Reject)]
            judgments = [(line, found) for line, found in read if isinstance(found, Judgment)]
            kept.add_all([found for _, found in judgments])
            for line, _ in judgments:
                texts.add(reader, line.offset, raw_digest(line.raw))
        kept.rejects += sorted(rejects, key=lambda reject: reject.line)
        return lines[-1].offset if lines else 0

    def _settled(self, source: JudgmentSource, texts: LineTexts) -> bool:
        """Leaves repeated judgments out; False where records contradict each other, which takes another way."""
        kept = self._kept
        facts = kept.builder.facts()
        if facts.conflicts() or not kept.leave_repeated_out(facts.judgment_ids):
            return False
        texts.leave_out(kept.repeated)
        counts = np.bincount(facts.judge, minlength=len(facts.judges))
        counts -= np.bincount(facts.judge[kept.repeated], minlength=len(facts.judges))
        judges = dict(zip(facts.judges, counts.tolist(), strict=True))
        source.was_read(judges, kept.rejects, len(kept.repeated))
        return True


@dataclass(slots=True)
class _Kept:
    """What is kept of the judgments read so far.

    Attributes:
        repeated: rows of judgments that came before, ascending.
        several_labels: rows of judgments whose item has labels of people, which are not all among the facts.
    """

    labels: RightRules
    builder: VerdictsBuilder = field(default_factory=VerdictsBuilder)
    digests: bytearray = field(default_factory=bytearray)
    vetting_digests: bytearray = field(default_factory=bytearray)
    rejects: list[Reject] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    several_labels: set[int] = field(default_factory=set)

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records of a source, which counts those that cannot be read."""
        self.add_all([record for record in block if isinstance(record, Judgment)])

    def add_all(self, judgments: Sequence[Judgment]) -> None:
        """Takes some judgments: one step for all of them after the other, which costs less."""
        for row, judgment in enumerate(judgments, start=len(self.builder)):
            if judgment.item.labels:
                self.several_labels.add(row)
                self.labels.add(judgment)
        for judgment in judgments:
            whole, vetted = judgment.raw_digests()
            self.digests += whole
            self.vetting_digests += vetted
            _ = judgment.item.digest  # is kept there; made now, as the item's JSON is at hand
        self.builder.add_all(judgments)

    def note_labels(self, facts: Verdicts) -> None:
        """Notes verdicts and labels for the default rules; those of items with labels of people are noted already."""
        labelled = facts.truth.copy()
        labelled[list(self.several_labels)] = NO_VERDICT
        key = Key.of(facts.verdict + 1, len(facts.verdicts) + 1).then(labelled + 1, len(facts.truths) + 1)
        for row in sorted(key.distinct()[1].tolist()):
            verdict, truth = facts.verdict_of(int(facts.verdict[row])), int(labelled[row])
            if verdict is not None:
                self.labels.note(verdict, () if truth < 0 else (facts.truths[truth],))
        self.labels.scales = facts.rules().scales

    def leave_repeated_out(self, names: Sequence[str]) -> bool:
        """Finds repeated judgments; False where one id has several records."""
        if len(set(names)) == len(names):
            return True
        several = {name for name, count in Counter(names).items() if count > 1}
        first: dict[str, bytes] = {}
        for row, name in enumerate(names):
            if name not in several:
                continue
            content = bytes(self.digests[row * DIGEST : (row + 1) * DIGEST])
            if name not in first:
                first[name] = content
            elif first[name] == content:
                self.repeated.append(row)
            else:
                return False
        return True


def _taken(digests: bytes, rows: NDArray[np.int64]) -> bytes:
    """The digests of chosen rows."""
    return np.frombuffer(digests, dtype=f"V{DIGEST}")[rows].tobytes()


def _hex(digests: bytes, rows: NDArray[np.int64]) -> list[str]:
    """The digests of chosen rows as hexadecimal characters."""
    text = _taken(digests, rows).hex()
    return [text[at : at + 2 * DIGEST] for at in range(0, len(text), 2 * DIGEST)]
