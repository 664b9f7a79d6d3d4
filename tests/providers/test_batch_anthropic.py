import json

from metajudge.providers.batch_protocol import Ending
from tests.providers.batch_lines import ANTHROPIC


def anthropic_line(name, **result):
    return json.dumps({"custom_id": name, "result": result}).encode() + b"\n"


def test_anthropics_errors_get_the_status_they_have_live():
    for kind, status in (("invalid_request_error", 400), ("overloaded_error", 529), ("new_error", 500)):
        error = {"type": "error", "error": {"type": kind, "message": "m"}}
        line = json.loads(anthropic_line("a", type="errored", error=error))
        assert ANTHROPIC.read(line)[1].status == status
    assert ANTHROPIC.read(json.loads(anthropic_line("a", type="canceled")))[1].ending is Ending.CANCELED
    assert ANTHROPIC.read(json.loads(anthropic_line("a", type="unheard_of"))) is None
