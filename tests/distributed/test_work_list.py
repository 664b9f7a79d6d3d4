"""The work list: what is to be done, by ranges of a hash."""

import asyncio

import numpy as np
import orjson
import pytest

from metajudge.bulk.reading import Reading
from metajudge.distributed.folder import Earlier, ResultsFolder
from metajudge.distributed.place import Place
from metajudge.distributed.work_list import Range, Stored, WorkList, ranges_of, read_range
from metajudge.errors import FailureKind
from metajudge.evidence.facts import FactsBuilder, collected
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.providers.stack import Resources
from metajudge.types import Judgment, Status
from tests.doubles.judgments import judgment
from tests.doubles.result_rows import row

EVERYTHING = Range(0, 1 << 32)


def asking():
    config = PanelConfig.model_validate({"agents": [{"model": "openai:m@http://127.0.0.1:1"}]})
    return build_vetter(config, Resources(), early_exit=False)


def free():
    return build_vetter(PanelConfig(strategy="signals"), Resources(), early_exit=False)


def judgments(count):
    return [judgment(id=str(number)) for number in range(count)]


def intake_of(given):
    reading = Reading(given)

    async def read():
        async for _ in reading.blocks():
            pass

    asyncio.run(read())
    return reading.intake()


def written(
    tmp_path, vetter, given, *, evidence=False, keep_failures=False, known=lambda _: None, whole=None, stored=None
):
    results, intake = ResultsFolder(tmp_path / "out"), intake_of(given)
    work = WorkList(
        intake,
        vetter,
        results.earlier(),
        keep_failures,
        evidence=evidence,
        whole=evidence if whole is None else whole,
        stored=Stored(len(given)) if stored is None else stored,
        known=known,
    )
    place = Place(tmp_path, "work")
    return work.write(place), read_range(place, EVERYTHING)


def done(tmp_path, key, *state, **fields):
    ResultsFolder(tmp_path / "out").write_part(key, [{**row(0, *state, **fields), "key": key}])


def test_what_is_done_is_left_out_and_what_failed_is_marked(tmp_path):
    given, vetter = judgments(4), asking()
    done(tmp_path, vetter.key(given[0]))
    done(tmp_path, vetter.key(given[1]), "unscored", failure=FailureKind.TIMEOUT.value)
    known = []
    hashes, rows = written(tmp_path, vetter, given, known=known.append)
    assert len(hashes) == 3
    assert [(r["index"], r["retry"], r["done"]) for r in rows] == [
        (1, True, False),
        (2, False, False),
        (3, False, False),
    ]
    assert known == [Earlier(Status.ASSESSED, True, "above 4.5 by the score", False, None)]
    assert [Judgment.model_validate_json(r["judgment"]) for r in rows] == given[1:]


def test_failures_are_left_so_where_that_is_asked(tmp_path):
    given, vetter = judgments(2), asking()
    done(tmp_path, vetter.key(given[1]), "failed", failure="timeout")
    _, rows = written(tmp_path, vetter, given, keep_failures=True)
    assert [r["index"] for r in rows] == [0]


def test_without_a_model_no_text_travels_and_the_facts_are_those_of_the_records(tmp_path):
    given = judgments(5)
    _, rows = written(tmp_path, free(), given, evidence=True)
    assert {r["judgment"] for r in rows} == {None}
    builder = FactsBuilder()
    for one in rows:
        builder.add_row(orjson.loads(one["facts"]))
    expected = collected(given)
    assert [builder.facts().row(at) for at in range(5)] == [expected.row(at) for at in range(5)]
    assert given[0].item.question not in str(rows)
    assert [r["digest"] for r in rows] == [one.digest for one in given]


def test_all_judgments_of_a_question_are_in_one_range(tmp_path):
    given = [
        judgment(id=f"{item}-{n}", item_id=f"i{item}", question=f"question {item}")
        for n in range(3)
        for item in range(40)
    ]
    hashes, rows = written(tmp_path, free(), given, evidence=True)
    ranges = ranges_of(hashes, 7)
    assert len(ranges) > 5
    place, seen = Place(tmp_path, "work"), []
    for one in ranges:
        found = read_range(place, one)
        items = {r["place"] % 40 for r in found}
        assert len(found) == 3 * len(items)
        seen += [r["place"] for r in found]
    assert sorted(seen) == [r["place"] for r in rows] == list(range(120))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_ranges_cover_every_hash_once_and_part_no_two_of_the_same(size):
    hashes = np.sort(np.array([5, 5, 5, 5, 1, 9, 9, 0, 7]))
    ranges = ranges_of(hashes, size)
    assert [sum(one.low <= value < one.high for one in ranges) for value in hashes.tolist()] == [1] * len(hashes)
    assert ranges_of(np.array([], dtype=np.int64), size) == []
