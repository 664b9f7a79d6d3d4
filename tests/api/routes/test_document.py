"""The whole OpenAPI document against the running service: no 5xx, no undocumented answer, nothing valid refused."""

import pytest

from metajudge.panels.config import panel_config
from tests.doubles.llm_server import score_answer

EXAMPLES = 12
ENDLESS = "/v1/outcomes/events"
BEYOND_SCHEMAS = {
    "order, labels, metadata and verdicts name the item's responses": (
        *("POST /v1/vet", "POST /v1/vet/stream", "POST /v1/vet/batch", "POST /v1/audit"),
        *("POST /v1/judge", "POST /v1/clash", "POST /v1/clash/batch"),
    ),
    "panels, policies, rubrics and types of cases are those of this service": (
        "POST /v1/cases",
        "POST /v1/cases/batch",
    ),
    "rankings name candidates, each once": ("POST /v1/rank", "POST /v1/peers"),
    "scales have points, bands cover them, names are those of the path": (
        *("PUT /v1/rubrics/{name}", "PUT /v1/policies/{name}"),
    ),
    "a cursor is one of the page before": ("GET /v1/jobs", "GET /v1/reviews"),
    "scores go with an outcome and one review": ("POST /v1/reviews/decide",),
    "what is selected is stored": ("POST /v1/export/preferences",),
    "without keys a reviewer gives a name": (
        *(f"POST /v1/reviews/{{review_id}}/{what}" for what in ("claim", "release", "decide", "amend", "comment")),
        "GET /v1/reviews/progress",
    ),
}
"""What no schema can say -> operations that may refuse input that is valid by the document."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_no_operation_answers_what_it_does_not_document(serve, models, tmp_path):
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        ignored_auth,
        missing_required_header,
        negative_data_rejection,
        positive_data_acceptance,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
        unsupported_method,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    checks += [response_headers_conformance, negative_data_rejection, missing_required_header, unsupported_method]
    checks += [ignored_auth]
    may_refuse = {label for labels in BEYOND_SCHEMAS.values() for label in labels}
    server = models(answer=score_answer(4))
    agents = [{"name": n, "model": f"openai:{n}@{server.url}", "price": {"input": 1, "output": 1}} for n in "ab"]
    client = serve(panels={"default": panel_config({"agents": agents})}, store=tmp_path / "s.duckdb")
    schema = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json", timeout=60)
    tried, wrong = {}, []
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def check(case):
            tried[case.operation.label] = tried.get(case.operation.label, 0) + 1
            if case.path == ENDLESS:
                case.query = {**(case.query or {}), "follow": "false"}
            refusing = [] if case.operation.label in may_refuse else [positive_data_acceptance]
            case.call_and_validate(checks=[*checks, *refusing], timeout=20)

        try:
            check()
        except Exception as error:  # all operations are tried before the test fails
            wrong.append(f"{operation.label}: {error}")
    assert not wrong, "\n\n".join(wrong)
    assert len(tried) >= 35
    assert may_refuse <= set(tried)
    assert all(tried.values())


@pytest.mark.parametrize("keyed", [True, False])
def test_an_operation_needs_a_key_where_there_are_keys(serve, keyed):
    document = serve(**({"api_key": "k" * 32} if keyed else {})).get("/openapi.json").json()
    assert bool(document["paths"]["/v1/vet"]["post"]["security"]) == keyed


def test_what_depends_on_the_store_is_a_conflict_and_no_mistake_of_the_caller(client):
    for path in ("/v1/feedback/proposals", "/v1/feedback/drafts"):
        assert client.post(path).status_code == 409
        assert client.post(f"{path}?policy=unknown").status_code == 404
