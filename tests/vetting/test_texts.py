"""Texts read again: from the temporary file, from the place in the input, in a second pass."""

import orjson
import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.store.rows import judgment_row
from metajudge.types import Judgment
from metajudge.types.digests import raw_digest
from metajudge.vetting.intake import Reading
from metajudge.vetting.texts import LineTexts, judgment_payload


def records(count=6):
    item = {"id": "i", "question": "“q” \u2028", "responses": {"A": "one", "B": "two"}}
    return [
        {
            "id": f"j{number}",
            "item": item,
            "judge": "j",
            "verdict": "A>B",
            "rationale": f"r{number}",
            "order": ["B", "A"],
        }
        for number in range(count)
    ]


def line_texts(path):
    """The texts of a file whose lines were all read."""
    (reader,) = open_judgments([path]).line_readers
    texts, parse = LineTexts([reader]), reader.parser()
    for line in reader.raw_lines():
        assert parse(line)
        texts.add(0, line.offset, raw_digest(line.raw))
    return texts


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + b"\n".join(orjson.dumps(one) for one in records()))
    return file


def test_payloads_are_those_of_the_rows_of_a_store():
    plain = Judgment.model_validate(records()[0])
    rich = Judgment.model_validate({**records()[0], "meta": {"x": 1.5}, "item": {**records()[0]["item"], "labels": []}})
    labelled = rich.model_copy(update={"item": rich.item.model_copy(update={"metadata": {"A": {"tokens": 3}}})})
    for one in (plain, rich, labelled):
        assert orjson.loads(judgment_payload(one)) == orjson.loads(judgment_row(one)[5])


def test_texts_come_from_the_place_in_the_input_unless_it_was_changed_meanwhile(path):
    texts = line_texts(path)
    for row in (3, 0, 5):
        assert texts.judgment(row).rationale == f"r{row}"
    texts.close()
    texts = line_texts(path)
    texts.leave_out([1, 2])
    assert [texts.judgment(row).id for row in range(4)] == ["j0", "j3", "j4", "j5"]
    texts.close()
    texts = line_texts(path)
    path.write_bytes(path.read_bytes().replace(b"r4", b"R4"))
    assert texts.judgment(3).id == "j3"
    with pytest.raises(InputError, match="was changed while it was read"):
        texts.judgment(4)
    texts.close()


async def test_records_that_contradict_each_other_are_read_as_one_by_one(tmp_path):
    given = [*records(), *records(2)]  # two come twice
    given[3] = {**given[3], "id": "j1"}  # one id for two judgments
    given.append({**given[0], "id": "j9", "item": {**given[0]["item"], "question": "Another?"}})
    file = tmp_path / "in.json"
    file.write_bytes(orjson.dumps(given))
    source, counted = open_judgments([file]), open_judgments([file])
    reading = Reading(source)
    async for _ in reading.blocks():
        pass
    intake, one_by_one = reading.intake(), list(counted.all())
    assert list(intake.facts.judgment_ids) == [one.id for one in one_by_one]
    assert [judgment_payload(intake.texts.judgment(row)) for row in range(len(one_by_one))] == [
        judgment_payload(one) for one in one_by_one
    ]
    assert (source.judgments, source.rejects, source.duplicates) == (
        *(counted.judgments, counted.rejects, counted.duplicates),
    )
    assert (source.rejects, source.duplicates) == (2, 2)
    reading.close()


async def test_other_inputs_are_read_a_second_time(tmp_path):
    file = tmp_path / "in.json"
    file.write_bytes(orjson.dumps(records()))
    reading = Reading(open_judgments([file]))
    async for _ in reading.blocks():
        pass
    texts = reading.intake().texts
    assert [texts.judgment(row).id for row in (1, 1, 4, 0)] == ["j1", "j1", "j4", "j0"]
