"""The campaign in small: one cell of each kind, and that it finds out what must not happen."""

import pytest
from metajudge.benchmarks.perf import fault_operations, faults
from metajudge.benchmarks.perf.fault_operations import JOB, VET, ItemResult

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def campaign(tmp_path):
    return faults.Campaign(tmp_path)


@pytest.mark.parametrize("fault", ["429", "drop", "truncated_body"])
def test_what_a_second_attempt_cures_changes_no_result(fault, campaign):
    cell = campaign.model_fault(fault, VET)
    assert cell.injected > 0
    assert (cell.equal, cell.cured) == (cell.items, cell.items)
    assert cell.sound


@pytest.mark.parametrize("operation", [JOB, fault_operations.JUDGE, fault_operations.BENCH], ids=lambda o: o.name)
def test_a_refusal_is_a_typed_failure_in_every_operation(operation, campaign):
    cell = campaign.model_fault("refusal", operation)
    assert cell.typed > 0
    assert cell.equal + cell.typed == cell.items
    assert cell.sound


@pytest.mark.parametrize(
    ("fault", "operation", "disturb"), faults.PROCESS_CELLS, ids=lambda one: getattr(one, "name", str(one)[:22])
)
def test_nothing_is_lost_when_processes_and_disks_fail(fault, operation, disturb, campaign):
    cell = campaign.process_fault(fault, operation, disturb)
    assert cell.exits[1] == 0
    first = {
        "kill -9 of the client": -9,
        "Ctrl-C twice": 130,
        "disk full under --out": 1,
        "read-only folder": 2,
        "store locked": 1,
    }
    assert cell.exits[0] == first.get(fault, cell.exits[0])
    assert cell.cured == cell.items
    assert cell.sound


def test_a_result_that_changes_without_a_word_is_found_out(campaign, monkeypatch):
    campaign.expected(VET)
    found = VET.outcomes

    def changed(folder):
        outcomes = found(folder)
        name = next(iter(outcomes))
        outcomes[name] = [ItemResult({"final_score": 5}, failed=False)] * 2
        outcomes.popitem()
        return outcomes

    broken = fault_operations.Operation(VET.name, VET.prepare, VET.words, changed)
    cell = campaign.model_fault("500", broken)
    assert (cell.silent, cell.duplicates, cell.lost) == (1, 1, 1)
    assert not cell.sound
