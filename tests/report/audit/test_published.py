import json

import jsonschema

from metajudge.audit.card import Kappa
from metajudge.audit.gather import EXCERPT
from metajudge.report.audit.published import AuditDocument, published
from tests.report.audit import cards


def test_the_json_has_the_fields_that_programs_rely_on():
    data = json.loads(published(cards.report()).model_dump_json())
    assert (data["format"], data["version"]) == ("metajudge-audit", 1)
    judge = data["judges"][0]
    assert (judge["judge"], judge["n"], judge["accuracy"], judge["kappa"]) == ("owl", 204, 0.813, 0.61)
    assert judge["human_ceiling"] == 0.88
    check = judge["checks"][0]
    assert {name: check[name] for name in ("name", "status", "estimate", "interval", "smallest_effect")} == {
        "name": "drift",
        "status": "finding",
        "estimate": -0.24,
        "interval": [-0.35, -0.13],
        "smallest_effect": 0.06,
    }


def test_every_figure_has_its_interval_count_and_definition():
    judge = published(cards.report()).judges[0]
    for name, figure in judge.figures.items():
        assert (figure.interval, figure.n > 0, bool(figure.method)) != (None, False, False), name
    assert isinstance(judge.figures["kappa"], Kappa)
    assert judge.figures["kappa"].name == "Cohen's kappa, weighted"
    assert "flips" not in judge.figures  # it was not measured


def test_what_was_not_measured_is_null_and_not_zero():
    judge = json.loads(published(cards.report()).model_dump_json())["judges"][1]
    assert judge["accuracy"] is None
    assert judge["kappa"] is None
    assert list(judge["figures"]) == ["peer_agreement"]


def test_the_document_is_what_its_schema_says_and_reads_back_as_itself():
    found = published(cards.report(), inputs=("a.csv",))
    schema = AuditDocument.model_json_schema(mode="serialization")
    jsonschema.validate(json.loads(found.model_dump_json()), schema)
    assert AuditDocument.model_validate_json(found.model_dump_json()) == found


def test_texts_are_shortened_and_secrets_in_them_hidden():
    long = cards.card()
    worst = long.worst[0].model_copy(update={"question": "q" * EXCERPT})
    found = published(cards.report(judges=(long.model_copy(update={"worst": (worst,)}),)))
    shown = found.judges[0].worst[0]
    assert len(shown.question) == EXCERPT
    assert shown.question.endswith("...")
    assert cards.KEY not in found.model_dump_json()
