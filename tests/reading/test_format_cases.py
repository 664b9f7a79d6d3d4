"""Small files of every format, and what is read of them: ``cases/FORMAT.jsonl`` has a case a line.

A case says what it shows, the files (a text, ``{"json": data}`` or ``{"lines": [data, ...]}``), which of them is read,
what ``values`` mean and ``columns`` are where the user says so, and what is ``told``: the judgments without the fields
at their default, the rejects, and what became of people's scores; or the error; or, of a file with people's answers
alone, its labels by item, name, value and person. ``FOLDER`` stands for where the files are.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import FieldMap, Reject, open_judgments
from metajudge.reading.label_files import read_labels
from metajudge.reading.people import PeopleOnlyError

CASES = [
    pytest.param(json.loads(line), id=f"{path.stem}-{number}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
    for number, line in enumerate(path.read_text().splitlines(), start=1)
]


def written(data: Any) -> str:
    if isinstance(data, str):
        return data
    return json.dumps(data["json"]) if "json" in data else "".join(json.dumps(one) + "\n" for one in data["lines"])


def told(path: Path, values: dict[str, str] | None, columns: dict[str, str] | None, labels: bool) -> dict[str, Any]:
    try:
        given = FieldMap(columns=columns or {}, values=values or {}) if values or columns else None
        source = open_judgments([path], mapping=given)
        found = [
            {"line": one.line, "reject": one.reason, "text": one.text}
            if isinstance(one, Reject)
            else one.model_dump(mode="json", exclude_defaults=True)
            for one in source.scan()
        ]
    except InputError as error:
        if labels and isinstance(error, PeopleOnlyError):
            return {"labels": [[*one.keys.values(), one.value, one.annotator] for one in read_labels([path]).rows]}
        return {"error": str(error)}
    return {"format": source.formats[str(path)], "found": found, "people": source.people.notice()}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_of_a_file(case: dict[str, Any], tmp_path: Path) -> None:
    for name, data in case["files"].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(data))
    found = json.dumps(told(tmp_path / case["read"], case.get("values"), case.get("columns"), "labels" in case["told"]))
    assert json.loads(found.replace(str(tmp_path), "FOLDER")) == case["told"], case["says"]
