from metajudge.providers.batch_protocol import BatchAnswer, Ending
from tests.providers.batch_lines import OPENAI


def test_openais_errors_keep_their_status_and_reason():
    expired = {"custom_id": "a", "response": None, "error": {"code": "batch_expired", "message": "late"}}
    broken = {"custom_id": "a", "response": None, "error": {"code": "other", "message": "oh"}}
    assert OPENAI.read(expired) == ("a", BatchAnswer(None, ending=Ending.EXPIRED))
    assert OPENAI.read(broken)[1].status == 500
    assert OPENAI.read({"custom_id": "a"}) is None
    assert OPENAI.read({"response": {"status_code": 200}}) is None
