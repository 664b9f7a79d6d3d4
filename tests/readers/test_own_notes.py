"""What `metajudge push` wrote is no verdict, in what the SDKs' models give of it."""

import orjson
import pytest

from metajudge.readers import open_judgments
from tests.readers.interop_files import INTEROP


@pytest.mark.parametrize(
    ("name", "judge", "rationale", "labels"),
    [
        ("langfuse-api", "correctness", "The answer is right.", [True, False, True]),
        ("langsmith-api", "correctness", "The answer is right.", [1, 0, 1]),
        ("argilla-api", "openai/gpt-4o-mini/correctness", "", ["yes", "no", "yes"]),
    ],
)
def test_the_verdicts_are_read_with_labels_and_our_notes_are_not(name, judge, rationale, labels):
    source = open_judgments([INTEROP / name])
    found = list(source)
    assert [(one.judge, one.item.question) for one in found] == [(judge, f"{n}+1?") for n in (1, 2, 3)]
    assert found[0].rationale == rationale
    assert [one.value.value for one in found[0].item.labels] == labels
    assert source.rejects == 0
    written = "".join(file.read_text() for file in (INTEROP / name).glob("*.jsonl"))
    assert "metajudge_key" in written or '"metajudge:' in written


def test_a_comment_that_is_an_object_is_its_json_text(tmp_path):
    for name, score in (("langfuse-api", "scores"), ("langsmith-api", "feedback")):
        folder = tmp_path / name
        folder.mkdir()
        for file in (INTEROP / name).glob("*.jsonl"):
            rows = [orjson.loads(line) for line in file.read_bytes().splitlines()]
            if file.stem == score:
                rows[0]["comment"] = {"why": "it is so"}
            (folder / file.name).write_bytes(b"\n".join(map(orjson.dumps, rows)))
        assert next(iter(open_judgments([folder]))).rationale == '{"why":"it is so"}'
