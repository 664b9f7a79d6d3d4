"""Strict rendering of prompt files."""

import importlib
import pkgutil

import pytest

from metajudge import prompts
from metajudge.errors import PromptError
from metajudge.prompts.meta_judge import ROLES
from metajudge.prompts.templates import prompts_digest, render, template_names


def test_every_template_is_known():
    modules = [
        importlib.import_module(f"metajudge.prompts.{found.name}") for found in pkgutil.iter_modules(prompts.__path__)
    ]
    used = {name for module in modules for name in getattr(module, "TEMPLATES", ())}
    assert set(template_names()) == used | {f"role_{name}" for name in ROLES}


def test_a_missing_variable_is_an_error():
    with pytest.raises(PromptError, match="prompt 'repair': variable 'problems' is missing; it takes problems"):
        render("repair")


def test_an_unused_value_is_an_error():
    with pytest.raises(PromptError, match="prompt 'repair': value 'problem' is not used by the template; it takes"):
        render("repair", problems=["x"], problem="x")
    with pytest.raises(PromptError, match="value 'x' is not used by the template; it takes no variables"):
        render("role_critic", x=1)


@pytest.mark.parametrize("name", ["nothing", "../meta_judge", "system.md.j2", ""])
def test_an_unknown_template_is_an_error(name):
    with pytest.raises(PromptError, match=r"no prompt template .*; there are .*discussion, .*judgment"):
        render(name)
    with pytest.raises(PromptError, match="no prompt template"):
        prompts_digest(name)


def test_values_are_never_rendered_again():
    text = render("repair", problems=["{{ 7 * 7 }} {% raw %} {# gone? #}"])
    assert "{{ 7 * 7 }} {% raw %} {# gone? #}" in text
    assert "49" not in text
