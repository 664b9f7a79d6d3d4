"""The published schema of ``vet --json`` fits what is printed."""

import json

import jsonschema

from metajudge.cli.vet_report import print_json
from metajudge.evidence.counting import Counts
from metajudge.vetting.summary import VetSummary
from metajudge.vetting.summary_schema import summary_schema


def test_what_is_printed_fits_the_schema(tmp_path, capsys):
    summary = VetSummary(judgments=3, accepted=2, rejected=1, webhook={"delivered": 1, "known": 0, "failed": 0})
    summary.failures["connection"] = 2
    print_json(summary, Counts(), tmp_path / "r.jsonl")
    printed = json.loads(capsys.readouterr().out)
    schema = summary_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(printed, schema)
    assert (printed["version"], printed["kept"], printed["discarded"]) == (1, 2, 1)
    assert printed.keys() <= schema["properties"].keys()
    assert not {"gathered", "accepted", "rejected"} & schema["properties"].keys()
