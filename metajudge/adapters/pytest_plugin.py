"""A pytest plugin: tests that assert that a judge's verdict can be trusted.

::

    def test_the_answer_is_right(assert_vetted):
        verdict = my_judge("What is 2 + 2?", "4")
        assert_vetted({"id": "sum", "item": {...}, "judge": "gpt-4o-mini", "verdict": verdict.label,
                       "rationale": verdict.reason})

It is installed with metajudge. Choose the meta-judges with ``--vet-agent`` (repeatable), ``--vet-config`` or
``--vet-service``, or with ``vet_agent``, ``vet_config`` and ``vet_service`` in pytest's configuration.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # pytest loads plugins in every run: nothing heavy before a test vets
    from metajudge.adapters.vetting import Vetting
    from metajudge.types import Assessment, Judgment

_OPTIONS = {
    "vet_agent": "a meta-judge for assert_vetted, [NAME=]PROVIDER:MODEL[@BASE_URL]",
    "vet_config": "a panel file for assert_vetted",
    "vet_service": "the URL of a running `metajudge serve` for assert_vetted",
}
_COUNTS = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, on the command line and in the configuration."""
    group = parser.getgroup("metajudge")
    for name, help_text in _OPTIONS.items():
        action = "append" if name == "vet_agent" else "store"
        group.addoption(f"--{name.replace('_', '-')}", action=action, dest=name, help=help_text)
    parser.addini("vet_agent", _OPTIONS["vet_agent"], type="linelist", default=[])
    parser.addini("vet_config", _OPTIONS["vet_config"], default=None)
    parser.addini("vet_service", _OPTIONS["vet_service"], default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Nothing was vetted so far."""
    config.stash[_COUNTS] = Counter()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A line on what was vetted, where anything was."""
    counts = config.stash[_COUNTS]
    if counts:
        said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        terminalreporter.write_line(f"metajudge: {counts.total()} verdicts vetted: {said}")


@pytest.fixture(scope="session")
def metajudge_vetting(pytestconfig: pytest.Config) -> "Vetting":
    """What vets, by the options; override it to choose by code."""
    from metajudge.adapters.vetting import Vetting

    agents, panel, service = (pytestconfig.getoption(name) or pytestconfig.getini(name) for name in _OPTIONS)
    if not agents and not panel and not service:
        raise pytest.UsageError("assert_vetted needs --vet-agent, --vet-config or --vet-service")
    return Vetting(agents or (), config=panel or None, service=service or None)


@pytest.fixture
def assert_vetted(
    metajudge_vetting: "Vetting", pytestconfig: pytest.Config
) -> "Callable[[Judgment | Mapping[str, Any]], Assessment]":
    """Vets a judgment, a record or plain data; the test fails unless it is to be kept."""
    from metajudge.adapters.vetting import reason_of
    from metajudge.reading.reasons import as_judgment

    def check(judgment: "Judgment | Mapping[str, Any]") -> "Assessment":
        __tracebackhide__ = True
        assessment = metajudge_vetting.vet_now(as_judgment(judgment))
        outcome = {True: "kept", False: "discarded", None: "undecided"}[assessment.kept]
        pytestconfig.stash[_COUNTS][outcome] += 1
        if not assessment.kept:
            pytest.fail(f"{assessment.judgment_id}: {reason_of(assessment)}", pytrace=False)
        return assessment

    return check
