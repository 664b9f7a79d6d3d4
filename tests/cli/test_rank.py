import json
import random

import pytest
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.errors import UserError

NAMES = ["gpt", "claude", "llama", "qwen", "mistral", "gemma"]


@pytest.fixture
def panel(tmp_path):
    """Six judges, six models: eight Kemeny orders."""
    source = random.Random(3)
    path = tmp_path / "panel.jsonl"
    ballots = [{"voter": f"j{i}", "ranking": source.sample(NAMES, 6)} for i in range(6)]
    path.write_text("\n".join(map(json.dumps, ballots)), "utf-8")
    return path


def within(*arguments):
    """The command in this process, for what needs no process of its own."""
    done = CliRunner().invoke(app, ["rank", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.slow
def test_bad_lines_are_shown_and_end_with_1_under_strict(metajudge, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"ranking": ["a", "b"]}\n{"ranking": ["a", "a"]}\n', "utf-8")
    done = metajudge("rank", path)
    assert done.returncode == 0
    strict = metajudge("rank", path, "--strict")
    assert (strict.returncode, strict.stdout) == (1, "")
    assert "bad.jsonl:2: the ranking names 'a' twice" in strict.stderr
    assert "bad.jsonl:2: the ranking names 'a' twice" in done.stderr
    assert "1 ballot\n" in done.stdout


@pytest.mark.slow
def test_a_time_limit_that_comes_first_is_exit_code_1_with_the_bound(metajudge, tmp_path):
    source = random.Random(1)
    names = [f"m{i}" for i in range(60)]
    path = tmp_path / "hard.jsonl"
    path.write_text("\n".join(json.dumps({"ranking": source.sample(names, 60)}) for _ in range(7)), "utf-8")
    done = metajudge("rank", path, "--time-limit", "0.000001", "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["proven"] is False
    assert data["bound"] < data["cost"]
    assert "no order costs less than" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rule", "borda", "--ties", "half"], "borda has no --ties"),
        (["--rule", "bradley_terry", "--ties", "breslow"], "takes --ties half or ignore or davidson"),
        (["--rule", "plurality", "--unranked", "below"], "has no --unranked"),
        (["--rule", "borda", "--time-limit", "3"], "has no --time-limit"),
        (["--rule", "borda", "--max-optima", "3"], "has no --max-optima"),
        (["--prior", "1"], "kemeny has no --prior"),
    ],
)
def test_options_a_rule_does_not_have_are_refused_not_dropped(panel, options, message):
    with pytest.raises(UserError, match=message):
        within(panel, *options)


@pytest.mark.parametrize("options", [["--rule", "first"], ["--max-optima", "0"], ["--ties", "third"]])
def test_values_an_option_does_not_have_are_a_users_error(panel, options):
    assert within(panel, *options).exit_code == 2


def test_a_model_that_always_wins_is_a_users_error_with_the_way_out(metajudge, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("ranking\na>b\na>b\n", "utf-8")
    done = metajudge("rank", path, "--rule", "bradley_terry")
    assert done.returncode == 2
    assert "'a' never lost to 'b'" in done.stderr
    done = within(path, "--rule", "bradley_terry", "--prior", "0.5")
    assert done.exit_code == 0
    assert "prior of 0.5" in done.stdout


@pytest.mark.slow
def test_judgments_without_models_are_refused_and_never_ranked_by_place(metajudge, tmp_path):
    def one(number, **models):
        item = {"id": f"q{number}", "question": f"{number}?", "responses": {"A": "x", "B": "y"}}
        return {
            "id": f"j{number}",
            "item": item | ({"models": models} if models else {}),
            "judge": "g",
            "verdict": "B>A",
        }

    path = tmp_path / "j.jsonl"
    path.write_text("\n".join(json.dumps(one(number)) for number in range(3)), "utf-8")
    done = metajudge("rank", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "item.models" in done.stderr
    assert "--map models.A=COLUMN,models.B=COLUMN" in done.stderr

    rows = [one(1, A="gpt", B="claude"), one(2, A="claude", B="gpt"), one(3, A="gpt", B="claude"), one(4)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = metajudge("rank", path)
    assert "2 candidates, 3 ballots" in done.stdout
    assert "says nothing about any single question" in done.stdout
    assert done.stderr.count("skipped:") == 1


def test_a_table_is_ranked_by_the_models_that_a_mapping_names(metajudge, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("p,x,y,w,m,n\n?,a,b,B,gpt,claude\n", "utf-8")
    mapping = "question=p,responses.A=x,responses.B=y,verdict=w,judge:=me,models.A=m,models.B=n"
    done = metajudge("rank", path, "--map", mapping, "--json")
    assert json.loads(done.stdout)["ranking"] == [["claude"], ["gpt"]]
