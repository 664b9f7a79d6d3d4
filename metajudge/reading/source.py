"""One stream of judgments over all inputs: bad lines counted, repeated ones skipped, contradictions refused."""

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.errors import BadLineError, InputError, MetajudgeError
from metajudge.evidence.units import stated
from metajudge.files.addresses import near, transfer
from metajudge.files.replacing import replacing
from metajudge.reading.containers.lines import Reject
from metajudge.reading.conversations import thinks
from metajudge.reading.detect import readers_of
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.mapping import FieldMap
from metajudge.reading.passes import BLOCK, C, ItemContents, PassCounts, Screen, SeenIds, find_contents, settled
from metajudge.reading.people import NAMED, ByPeople, PeopleCount, PeopleIndex, PeopleOnlyError, ScoredByPeople
from metajudge.reading.reader import FoundJudgment, Reader, prefixed, set_apart, without_secrets
from metajudge.reading.seen import WIDTH, cut, example_of, lines_of, plural
from metajudge.types import Judgment

if TYPE_CHECKING:
    from metajudge.evidence.verdicts import Verdicts

_THINKING = (
    "judgments with a model's reasoning beside an answer or a verdict: {}; it is kept in metadata.ID.reasoning and "
    "meta.reasoning, and is neither judged nor exported"
)


