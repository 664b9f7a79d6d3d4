"""Where judgments and assessments come from, and whether they belong together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson

from metajudge.errors import InputError
from metajudge.exports.assessment_lines import read_assessments
from metajudge.exports.decisions import take_people
from metajudge.exports.filters import drop_unwanted, nothing_matches, resolved
from metajudge.exports.request import ExportRequest, Kind, Rule
from metajudge.exports.store_intake import ITEMS, PROMISED, TOLD, Table, assessments_of, copy_from_store, judgments_of
from metajudge.exports.verdicts import verdict_text
from metajudge.exports.workspace import Work, only
from metajudge.reading import JudgmentSource
from metajudge.reading.containers.lines import Reject
from metajudge.reading.people import PeopleCount
from metajudge.types import Assessment, Item, Judgment, Label
from metajudge.types.label import combined, labels_in, settled
from metajudge.types.location import StoreLocation

_ASSESSMENTS: Final = Table(
    "assessments",
    (
        *("judgment_id", "judgment_digest", "item_id", "judge", "status", "accepted", "final_score", "probability"),
        *("calibration", "strategy", "panel_digest", "action", "policy", "payload"),
    ),
    f"SELECT {assessments_of('payload', 'payload')} FROM given",
    TOLD | PROMISED,
)
_SOURCES: Final = {
    "judge": "SELECT DISTINCT judge FROM assessments",
    "panel": "SELECT DISTINCT panel_digest FROM assessments",
    "category": "SELECT DISTINCT category FROM items",
}
_COUNTS: Final = (
    *("unreadable_lines", "forgotten", "superseded", "not_vetted", "by_people", "judgments", "filtered_out"),
    *("conflicting_items", "conflicting_judgments"),
)
_TAKEN: Final = {*TOLD, *PROMISED}
_ITEM: Final = {"label", "models", "scale", "question_id"}
_CONTENT: Final = {"question", "responses", "conversation", "replies"}
_JUDGMENT: Final[dict[str, Any]] = {
    **dict.fromkeys(("verdict", "order", "labels", "meta"), True),
    "item": {"labels", "question_id"},
}
_TEXTS: Final = {"rationale": True, "instruction": True}
"""Fields of records that payloads contain."""
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


def take_in(work: Work, given: Vetted, request: ExportRequest) -> dict[str, Any]:
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
    (changed,) = only(
        work,
        """SELECT count(*) FROM assessments a JOIN judgments j USING (judgment_id)
            WHERE a.judgment_digest <> j.judgment_digest""",
    )
    (several,) = only(work, "SELECT count(*) FROM (SELECT judgment_id FROM judgments GROUP BY 1 HAVING count(*) > 1)")
    if several:
        raise InputError(f"{several} judgment ids are used for two different judgments: export one run (--run RUN_ID)")
    return {**dict.fromkeys(_COUNTS, 0), "conflicting_item_ids": [], **counts, "changed_since": changed}


def take_peoples_labels(work: Work) -> None:
    """Sets ``label`` of items without one to what the people of all its records say together."""
    rows = work.execute("""
        SELECT i.item_no, j.people FROM judgments j JOIN items i USING (item_id)
        WHERE j.people IS NOT NULL AND i.label IS NULL ORDER BY 1, j.judgment_no""").fetchall()
    said: dict[int, tuple[Label, ...]] = {}
    for number, people in rows:
        said[number] = combined(said.get(number, ()), labels_in(orjson.loads(people)))
    for number, labels in said.items():
        work.execute("UPDATE items SET label = $2 WHERE item_no = $1", [number, verdict_text(settled(labels))])


def _from_records(work: Work, given: Vetted, request: ExportRequest) -> dict[str, Any]:
    filters = {"run": request.filters.runs, "since": request.filters.since, "until": request.filters.until}
    named = [name for name, value in filters.items() if value]
    if named:
        raise InputError(
            f"files do not say when or in which run a judgment was vetted, so {' and '.join(named)} cannot be applied: "
            "export from the store, or leave the filter out"
        )
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
    source, rejects, people = given.judgments, 0, PeopleCount()
    if isinstance(source, JudgmentSource):
        source.collect(lambda: _Records(work, request)).write()
        rejects, people = source.rejects, source.people
    else:
        records = _Records(work, request)
        records.add_block(list({one.digest: one for one in source}.values()))
        records.write()
    found = read_assessments(given.assessments) if isinstance(given.assessments, Path) else given.assessments or ()
    _ASSESSMENTS.fill(work, _pages(map(_assessment, found)))
    if given.assessments is None:
        work.execute("""
            INSERT INTO assessments BY NAME
            SELECT judgment_id, judgment_digest, item_id, judge, 'assessed' AS status FROM judgments""")
    _refuse_contradictions(work)
    (without,) = only(work, "SELECT count(*) FROM judgments ANTI JOIN assessments USING (judgment_id)")
    (total,) = only(work, "SELECT count(*) FROM assessments")
    drop_unwanted(work, resolved(request.filters, work.execute, _SOURCES, "the input"))
    if request.filters.categories:
        work.execute(
            """DELETE FROM assessments WHERE item_id NOT IN (
                SELECT item_id FROM items WHERE category IN (SELECT unnest($1::VARCHAR[])))""",
            [list(request.filters.categories)],
        )
    (left,) = only(work, "SELECT count(*) FROM assessments")
    if total and not left:
        raise nothing_matches(request.filters, "the input", total)
    work.execute("DELETE FROM judgments WHERE judgment_id NOT IN (SELECT judgment_id FROM assessments)")
    take_people(work, None)
    return {
        "unreadable_lines": rejects,
        "not_vetted": without,
        "by_people": people.count - people.matched,
        "judgments": total,
        "filtered_out": total - left,
    }


def _refuse_contradictions(work: Work) -> None:
    """One judgment, one assessment; every assessment its judgment, of the same item and judge."""
    rows, judgments = only(work, "SELECT count(*), count(DISTINCT judgment_id) FROM assessments")
    if rows > judgments:
        work.execute("CREATE OR REPLACE TABLE assessments AS SELECT DISTINCT * FROM assessments")
        several, first = only(
            work,
            """SELECT count(*), min(judgment_id) FROM (
                SELECT judgment_id FROM assessments GROUP BY 1 HAVING count(*) > 1)""",
        )
        if several:
            raise InputError(
                f"{several} judgments have several different assessments, the first {first!r}: give the assessments of "
                "one run only"
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


def _pages(rows: Iterable[Any]) -> Iterator[list[Any]]:
    rows = iter(rows)
    while page := list(islice(rows, _PAGE)):
        yield page


def _assessment(one: Assessment) -> tuple[Any, ...]:
    decided = (None, None) if one.decision is None else (one.decision.action.value, one.decision.policy)
    return (
        *(one.judgment_id, one.judgment_digest, one.item_id, one.judge, one.status.value, one.kept, one.final_score),
        *(one.probability, one.calibration, one.strategy, one.panel_digest, *decided),
        one.model_dump_json(include=_TAKEN),
    )


class _Records:
    """Rows of ``judgments``, numbered from 0, and of ``items``, each once; what the tables held before is dropped.

    Texts that the filters leave out are not copied.
    """

    def __init__(self, work: Work, request: ExportRequest) -> None:
        self._work = work
        self._judging, self._filters = request.kind is Kind.JUDGMENTS, request.filters
        self._known: dict[str, tuple[int, bool]] = {}
        self._count = self._items = 0
        self._last: Item | None = None
        self._tables = {table: list[tuple[Any, ...]]() for table in (judgments_of(request), ITEMS)}
        for table in self._tables:
            table.fill(work, ())

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records; those that cannot be read are counted by their source.

        Raises:
            InputError: an item's id is used for two contents.
        """
        judgments, items = self._tables.values()
        for record in block:
            if isinstance(record, Reject):
                continue
            if record.item is not self._last:
                items += self._new_item(record)
                self._last = record.item
            judgments.append(self._row(record, self._known[record.item.id][1]))
            self._count += 1
            if len(judgments) == _PAGE:
                self.write()

    def write(self) -> None:
        """Appends what was taken to the tables."""
        for table, rows in self._tables.items():
            table.add(self._work, rows)
            rows.clear()

    def _new_item(self, judgment: Judgment) -> list[tuple[Any, ...]]:
        item = judgment.item
        content = hash((item.question, *item.responses.items()))
        wanted = not self._filters.categories or item.category in self._filters.categories
        known = self._known.setdefault(item.id, (content, wanted))
        if known[0] != content:
            raise InputError(
                f"item {item.id!r} has two different contents, the second in judgment {judgment.id!r}: give each "
                "content its own item id, or repair the record that differs"
            )
        if self._items == len(self._known):
            return []
        self._items = len(self._known)
        payload = item.model_dump_json(include=_ITEM | (_CONTENT if wanted else set()))
        return [(self._count, item.id, item.category, item.id, payload)]

    def _row(self, judgment: Judgment, wanted: bool) -> tuple[Any, ...]:
        texts = self._judging and wanted and (not self._filters.judges or judgment.judge in self._filters.judges)
        payload = judgment.model_dump_json(include=_JUDGMENT | (_TEXTS if texts else {}))
        item = judgment.item.id
        return (self._count, judgment.id, judgment.raw_digest().hex(), item, judgment.judge, item, payload)
