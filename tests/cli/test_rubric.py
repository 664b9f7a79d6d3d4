"""``metajudge rubric show``: a rubric and its prompt, by prompt set."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.prompts.meta_judge import render_system
from metajudge.prompts.reply_form import ReplyForm
from metajudge.rubric import BUILTIN_RUBRICS, load_rubric


def prompt(rubric, version):
    return render_system(rubric, None, ReplyForm(analysis=version > 1), version=version) + "\n"


@pytest.mark.parametrize("name", BUILTIN_RUBRICS)
def test_the_prompt_is_that_of_the_newest_set_or_of_the_one_named(run, name):
    newest, first = load_rubric(name, prompt_set=2), load_rubric(name, prompt_set=1)
    assert run("rubric", "show", name, "--prompt").stdout == prompt(newest, 2)
    assert run("rubric", "show", name, "--prompt", "--prompt-version", 2).stdout == prompt(newest, 2)
    assert run("rubric", "show", name, "--prompt", "--prompt-version", 1).stdout == prompt(first, 1)


def test_the_rubric_is_that_of_the_set_and_says_what_judges_a_rationale(run):
    newest, first = (run("rubric", "show", "short", *more).stdout for more in ((), ("--prompt-version", 1)))
    assert load_rubric("short").digest in newest
    assert load_rubric("short", prompt_set=1).digest in first
    assert newest.count("judges the rationale") == 4
    assert "judges the rationale" not in first


def test_an_unknown_set_is_refused(run):
    with pytest.raises(ConfigurationError, match="unknown prompt set; choose one of 1, 2"):
        run("rubric", "show", "short", "--prompt-version", 9)
