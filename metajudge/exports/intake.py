"""Judgments and their assessments as tables: ``items``, ``judgments``, ``assessments``.

From a store they come by SQL over its payloads, which were validated when they were stored; from files through the
readers. Texts that the export does not need are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb
import orjson

from metajudge.errors import InputError
from metajudge.exports.assessment_lines import read_assessments
from metajudge.exports.decisions import no_people
from metajudge.exports.filters import Filters, drop_unwanted, nothing_matches, prepare, require_known
from metajudge.exports.request import ExportRequest, Kind, Rule
from metajudge.exports.store_intake import copy_from_store
from metajudge.exports.verdicts import verdict_text
from metajudge.exports.workspace import append, fill, only, to_text
from metajudge.readers import JudgmentSource
from metajudge.readers.lines import Reject
from metajudge.readers.people import PeopleCount
from metajudge.types import Assessment, Item, Judgment, Label
from metajudge.types.label import combined, labels_in, settled
from metajudge.types.location import StoreLocation

Row = tuple[Any, ...]


def take_peoples_labels(work: duckdb.DuckDBPyConnection) -> None:
    """Sets ``label`` of items without one to what the people of all its records say together."""
    rows = work.execute("""
        SELECT i.item_no, j.people FROM judgments j JOIN items i USING (item_id)
        WHERE j.people IS NOT NULL AND i.label IS NULL ORDER BY 1, j.judgment_no""").fetchall()
    said: dict[int, tuple[Label, ...]] = {}
    for number, people in rows:
        said[number] = combined(said.get(number, ()), labels_in(orjson.loads(people)))
    for number, labels in said.items():
        work.execute("UPDATE items SET label = $2 WHERE item_no = $1", [number, verdict_text(settled(labels))])


CUT_SHORT: Final = ("length", "max_tokens", "max_output_tokens", "token_limit", "model_length", "MAX_TOKENS")
"""What providers call a reply that met its limit of tokens."""

_ASSESSMENTS: Final = (
    *("line", "judgment_id", "judgment_digest", "item_id", "judge", "status", "accepted", "score", "probability"),
    *("calibration", "bar", "target", "delta", "approximate", "promise_judges", "promise_unit", "promise_questions"),
    *("marks", "strategy", "threshold", "rubric", "rubric_digest", "panel_digest", "agents", "version", "action"),
    "policy",
)
_JUDGMENTS: Final = (
    *("judgment_no", "judgment_id", "judgment_digest", "item_id", "judge", "verdict", "shown", "labels", "rationale"),
    *("instruction", "finish", "response_finish", "people"),
)
_ITEMS: Final = (
    *("item_no", "item_id", "question", "responses", "category", "label", "models", "scale", "question_id"),
)
"""The columns of tables from files; their types are those of :data:`~metajudge.exports.workspace.TYPES`."""
_PAGE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Vetted:
    """Where judgments and assessments come from: a store, or files and objects.

    Attributes:
        store_name: what messages call the store; None for where it is.
    """

    store: StoreLocation | None = None
    judgments: JudgmentSource | Iterable[Judgment] | None = None
    assessments: Path | Iterable[Assessment] | None = None
    store_name: str | None = None


def take_in(work: duckdb.DuckDBPyConnection, given: Vetted, request: ExportRequest) -> dict[str, Any]:
    """Fills the tables ``assessments``, ``judgments``, ``items`` and ``people``.

    Returns:
        ``judgments``: how many there are that were vetted. What could not be used: ``unreadable_lines``, ``forgotten``
        (judgments), ``superseded`` (earlier assessments of the judgments taken), ``not_vetted``, ``by_people`` (scores
        that people gave of what no judge judged), ``filtered_out``, ``changed_since`` (the record differs from the one
        that was vetted, by its digest), ``conflicting_items`` and ``conflicting_judgments`` (one item id, two
        contents), and the first of these items by name, ``conflicting_item_ids``.

    Raises:
        InputError: no texts, ids that contradict each other, a bad line among the assessments, filters that nothing
            meets, a store without a vetted judgment.
    """
    if given.store is None:
        counts = _from_records(work, given, request)
    else:
        counts = copy_from_store(work, given.store, request, given.store_name or f"the store {given.store}")
    if request.by_label:
        take_peoples_labels(work)
    return counts | _checked(work, request)


def _from_records(work: duckdb.DuckDBPyConnection, given: Vetted, request: ExportRequest) -> dict[str, Any]:
    _refuse_filters_of_stores(request.filters)
    if given.judgments is None:
        raise InputError(
            "assessments contain no texts, and a preference dataset needs questions and responses: name the judgments "
            "they were vetted from with --judgments INPUT, or export from the store with --store PATH"
        )
    if given.assessments is None and request.selection.rule is not Rule.ALL:
        raise InputError(
            "there are judgments but no assessments, so nothing says which to keep: name a file of `metajudge vet "
            "--out` with --assessments, or a store, or keep everything with --all"
        )
    rejects = _take_judgments(work, given.judgments, request)
    found = read_assessments(given.assessments) if isinstance(given.assessments, Path) else given.assessments or ()
    fill(work, "assessments", _ASSESSMENTS, _pages(_assessment(*one) for one in enumerate(found)))
    if given.assessments is None:
        work.execute("""
            INSERT INTO assessments BY NAME
            SELECT judgment_id, judgment_digest, item_id, judge, 'assessed' AS status FROM judgments""")
    _refuse_contradictions(work)
    (without,) = only(work, "SELECT count(*) FROM judgments ANTI JOIN assessments USING (judgment_id)")
    total, left = _filter_records(work, request.filters)
    work.execute("DELETE FROM judgments WHERE judgment_id NOT IN (SELECT judgment_id FROM assessments)")
    no_people(work)
    people = given.judgments.people if isinstance(given.judgments, JudgmentSource) else PeopleCount()
    return {
        "unreadable_lines": rejects,
        "forgotten": 0,
        "superseded": 0,
        "not_vetted": without,
        "by_people": people.count - people.matched,
        "judgments": total,
        "filtered_out": total - left,
        "conflicting_items": 0,
        "conflicting_judgments": 0,
        "conflicting_item_ids": [],
    }


def _refuse_filters_of_stores(filters: Filters) -> None:
    given = {"run": filters.runs, "since": filters.since, "until": filters.until}
    named = [name for name, value in given.items() if value]
    if named:
        raise InputError(
            f"files do not say when or in which run a judgment was vetted, so {' and '.join(named)} cannot be applied: "
            "export from the store, or leave the filter out"
        )


def _filter_records(work: duckdb.DuckDBPyConnection, filters: Filters) -> tuple[int, int]:
    """Takes out what the filters leave out; returns how many assessments there were and are."""
    prepare(work, filters)
    sources = {
        "judge": "SELECT judge FROM assessments",
        "panel": "SELECT panel_digest FROM assessments",
        "category": "SELECT category FROM items",
    }
    require_known(work, sources, "the input")
    (before,) = only(work, "SELECT count(*) FROM assessments")
    drop_unwanted(work, filters, panels=True)
    if filters.categories:
        work.execute("""
            DELETE FROM assessments WHERE item_id NOT IN (
                SELECT item_id FROM items WHERE category IN (SELECT value FROM wanted WHERE kind = 'category'))""")
    (after,) = only(work, "SELECT count(*) FROM assessments")
    if before and not after:
        raise nothing_matches(filters, "the input", before)
    return before, after


def _refuse_contradictions(work: duckdb.DuckDBPyConnection) -> None:
    """One judgment, one assessment; every assessment its judgment, of the same item and judge."""
    columns = ", ".join(_ASSESSMENTS[2:])
    twice = work.execute(f"""
        SELECT judgment_id, count(DISTINCT hash({columns})) AS contents, max(line), count(*) OVER ()
        FROM assessments GROUP BY judgment_id HAVING count(*) > 1 ORDER BY contents DESC, judgment_id LIMIT 1
    """).fetchall()
    if twice and twice[0][1] > 1:
        raise InputError(
            f"{twice[0][3]} judgments have several different assessments, the first {twice[0][0]!r}: give the "
            "assessments of one run only"
        )
    if twice:
        work.execute(
            "DELETE FROM assessments WHERE line NOT IN (SELECT min(line) FROM assessments GROUP BY judgment_id)"
        )
    missing, first = only(
        work, "SELECT count(*), min(judgment_id) FROM assessments ANTI JOIN judgments USING (judgment_id)"
    )
    if missing:
        raise InputError(
            f"{missing} assessments have no judgment in the input, the first {first!r}: their texts are needed; name "
            "with --judgments all that they were vetted from"
        )
    other = work.execute("""
        SELECT a.judgment_id, a.item_id, a.judge, j.item_id, j.judge FROM assessments a JOIN judgments j
        USING (judgment_id) WHERE a.item_id <> j.item_id OR a.judge <> j.judge ORDER BY 1 LIMIT 1""").fetchall()
    if other:
        name, item, judge, its_item, its_judge = other[0]
        raise InputError(
            f"judgment {name!r} is of item {item!r} by {judge!r} in the assessments, and of item {its_item!r} by "
            f"{its_judge!r} in the judgments: the ids contradict each other; give the files that belong together"
        )


def _checked(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> dict[str, int]:
    (changed,) = only(
        work,
        "SELECT count(*) FROM assessments a JOIN judgments j USING (judgment_id) "
        "WHERE a.judgment_digest <> j.judgment_digest",
    )
    (several,) = only(work, "SELECT count(*) FROM (SELECT judgment_id FROM judgments GROUP BY 1 HAVING count(*) > 1)")
    if several:
        raise InputError(f"{several} judgment ids are used for two different judgments: export one run (--run RUN_ID)")
    return {"changed_since": changed}


def _pages(rows: Iterable[Row]) -> Iterator[list[Row]]:
    rows = iter(rows)
    while page := list(islice(rows, _PAGE)):
        yield page


def _assessment(line: int, one: Assessment) -> Row:
    bar, decision = one.guarantee, one.decision
    stamp: Row = (None,) * 7
    if bar is not None:
        stamp = (bar.threshold, bar.target, bar.delta, bar.approximate, to_text(bar.judges), bar.unit, bar.questions)
    return (
        *(line, one.judgment_id, one.judgment_digest, one.item_id, one.judge, one.status.value, one.kept),
        *(one.final_score, one.probability, one.calibration, *stamp, to_text(one.probability_marks), one.strategy),
        *(one.threshold, one.rubric, one.rubric_digest, one.panel_digest),
        *(", ".join(f"{agent.agent} ({agent.model})" for agent in one.agents), one.metajudge_version),
        *((None, None) if decision is None else (decision.action.value, decision.policy)),
    )


def _take_judgments(
    work: duckdb.DuckDBPyConnection, source: JudgmentSource | Iterable[Judgment], request: ExportRequest
) -> int:
    """Fills ``judgments`` and ``items``; returns how many records could not be read."""
    if isinstance(source, JudgmentSource):
        source.collect(lambda: _Records(work, request)).write()
        return source.rejects
    records = _Records(work, request)
    records.add_block(list({one.digest: one for one in source}.values()))
    records.write()
    return 0


class _Records:
    """Rows of ``judgments``, numbered from 0, and of ``items``, each once; what the tables held before is dropped.

    Texts that the filters leave out are not copied.
    """

    def __init__(self, work: duckdb.DuckDBPyConnection, request: ExportRequest) -> None:
        self._work = work
        self._judging, self._filters = request.kind is Kind.JUDGMENTS, request.filters
        self._known: dict[str, tuple[int, bool]] = {}
        self._count = 0
        self._last: Item | None = None
        self._judgments, self._items = list[Row](), list[Row]()
        self.write("CREATE OR REPLACE TABLE {} AS")

    def add(self, record: Judgment | Reject) -> None:
        """Takes a record; those that cannot be read are counted by their source."""
        self.add_block((record,))

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records.

        Raises:
            InputError: an item's id is used for two contents.
        """
        for record in block:
            if isinstance(record, Reject):
                continue
            item = record.item
            if item is not self._last:
                self._add_item(record)
                self._last = item
            self._judgments.append(self._row(record, self._known[item.id][1]))
            self._count += 1
            if len(self._judgments) == _PAGE:
                self.write()

    def write(self, how: str = "INSERT INTO {}") -> None:
        """Appends what was taken to the tables."""
        lists = ", ".join(f"""from_json({name}, '["VARCHAR"]') AS {name}""" for name in ("shown", "labels"))
        read = f"SELECT * REPLACE ({lists}) FROM given"
        append(self._work, how.format("judgments"), _JUDGMENTS, self._judgments, read)
        append(self._work, how.format("items"), _ITEMS, self._items, "SELECT * FROM given")
        self._judgments, self._items = [], []

    def _add_item(self, judgment: Judgment) -> None:
        item = judgment.item
        content = hash((item.question, *item.responses.items()))
        wanted = not self._filters.categories or item.category in self._filters.categories
        if item.id not in self._known:
            self._known[item.id] = (content, wanted)
            texts = (item.question, to_text(item.responses)) if wanted else (None, None)
            row = (self._count, item.id, *texts, item.category, verdict_text(item.label), _json_or_none(item.models))
            self._items.append((*row, None if item.scale is None else to_text(item.scale), item.question_id))
        elif self._known[item.id][0] != content:
            raise InputError(
                f"item {item.id!r} has two different contents, the second in judgment {judgment.id!r}: give each "
                "content its own item id, or repair the record that differs"
            )

    def _row(self, judgment: Judgment, wanted: bool) -> Row:
        meta, people = judgment.meta, judgment.item.labels
        finish = next((meta[name] for name in ("finish", "finish_reason", "stop_reason") if meta.get(name)), None)
        wanted = wanted and (not self._filters.judges or judgment.judge in self._filters.judges)
        return (
            *(self._count, judgment.id, judgment.raw_digest().hex(), judgment.item.id, judgment.judge),
            *(verdict_text(judgment.verdict), to_text(judgment.order)),
            None if judgment.labels is None else to_text(judgment.labels),
            *((judgment.rationale, judgment.instruction) if self._judging and wanted else (None, None)),
            *(None if finish is None else str(finish), _json_or_none(meta.get("response_finish"))),
            to_text([one.model_dump(mode="json") for one in people]) if people else None,
        )


def _json_or_none(value: Any) -> str | None:
    return to_text(value) if isinstance(value, dict) else None
