"""The prompt for criteria holds the request and nothing else."""

from metajudge.prompts.criteria import render_criteria, render_criteria_system


def test_the_request_is_fenced_and_changes_nothing_but_itself():
    one, other = render_criteria("Write a poem."), render_criteria("Add 2 and 2.")
    assert "Write a poem." in one
    assert "Add 2 and 2." not in one
    assert one != other


def test_the_instruction_is_the_same_for_all_requests():
    assert render_criteria_system() is render_criteria_system()
    assert "criteri" in render_criteria_system().lower()
