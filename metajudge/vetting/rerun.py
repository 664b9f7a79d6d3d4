"""An identical run is answered from the stored one: same input, settings, store, and version of counting.

Anything else is computed whole; what was paid for is found by the request's bytes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from metajudge.evidence.counting import Counted, Counts
from metajudge.evidence.dependence import JudgesTogether
from metajudge.installation import __version__
from metajudge.reading.saved_maps import FILE_NAME
from metajudge.runs.loop import RunEnd
from metajudge.runs.totals import RunTotals
from metajudge.store.answers import RunAnswers
from metajudge.strategies import StrategyName
from metajudge.types import Right, VerdictKind, digest
from metajudge.types.digests import json_bytes
from metajudge.vetting.explanation import Gathered
from metajudge.vetting.summary import ReadFirst, VetSummary

if TYPE_CHECKING:
    from metajudge.store.store import Store
    from metajudge.vetting.engine import Engine

COUNTING: Final = 3
"""The version of counting and deciding: one more with every change of what is counted, estimated or decided."""


def settings_digest(settings: Mapping[str, Any], inputs: Sequence[str]) -> str | None:
    """The digest of settings; a value that names a file or a folder counts by the content of its files.

    Args:
        inputs: files and folders that are read, with what readers find beside them.

    Returns:
        None where content cannot be known beforehand: standard input, a pipe, a file that cannot be read.
    """
    if not all(Path(one).is_file() or Path(one).is_dir() for one in inputs):
        return None
    try:
        read = [[one, _content(one), [_content(other) for other in _beside(Path(one))]] for one in inputs]
        return digest([read, {name: _content(value) for name, value in sorted(settings.items())}])
    except OSError:
        return None


def _beside(path: Path) -> list[Path]:
    """What readers take from beside an input: mappings of columns, the results that a table was made from."""
    maps = dict.fromkeys(folder / FILE_NAME for folder in (Path.cwd(), path.absolute().parent))
    results = (path.with_suffix(ending) for ending in (".json", ".jsonl"))
    return [one for one in (*maps, *results) if one != path and one.is_file()]


def _content(value: Any) -> Any:
    """A value, or the digests of what it names. Raises OSError: a file cannot be read, or is a pipe."""
    if isinstance(value, list | tuple):
        return [_content(one) for one in value]
    if not isinstance(value, str | Path) or not str(value):
        return repr(value)
    path = Path(value)
    try:
        there = path.exists()
    except OSError:  # a text that is no path
        there = False
    if not there:
        return str(value)
    if path.is_dir():
        return [[str(one.relative_to(path)), _content(one)] for one in sorted(path.rglob("*")) if not one.is_dir()]
    if not path.is_file():
        raise OSError(f"{path} cannot be read twice")
    with path.open("rb") as file:
        return [str(value), hashlib.file_digest(file, "sha256").hexdigest()]


@dataclass(frozen=True, slots=True)
class Rerun:
    """Finds and keeps what a run of an open engine comes to.

    Args:
        settings: the digest of its settings and input.
    """

    engine: "Engine"
    store: "Store"
    settings: str

    async def find(self) -> tuple[VetSummary, Counts, list[str]] | None:
        """What the same run came to, and what it told of the input.

        None where there was none, or where the store was changed since.
        """
        body = await RunAnswers(self.store).find(await self._key())
        if body is None:
            return None
        data = TypeAdapter(dict[str, Any]).validate_json(body)
        if data["version"] != [__version__, COUNTING]:
            self.engine.notify(
                "an earlier run on this input was decided by another version: all is decided anew, from stored answers"
            )
            return None
        summary, plain = VetSummary(), data["summary"]
        for one in fields(summary):
            if one.name in plain:
                value = plain[one.name]
                counted = isinstance(getattr(summary, one.name), Counter)
                setattr(summary, one.name, Counter(value) if counted else value)
        summary.gathered = TypeAdapter(Gathered).validate_python(data["gathered"])
        summary.judges_together = TypeAdapter(list[JudgesTogether]).validate_python(data["together"])
        summary.read_first = TypeAdapter(list[ReadFirst]).validate_python(data["read_first"])
        summary.lower_cuts = TypeAdapter(dict[str, Counted]).validate_python(data["lower_cuts"])
        asks = self.engine.vetter.default.strategy is not StrategyName.SIGNALS
        summary.reused, summary.results_known = (summary.judgments, 0) if asks else (0, summary.judgments)
        counts = Counts(
            rules=TypeAdapter(dict[VerdictKind, Right]).validate_python(data["rules"]),
            why=Counter(data["why"]),
            wrongly_kept=data["wrongly_kept"],
            note=data["note"],
            known=TypeAdapter(dict[str, Counted]).validate_python(data["rows"]),
        )
        return summary, counts, data["notices"]

    async def keep(self, summary: VetSummary, counts: Counts, notices: Sequence[str]) -> None:
        """Keeps what the run came to, if it ended with all results, nothing failed, and every panel asks or none does.

        Args:
            notices: what is told of the input.
        """
        if len({one.strategy is StrategyName.SIGNALS for one in self.engine.vetter.panels}) > 1:
            return
        found = summary.counts
        if summary.end is not RunEnd.FINISHED or found.failed or found.bad_lines or summary.agent_failures:
            return
        taken = {one.name for one in fields(RunTotals)} | {"gathered", "judges_together", "reviews"}
        taken |= {"read_first", "lower_cuts"}
        data = {
            "version": [__version__, COUNTING],
            "summary": {one.name: getattr(summary, one.name) for one in fields(summary) if one.name not in taken},
            "gathered": TypeAdapter(Gathered).dump_python(summary.gathered, mode="json"),
            "together": TypeAdapter(list[JudgesTogether]).dump_python(summary.judges_together, mode="json"),
            "read_first": TypeAdapter(list[ReadFirst]).dump_python(summary.read_first, mode="json"),
            "lower_cuts": TypeAdapter(dict[str, Counted]).dump_python(summary.lower_cuts, mode="json"),
            "notices": list(notices),
            "rules": TypeAdapter(dict[VerdictKind, Right]).dump_python(dict(counts.rules), mode="json"),
            "why": counts.why,
            "wrongly_kept": counts.wrongly_kept,
            "note": counts.note,
            "rows": TypeAdapter(dict[str, Counted]).dump_python(counts.rows(), mode="json"),
        }
        await RunAnswers(self.store).keep(await self._key(), json_bytes(data))

    async def _key(self) -> str:
        """The digest of everything that the results depend on."""
        engine = self.engine
        broken: Iterable[str] = await engine.finishing.broken_promises()
        panels = sorted(one.digest for one in engine.vetter.panels)
        return digest([self.settings, panels, engine.finishing.config(), sorted(broken)])
