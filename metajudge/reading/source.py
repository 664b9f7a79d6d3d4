"""One stream of judgments over all inputs: bad lines counted, repeated ones skipped, contradictions refused."""

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
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
from metajudge.reading.passes import BLOCK, C, Earlier, ItemContents, PassCounts, Screen, find_contents
from metajudge.reading.people import NAMED, ByPeople, PeopleCount, PeopleIndex, PeopleOnlyError, ScoredByPeople
from metajudge.reading.reader import Found, FoundJudgment, Reader, cleaned, prefixed
from metajudge.reading.seen import WIDTH, cut, example_of, lines_of, plural
from metajudge.types import Judgment

if TYPE_CHECKING:
    from metajudge.evidence.verdicts import Verdicts
    from metajudge.reading.mapped import MappedTable

_THINKING = (
    "judgments with a model's reasoning beside an answer or a verdict: {}; it is kept in metadata.ID.reasoning and "
    "meta.reasoning, and is neither judged nor exported"
)


class JudgmentSource:
    """Judgments from files and folders, read anew from disk at every iteration, one at a time.

    Iterating the source gives the judgments asked for; :meth:`all` gives every judgment, for evidence that must not
    depend on the filter (peers' verdicts, the other order). The counts are of all of the input once one pass has run
    to its end, and of what was read so far before that. Files must not change in between. Where records contradict
    each other about an item, those that most of them contradict are rejects (:mod:`metajudge.reading.passes`).

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
        self.judges = None if judges is None else frozenset(judges)
        self.limit = limit
        self.unit: str | None = None
        self._readers = [reader for given in inputs.values() for reader in given]
        self._prefix_ids = prefix_ids
        self._changes: list[Callable[[Judgment], Judgment]] = []
        self._told: list[str] = []
        self._contents: ItemContents | None = None
        self._tally = PassCounts()
        self._complete = False

    def label(self, labelled: Callable[[Judgment], Judgment], notices: Sequence[str] = ()) -> None:
        """Adds labels to every judgment from now on, in which nothing else may change.

        Args:
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

    @cached_property
    def mapped(self) -> "list[MappedTable]":
        """The tables that are read by a mapping."""
        from metajudge.reading.mapped import MappedTable

        return [one for one in self._readers if isinstance(one, MappedTable)]

    @property
    def mapping(self) -> FieldMap | None:
        """The mapping of the first table that is read by one, with what the format added to it."""
        return self.mapped[0].mapping if self.mapped else None

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns of tables that say nothing of a judgment."""
        columns = (name for one in self.mapped for name in one.table.columns() if name not in one.mapping.used_columns)
        return tuple(dict.fromkeys(columns))

    @property
    def told(self) -> list[str]:
        """How files are read, and what the values of columns gave to know, a sentence each."""
        thinking = self._tally.thinking
        files = (one.source for one in self._readers if hasattr(one, "source"))
        found = [sentence for source in files for sentence in source.notes]
        found += [sentence for one in self.mapped for sentence in one.told]
        return [*found, _THINKING.format(thinking)] if thinking else found

    @property
    def notices(self) -> list[str]:
        """What is to be known about the input, a sentence each; complete after one pass."""
        notice = self.people.notice()
        return [*self.told, *self._told, *([] if notice is None else [notice])]

    def lines(self, facts: "Verdicts", example: Judgment | None) -> list[str]:
        """What was read, after one pass: in three lines, one more on rows and columns, and an example."""
        tally = self._tally
        beside = [
            f"{plural('row', tally.rows)} give {plural('judgment', tally.judgments)}" * (tally.total > tally.rows),
            f"{plural('record', tally.rejects)} cannot be read" if tally.rejects else "",
            f"{plural('record', tally.duplicates)} came before" if tally.duplicates else "",
            f"not used: {', '.join(self.unused)}" if self.unused else "",
        ]
        more = [cut("; ".join(filter(None, beside)), 2 * WIDTH)] if any(beside) else []
        return [*lines_of(facts), *more, *([] if example is None else [example_of(example)])]

    def first(self) -> Judgment | None:
        """The first judgment asked for, without a pass over the input; None without one."""
        found = (one.judgment for one in self._records() if isinstance(one, FoundJudgment))
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
        """
        tally = PassCounts(judgments=sum(judges.values()), duplicates=duplicates)
        tally.wanted = sum(count for name, count in judges.items() if self.judges is None or name in self.judges)
        for reject in rejects:
            tally.keep(reject)
        tally.rows = tally.total
        self._tally, self._complete = tally, True
        self._contents = None if duplicates else ItemContents()

    def expected(self) -> int | None:
        """How many judgments an iteration will give; None before a pass has run to its end."""
        if not self._complete:
            return None
        return self._tally.wanted if self.limit is None else min(self._tally.wanted, self.limit)

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
        """
        *_, found = self.collecting(start, sys.maxsize)
        return found

    def collecting(self, start: Callable[[], C], every: int) -> Iterator[C]:
        """:meth:`collect` step by step: gives the collector after so many records, and at the end; the last counts."""
        if self._contents is None:
            screen, collector = Screen(), start()
            try:
                yield from self._given_to(collector, every, screen)
            except MetajudgeError:  # perhaps of a record that contradicts others: the next pass says
                pass
            else:
                self._contents = find_contents(self._records, screen)
                if not screen.suspects and not screen.twice:
                    yield collector
                    return
            self._tally, self._complete = PassCounts(), False
        collector = start()
        yield from self._given_to(collector, every)
        yield collector

    def _given_to(self, collector: C, every: int, screen: Screen | None = None) -> Iterator[C]:
        given, records = 0, self._pass(screen)
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
        return self._pass()

    def _pass(self, screen: Screen | None = None) -> Iterator[Judgment | Reject]:
        """:meth:`scan`, or a pass in which only ``screen`` looks for contradictions."""
        if screen is None and self._contents is None:
            self._contents = find_contents(self._records)
        contents = screen or self._contents
        assert contents is not None
        tally, people, place = PassCounts(), self._people, ("", 0)
        met: dict[str, Earlier] = {}
        for found in self._records():
            if place != (found.file, found.line):
                tally.rows, place = tally.rows + 1, (found.file, found.line)
            if isinstance(found, ByPeople):
                tally.people.add(found, people.reason(found) if people else "not joined in this format")
                continue
            record = found if isinstance(found, Reject) else contents.settled(found, met)
            if isinstance(record, Judgment):
                if people is not None and isinstance(found, FoundJudgment):
                    record = people.labelled(record, found.name)
                for change in self._changes:
                    record = change(record)
                tally.judgments += 1
                tally.wanted += self.judges is None or record.judge in self.judges
                tally.thinking += thinks(record)
            elif record is None:
                tally.duplicates += 1
            else:
                tally.keep(record)
            if tally.total > self._tally.total:
                # Passes meet the same records in the same order: the one that is furthest knows most.
                self._tally = tally
            if isinstance(record, Reject) and self.strict:
                raise BadLineError(str(record))
            if record is not None:
                yield record
        self._complete, self._tally = True, tally

    def _records(self) -> Iterator[Found]:
        """What the readers give, before records are compared."""
        return chain.from_iterable(map(self._read, self._readers))

    def _read(self, reader: Reader) -> Iterator[Found]:
        found = reader.read() if isinstance(reader, JudgmentLines) else map(cleaned, reader.read())
        return map(prefixed, found) if self._prefix_ids else found

    @cached_property
    def _people(self) -> PeopleIndex | None:
        """The scores by people; None where no format of the input has any."""
        return PeopleIndex(self._readers) if any(isinstance(one, ScoredByPeople) for one in self._readers) else None

    def write_rejects(self, path: Path | str) -> int:
        """Writes all rejects of the pass that went furthest as JSONL (file, line, reason, text); returns their number.

        The input is read for it where no pass was made, or more were met than are held. Where there are none, no file
        is left, not even one of an earlier run.

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
    files, and any table by a mapping of its columns. People's scores in them are labels. The source can be iterated
    any number of times.

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
    people, answers = PeopleCount(), dict[str, None]()
    first, rejects = "", 0
    for found in (one for reader in readers for one in reader.read()):
        if isinstance(found, FoundJudgment):
            return
        if isinstance(found, ByPeople):
            people.add(found, "no verdict in this input")
            if len(answers) < NAMED:
                answers[str(found.score.value)] = None
        elif strict:
            raise BadLineError(str(found))
        else:
            first, rejects = first or str(found), rejects + 1
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
        with (
            os.fdopen(handle, "wb") as target,
            nullcontext(sys.stdin.buffer) if path == "-" else given.open("rb") as stream,
        ):
            shutil.copyfileobj(stream, target)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return Path(copy)
