"""Audits from Python: records or plain data, labels beside them, and what is refused."""

import pytest

from metajudge.auditing import audit_judgments
from metajudge.errors import InputError
from tests.doubles.judgments import judgment

GIVEN = [judgment(id=f"j{n}", item_id=f"q{n}", label=None) for n in range(12)]
LABELS = [{"item_id": f"q{n}", "value": "A" if n < 9 else "B", "annotator": "ada"} for n in range(12)]


def test_records_plain_data_and_files_give_the_same(tmp_path):
    (tmp_path / "people.csv").write_text("item_id,label\n" + "".join(f"{o['item_id']},{o['value']}\n" for o in LABELS))
    one = audit_judgments(GIVEN, labels=LABELS)
    other = audit_judgments([record.model_dump(mode="json") for record in GIVEN], labels=tmp_path / "people.csv")
    assert one.judges[0].accuracy == other.judges[0].accuracy == 0.75
    assert one.holdings.annotators == 1


def test_labels_in_the_records_count_and_without_any_there_is_an_error():
    assert audit_judgments([judgment(id=f"j{n}", item_id=f"q{n}") for n in range(12)]).judges[0].accuracy == 1.0
    with pytest.raises(InputError, match="there is no label"):
        audit_judgments(GIVEN, labels=[])
