from metajudge.cases.case import Case
from metajudge.decision import CasePlan
from tests.cases.panels import RISK
from tests.doubles.cases import flood


def test_a_result_is_the_same_as_its_json():
    assert isinstance(RISK.cases, CasePlan)
    case = flood()
    assert Case.model_validate_json(case.model_dump_json()) == case
    assert case.digest != flood(type="regulatory").digest
    assert case.digest == flood(meta={"ticket": 7}).digest
