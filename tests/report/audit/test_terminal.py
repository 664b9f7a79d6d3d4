import pytest

from metajudge.report.audit.commands import Given, next_commands
from metajudge.report.audit.published import published
from metajudge.report.audit.terminal import STYLES, WIDTH, lines
from tests.report.audit import cards


def shown(**changes):
    report = cards.report(**changes)
    commands = next_commands(report, Given(inputs=("a very long folder name/with a file in it/" + "x" * 60 + ".csv",)))
    return list(lines(published(report, next_commands=commands)))


def text(**changes):
    return "\n".join(line.text for line in shown(**changes))


def test_only_commands_are_wider_than_a_terminal():
    wide = [line.text for line in shown() if len(line.text) > WIDTH]
    assert wide
    assert all(line.lstrip().startswith("metajudge ") for line in wide)


def test_the_order_is_what_the_file_supports_then_judges_then_the_jury_then_next():
    found = text()
    places = [
        found.index(part)
        for part in (
            "400 verdicts of 2 judges",
            "What the file holds",
            "What it supports today",
            "Judges side by side",
            "Judge owl",
            "Judge wren",
            "What the jury is worth",
            "Next",
        )
    ]
    assert places == sorted(places)


def test_a_figure_is_shown_with_interval_and_n():
    assert "Right by people's labels                81.3 % (75.1 to 86.2), n 200" in text()
    assert "people (human ceiling)        160   88.0 (80.0 to 93.0)" in text()


def test_naive_and_corrected_rates_stand_together():
    found = text()
    assert "naive (verdicts as if right)           75.0 % (70.0 to 80.0)" in found
    assert "corrected, prediction-powered          61.0 % (54.0 to 68.0)" in found


def test_every_check_ends_as_finding_no_finding_or_underpowered():
    found = text()
    assert "FINDING       drift in words                -24.0 (-35.0 to -13.0)  sees   6.0" in found
    assert "What was seen of drift." in found
    assert "no finding    length in words                  +2.0 (-3.0 to +7.0)  sees   6.0" in found
    assert "underpowered  versions in words                +2.0 (-3.0 to +7.0)  sees  21.0" in found
    assert "200 here; about 700 labels would see 10.0" in found
    assert "underpowered  copy in words                     not estimated, n 3\n" in found
    assert found.index("FINDING") < found.index("underpowered  ") < found.index("no finding  ")


def test_many_rates_are_a_table_with_naive_and_corrected_side_by_side():
    rates = cards.card().rates * 3
    found = text(judges=(cards.card(rates=rates),))
    assert found.count("  share that passes         75.0 (70.0-80.0)  61.0 (54.0-68.0)  62.0 (53.0-71.0)") == 3
    assert "naive (verdicts as if right)" not in found


def test_one_disagreement_an_item_is_shown():
    (one,) = cards.card().worst
    twice = cards.card(worst=(one, one.model_copy(update={"judgment": "j2"})))
    assert ("j1: verdict" in text(judges=(twice,)), "j2: verdict" in text(judges=(twice,))) == (True, False)


def test_what_one_more_column_would_add_is_shown():
    assert "no   own family: the models that wrote the responses are not named" in text()
    assert "+ a column with the model of each response (--map models.A=COLUMN)" in text()


def test_disagreements_show_their_texts_without_secrets():
    found = text()
    assert "j1: verdict 2, label 1 (3 people, all)" in found
    assert "response   Five. My key is [hidden]." in found
    assert cards.KEY not in found


@pytest.mark.parametrize("status", STYLES)
def test_the_status_is_coloured_and_named(status):
    (first, *_) = [line for line in shown() if line.style == STYLES[status] and len(line.text) > 16]
    assert first.styled <= 16


def test_control_characters_of_a_judges_name_do_not_reach_the_terminal():
    judge = cards.card("owl\x1b[31m\n")
    assert "\x1b" not in text(judges=(judge,))


def test_without_labels_the_judges_are_compared_with_their_peers():
    found = text(judges=(cards.unlabelled(),), ceilings=())
    assert "like peers % (95 %)" in found
    assert "right %" not in found


def test_nothing_is_printed_of_what_there_is_not():
    found = text(juries=(), notices=(), next_steps=(), judges=(cards.unlabelled(),), ceilings=())
    for part in ("jury", "Notes", "Next", "Worst", "Checks", "None"):
        assert part not in found
