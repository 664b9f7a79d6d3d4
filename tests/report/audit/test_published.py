import json

import jsonschema

from metajudge.audit.card import AuditDocument
from metajudge.audit.gather import EXCERPT
from metajudge.report.audit.published import published
from tests.report.audit import cards


def test_what_was_not_measured_is_null_and_not_zero():
    found = published(cards.report(judges=(cards.unlabelled(),)))
    judge = json.loads(found.model_dump_json())["judges"][0]
    assert (judge["accuracy"], judge["kappa"], judge["figures"]) == (None, None, {})


def test_the_document_is_what_its_schema_says_and_reads_back_as_itself():
    found = published(cards.report(), inputs=("a.csv",))
    schema = AuditDocument.model_json_schema(mode="serialization")
    jsonschema.validate(json.loads(found.model_dump_json()), schema)
    assert AuditDocument.model_validate_json(found.model_dump_json()) == found


def test_texts_are_shortened_and_secrets_in_them_hidden():
    worst = cards.card().worst[0].model_copy(update={"question": "q" * EXCERPT})
    found = published(cards.report(judges=(cards.card(worst=(worst,)),)))
    shown = found.judges[0].worst[0]
    assert len(shown.question) == EXCERPT
    assert shown.question.endswith("...")
    assert cards.KEY not in found.model_dump_json()
