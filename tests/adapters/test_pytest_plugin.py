"""The pytest plugin, in runs of pytest of its own."""

import pytest

from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow
PLUGIN = ("-p", "no:cacheprovider", "-p", "no:xdist")


@pytest.fixture
def suite(pytester):
    """A suite of tests; pytest finds the plugin by itself, as in any environment with metajudge."""
    data = judgment("j1").model_dump(mode="json")
    pytester.makepyfile(
        f"""
        import pytest

        JUDGMENT = {data!r}

        def test_it_is_kept(assert_vetted):
            assert assert_vetted(JUDGMENT).final_score == 5.0

        @pytest.mark.asyncio
        async def test_it_is_kept_in_a_running_loop(assert_vetted):
            assert_vetted(JUDGMENT)
        """
    )
    return pytester


def test_a_kept_verdict_passes_and_a_discarded_one_fails_with_the_reason(suite):
    with LLMServer(answer=score_answer(5)) as models:
        result = suite.runpytest_subprocess(*PLUGIN, f"--vet-agent=openai:gpt-4o-mini@{models.url}")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["metajudge: 2 verdicts vetted: 2 kept"])
    with LLMServer(answer=score_answer(2)) as models:
        suite.makeini(f"[pytest]\nvet_agent = openai:gpt-4o-mini@{models.url}")
        result = suite.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*j1: metajudge discards the judgment: score 2.00, threshold 4.5*", "*2 discarded"])


def test_without_anybody_to_ask_the_error_says_what_to_give(suite):
    result = suite.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*assert_vetted needs --vet-agent, --vet-config or --vet-service*"])
