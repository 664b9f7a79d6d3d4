"""The whole OpenAPI document against the running service: no 5xx, no undocumented answer."""

import pytest

from metajudge.panels.config import panel_config
from tests.doubles.llm_server import score_answer

EXAMPLES = 25
ENDLESS = "/v1/outcomes/events"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_no_operation_answers_what_it_does_not_document(serve, models, tmp_path):
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    server = models(answer=score_answer(4))
    agents = [{"name": n, "model": f"openai:{n}@{server.url}", "price": {"input": 1, "output": 1}} for n in "ab"]
    client = serve(panels={"default": panel_config({"agents": agents})}, store=tmp_path / "s.duckdb")
    schema = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")
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
            case.call_and_validate(checks=checks, timeout=20)

        try:
            check()
        except Exception as error:  # all operations are tried before the test fails
            wrong.append(f"{operation.label}: {error}")
    assert not wrong, "\n\n".join(wrong)
    assert len(tried) >= 35
    assert all(tried.values())
