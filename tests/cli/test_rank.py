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


def test_kemeny_prints_cost_optima_mean_ranks_and_the_advice(metajudge, panel):
    done = metajudge("rank", panel)
    assert done.returncode == 0, done.stderr
    assert "kemeny: 6 candidates, 6 ballots" in done.stdout
    assert "Cost 27" in done.stdout
    assert "8 orders cost as little: proven" in done.stdout
    assert "mistral        1.250  1 to 2" in done.stdout
    assert "5 of 15 pairs are tied" in done.stdout
    assert "odd panel" in done.stdout


def within(*arguments):
    """The command in this process, for what needs no process of its own."""
    done = CliRunner().invoke(app, ["rank", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def as_json(*arguments):
    return json.loads(within(*arguments, "--json").stdout)


def test_json_has_every_figure_of_the_text(panel):
    data = as_json(panel, "--max-optima", "3")
    assert (data["cost"], data["n_optima"], len(data["optima"]), data["proven"]) == (27.0, 8, 3, True)
    assert data["ranking"][0] == ["mistral"]
    assert data["mean_rank"]["mistral"] == 1.25
    assert data["span"]["claude"] == [1, 4]
    assert data["options"]["unranked"] == "below"
    assert len(data["warnings"]) == 2


@pytest.mark.parametrize(
    "rule",
    [
        "borda",
        "copeland",
        "schulze",
        "ranked_pairs",
        "median_rank",
        "plurality",
        "agreement_weighted_borda",
        "bradley_terry",
        "plackett_luce",
    ],
)
def test_every_rule_prints_and_is_the_librarys(panel, rule):
    from metajudge import voting

    ballots = [json.loads(line)["ranking"] for line in panel.read_text("utf-8").splitlines()]
    expected = getattr(voting, rule)(ballots)
    data = as_json(panel, "--rule", rule)
    assert data["ranking"] == [list(group) for group in expected.ranking]
    assert data["scores"] == pytest.approx(dict(expected.scores))


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


def test_votes_on_pairs_are_warned_of_and_ranked_by_strength(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("ranking\na>b\nb>c\nc>a\na>b\n", "utf-8")
    assert "use --unranked ignore" in within(path).stdout
    assert "log-strength" in within(path, "--rule", "bradley_terry").stdout


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


def test_a_missing_file_is_a_users_error():
    with pytest.raises(UserError, match=r"cannot read nowhere\.csv"):
        within("nowhere.csv")


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