class JudgmentSource:
    """Judgments from files and folders, read anew from disk at every iteration, one at a time.

    Iterating the source gives the judgments asked for (``judges``, ``limit``); :meth:`all` gives every judgment,
    for evidence that must not depend on the filter (peers' verdicts, the other order). The counts are of all of
    the input once one pass has run to its end, and for what was read so far before that. Files must not change
    in between. Where records contradict each other about an item, those that most of them contradict are rejects
    (:mod:`metajudge.reading.passes`).

    Attributes:
        formats: the path as given -> the name of the format it was read as.
        strict: whether the first reject raises.
        judges: those asked for; None for all.
        limit: how many judgments are given at most, after the selection by judge.
        unit: of dependence, where it was asked for (:meth:`count_by`).
    """

    def __init__(
        self,
        inputs: Mapping[str, Sequence[Reader]],
        *,
        strict: bool = False,
        judges: Collection[str] | None = None,
        limit: int | None = None,
        prefix_ids: bool = False,
    ) -> None:
        self.formats = {name: " and ".join(dict.fromkeys(r.format for r in rs)) for name, rs in inputs.items()}
        self.strict = strict
        self._readers = [reader for given in inputs.values() for reader in given]
        self._prefix_ids = prefix_ids
        self.judges = None if judges is None else frozenset(judges)
        self.limit = limit
        self._tally = PassCounts()
        self._complete = False
        self._unique = False
        self._changes: list[Callable[[Judgment], Judgment]] = []
        self.unit: str | None = None
        self._told: list[str] = []
        self._thinking = 0
        self._contents: ItemContents | None = None

    def label(self, labelled: Callable[[Judgment], Judgment], notices: Sequence[str] = ()) -> None:
        """Adds labels to every judgment from now on; see :func:`metajudge.reading.joined_labels.join_source`.

        Args:
            labelled: gives a judgment with its labels; nothing else of it may change.
            notices: what is to be known of the labels, a sentence each.
        """
        self._changes.append(labelled)
        self._told += notices

    def count_by(self, unit: str | None) -> None:
        """States the unit of dependence in every judgment; see :func:`metajudge.evidence.units.stated`."""
        if unit is not None:
            self.unit = unit
            self._changes.append(stated(unit))

    @property
    def judgments(self) -> int:
        """Number of different judgments, before any filter."""
        return self._tally.judgments

    @property
    def rejects(self) -> int:
        """Number of rejects: bad lines, and judgments whose id or item contradicts other records."""
        return self._tally.rejects

    @property
    def duplicates(self) -> int:
        """Number of judgments skipped because the same one (id and content) came before."""
        return self._tally.duplicates

    @property
    def people(self) -> PeopleCount:
        """Scores by people: labels where a judge judged the same item."""
        return self._tally.people

    @property
    def notices(self) -> list[str]:
        """What is to be known about the input, a sentence each; complete after one pass."""
        notice = self.people.notice()
        return [*self.told, *self._told, *([] if notice is None else [notice])]

    @property
    def rows(self) -> int:
        """Number of rows: of a table of several judges each one gives several judgments."""
        return self._tally.rows

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns of tables that say nothing of a judgment."""
        from metajudge.reading.mapped import MappedTable

        mapped = [one for one in self._readers if isinstance(one, MappedTable)]
        found = [name for one in mapped for name in one.table.columns() if name not in one.mapping.used_columns]
        return tuple(dict.fromkeys(found))

    def lines(self, facts: "Verdicts", example: Judgment | None) -> list[str]:
        """What was read, in three lines and an example; what else is to be known of rows and columns in one more.

        Args:
            facts: of all judgments, after one pass.
            example: one of them.
        """
        return [*lines_of(facts), *self.beside(), *([] if example is None else [example_of(example)])]

    def beside(self) -> list[str]:
        """What rows and columns gave beside judgments, in one line; empty where there is nothing to tell."""
        several = self.judgments + self.rejects + self.duplicates > self.rows
        parts = [
            f"{plural('row', self.rows)} give {plural('judgment', self.judgments)}" if several else "",
            f"{plural('record', self.rejects)} cannot be read" if self.rejects else "",
            f"{plural('record', self.duplicates)} came before" if self.duplicates else "",
            f"not used: {', '.join(self.unused)}" if self.unused else "",
        ]
        return [cut("; ".join(filter(None, parts)), 2 * WIDTH)] if any(parts) else []

    def first(self) -> Judgment | None:
        """The first judgment asked for as its record has it, without a pass over the input; None without one."""
        found = (one.judgment for reader in self._readers for one in reader.read() if isinstance(one, FoundJudgment))
        return next((one for one in found if self.judges is None or one.judge in self.judges), None)

    def summary(self) -> str:
        """What the input holds, in a few lines; reads all of it."""
        from metajudge.evidence.verdicts import VerdictsBuilder

        builder, first = VerdictsBuilder(texts=False), None
        for judgment in self.all():
            first = first or judgment
            builder.add(judgment)
        return "\n".join([*self.lines(builder.facts(), first), *self.notices])

    def __repr__(self) -> str:
        names = ", ".join(f"{name}: {form}" for name, form in self.formats.items())
        read = f"{plural('judgment', self.judgments)} read" + ("" if self._complete else " so far")
        return f"<{type(self).__name__} {names}; {read}; .summary() says what it holds>"

    @property
    def guessed(self) -> bool:
        """Whether a table was read by a guess at its columns."""
        return any(getattr(reader, "guessed", False) for reader in self._readers)

    @property
    def mapping(self) -> FieldMap | None:
        """The mapping of the first table that is read by one, with what the format added to it."""
        return next((one for reader in self._readers if (one := getattr(reader, "mapping", None))), None)

    @property
    def told(self) -> list[str]:
        """What the values of columns gave to know, a sentence each."""
        found = [sentence for reader in self._readers for sentence in getattr(reader, "told", ())]
        return [*found, _THINKING.format(self._thinking)] if self._thinking else found

    @property
    def line_readers(self) -> list[JudgmentLines] | None:
        """The readers, where all inputs are uncompressed lines of metajudge JSONL that nothing is to be added to.

        None where a reject raises, ids get a prefix, a unit is stated, or labels or people's scores are joined.
        """
        if self.strict or self._prefix_ids or self._changes or self._contents:
            return None
        lines = [one for one in self._readers if isinstance(one, JudgmentLines) and one.is_plain]
        return lines if len(lines) == len(self._readers) else None

    def was_read(self, judges: Mapping[str, int], rejects: Iterable[Reject], duplicates: int) -> None:
        """Takes over the counts of a pass over :attr:`line_readers`, in which no two records contradict each other.

        Args:
            judges: judge -> judgments, without repeated ones.
            rejects: in the order of the input.
            duplicates: repeated judgments.
        """
        tally = PassCounts(duplicates=duplicates, judgments=sum(judges.values()))
        tally.wanted = sum(count for name, count in judges.items() if self.judges is None or name in self.judges)
        for reject in rejects:
            tally.add(reject, None)
        tally.rows = tally.total
        self._tally, self._complete = tally, True
        self._contents = ItemContents({}, repeated=None if duplicates else frozenset())
        self._unique = not duplicates

    def expected(self) -> int | None:
        """How many judgments an iteration will give, without parsing the input for it; None where that is unknown.

        Exact once a pass has run to its end. Before, it is the number of lines, which blank, bad and repeated lines
        make too large.
        """
        if not self._complete and self.judges is not None:
            return None
        found = self._tally.wanted if self._complete else self._lines
        return found if found is None or self.limit is None else min(found, self.limit)

    @cached_property
    def _lines(self) -> int | None:
        """The lines of all inputs; None where one has none."""
        total = 0
        for reader in self._readers:
            count = reader.count_lines() if isinstance(reader, JudgmentLines) else None
            if count is None:
                return None
            total += count
        return total

    def __iter__(self) -> Iterator[Judgment]:
        """The judgments asked for.

        Raises:
            InputError: no judgment is by any of the judges asked for (raised at the end, with the judges there are).
        """
        others: set[str] = set()
        given = 0
        for judgment in self.all():
            if self.judges is not None and judgment.judge not in self.judges:
                others.add(judgment.judge)
                continue
            if self.limit is not None and given >= self.limit:
                return
            given += 1
            yield judgment
        if not given and others:
            self.refuse_judges(others)

    def refuse_judges(self, there: Collection[str]) -> None:
        """Refuses an input whose judges are all others than those asked for.

        Raises:
            InputError: always.
        """
        wanted = ", ".join(map(repr, sorted(self.judges or ())))
        shown = ", ".join(sorted(there)[:20]) + (", ..." if len(there) > 20 else "")
        raise InputError(f"no judgment by {wanted}; the judges here are {shown}")

    def all(self) -> Iterator[Judgment]:
        """Every judgment, whatever the filter says."""
        return (record for record in self.scan() if isinstance(record, Judgment))

    def collect(self, start: Callable[[], C]) -> C:
        """Gives every record of :meth:`scan` to a collector, in one pass where no records contradict each other.

        That is known at the end of the pass only. Where they do, or an id comes twice, or the collector refuses a
        record, what was collected is dropped, and a new collector is given what :meth:`scan` gives.

        Args:
            start: makes a collector.

        Raises:
            MetajudgeError: as :meth:`scan` or the collector.
        """
        *_, found = self.collecting(start, sys.maxsize)
        return found

    def collecting(self, start: Callable[[], C], every: int, *, contradicting: bool = False) -> Iterator[C]:
        """:meth:`collect` step by step: gives the collector after so many records each, and at the end.

        The last one given counts.

        Args:
            contradicting: whether records are known to contradict each other, so that one pass will not do.
        """
        if self._contents is None and not contradicting:
            screen = self._contents = Screen()
            collector = start()
            try:
                yield from self._given_to(collector, every)
            except MetajudgeError:  # perhaps of a record that contradicts others: the next pass says
                screen.several = True
            self._contents = None if screen.several else ItemContents({}, repeated=screen.twice)
            if not screen.several and not screen.twice:
                self._unique = True
                yield collector
                return
            self._tally, self._complete = PassCounts(), False
        collector = start()
        yield from self._given_to(collector, every)
        yield collector

    def _given_to(self, collector: C, every: int) -> Iterator[C]:
        given = 0
        records = self.scan()
        while block := list(islice(records, 1 if self.strict else BLOCK)):
            collector.add_block(block)
            given += len(block)
            if given // every > (given - len(block)) // every:
                yield collector

    def scan(self) -> Iterator[Judgment | Reject]:
        """Every judgment and every reject, in the order of the input.

        Raises:
            BadLineError: at the first reject, where the source is strict.
        """
        tally, thinking = PassCounts(), 0
        people, contents, place = self._people, self._item_contents(), ("", 0)
        repeated = None if contents.repeated and self._prefix_ids else contents.repeated  # those are without prefixes
        ledger = None if self._unique or repeated == frozenset() else SeenIds(repeated)
        for reader in self._readers:
            own = isinstance(reader, JudgmentLines)
            for found in reader.read():
                if place != (found.file, found.line):
                    tally.rows, place = tally.rows + 1, (found.file, found.line)
                if isinstance(found, ByPeople):
                    tally.people.add(found, people.reason(found) if people else "not joined in this format")
                    continue
                if not own:
                    found = set_apart(without_secrets(found))
                record = settled(prefixed(found) if self._prefix_ids else found, ledger, contents)
                if people is not None and isinstance(record, Judgment) and isinstance(found, FoundJudgment):
                    record = people.labelled(record, found.name)
                if isinstance(record, Judgment):
                    for change in self._changes:
                        record = change(record)
                    thinking += thinks(record)
                    self._thinking = max(thinking, self._thinking)
                tally.add(record, self.judges)
                if tally.total > self._tally.total:
                    # Passes meet the same records in the same order: the one that is furthest knows most.
                    self._tally = tally
                if isinstance(record, Reject) and self.strict:
                    raise BadLineError(str(record))
                if record is not None:
                    yield record
        self._complete, self._tally = True, tally
        if ledger is not None:
            self._unique = ledger.unique

    def _item_contents(self) -> ItemContents:
        """What is known of items with several contents, read once."""
        if self._contents is None:
            self._contents = find_contents(self._readers)
        return self._contents

    @cached_property
    def _people(self) -> PeopleIndex | None:
        """The scores by people; None where no format of the input has any."""
        return PeopleIndex(self._readers) if any(isinstance(one, ScoredByPeople) for one in self._readers) else None

    def write_rejects(self, path: Path | str) -> int:
        """Writes all rejects as JSONL (file, line, reason, text).

        Those of the pass that went furthest; without one, the input is read for it, and so it is where there are more
        than are held (:data:`~metajudge.reading.passes.KEPT_REJECTS`). Where there are none, no file is left, not
        even one of an earlier run.

        Returns:
            The number of rejects.

        Raises:
            InputError: the file cannot be written.
        """
        kept = self._tally.kept if self._tally.total else None
        lines = (one.to_json() + "\n" for one in self.scan() if isinstance(one, Reject)) if kept is None else iter(kept)
        first = next(lines, None)
        target, count = Path(path), 0
        try:
            if first is None:
                target.unlink(missing_ok=True)
                return 0
            # A path that is no text is written as escapes; everything else is text.
            with (
                replacing(target) as part,
                part.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
            ):
                for line in chain([first], lines):
                    stream.write(line)
                    count += 1
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror or error}") from error
        return count


def open_judgments(
    paths: Sequence[Path | str],
    *,
    strict: bool = False,
    judges: Collection[str] | None = None,
    limit: int | None = None,
    mapping: FieldMap | None = None,
    prefix_ids: bool = False,
    unit: str | None = None,
) -> JudgmentSource:
    """Opens files and folders of judgments; each one's format is recognised by its content.

    Read are metajudge JSONL, the results of known tools (``metajudge inspect --formats`` lists them), folders of such
    files, and any table by a mapping of its columns. People's scores in them are labels.

    Args:
        paths: what to read; ``-`` is standard input, which is copied to a temporary file first.
        strict: whether the first bad line raises instead of being counted.
        judges: names of the judges to give; None for all.
        limit: how many judgments to give at most, after the selection by judge; None for all.
        mapping: which column of a table is what (:func:`metajudge.reading.parse_map`); None for the mapping kept for
            the file in ``metajudge-inputs.toml``, where there is one.
        prefix_ids: put the file's name before every judgment's id, where files use the same ids for different ones.
        unit: what is independent of each other: ``item``, ``question``, or a field of ``meta`` or the item; None to
            find it (:mod:`metajudge.evidence.units`).

    Returns:
        A source that can be iterated any number of times.

    Raises:
        InputError: a path is missing, empty or of no known format, or contains no readable judgment at all; with
            what was looked for and found.
    """
    if not paths:
        raise InputError("no input given: name at least one file or folder of judgments, or - for standard input")
    if limit is not None and limit < 1:
        raise InputError(f"limit must be at least 1, not {limit}")
    inputs: dict[str, Sequence[Reader]] = {}
    with ExitStack() as copies:
        for path in map(str, paths):
            name = "<stdin>" if path == "-" else path
            inputs[name] = readers_of(_seekable(path, name, copies), name, mapping)
            _require_judgment(name, inputs[name], strict=strict)
        source = JudgmentSource(inputs, strict=strict, judges=judges, limit=limit, prefix_ids=prefix_ids)
        weakref.finalize(source, copies.pop_all().close)
    source.count_by(unit)
    return source


def _require_judgment(name: str, readers: Sequence[Reader], *, strict: bool) -> None:
    """Reads up to the first judgment, so that an input without any is refused at once."""
    rejects, people = 0, PeopleCount()
    answers: dict[str, None] = {}
    first: Reject | None = None
    for reader in readers:
        for found in reader.read():
            if isinstance(found, FoundJudgment):
                return
            if isinstance(found, ByPeople):
                people.add(found, "no verdict in this input")
                if len(answers) < NAMED:
                    answers[str(found.score.value)] = None
                continue
            if strict:
                raise BadLineError(str(found))
            first = first or found
            rejects += 1
    none = "no record at all" if not people.count else "no score by a model"
    bad = f"{rejects} bad line{'s' if rejects != 1 else ''}, the first at {first}" if first else none
    notice = people.notice()
    said = ", ".join(map(repr, answers))
    hint = f". {notice} Their answers ({said}) can be labels of other judgments: --labels {name}" if notice else ""
    error = PeopleOnlyError if people.count and not rejects else InputError
    raise error(f"{name} contains no readable judgments: {bad}{hint}")


def _seekable(path: str, name: str, copies: ExitStack) -> Path:
    """The path itself; of an address, and of standard input or a pipe, which can be read only once, a copy."""
    given = Path(path)
    if "://" in path:
        transfer(path, str(given := near(path)))
    if path != "-" and not given.is_fifo():
        return given
    handle, copy = tempfile.mkstemp(prefix="metajudge-")
    copies.callback(Path(copy).unlink, missing_ok=True)
    try:
        with os.fdopen(handle, "wb") as target:
            if path == "-":
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with given.open("rb") as pipe:
                    shutil.copyfileobj(pipe, target)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return Path(copy)
