"""The same commands on what 0.2 stored: no model is asked anything again, and everything comes out as it did."""

import json

import pytest

from tests.edges.recorded import check
from tests.edges.stored.stores import KINDS, expected_results, plain, results
from tests.stored.commands import run

EXPECTED = expected_results()
STILL_RUN = ("panels", "evidence", "verdicts", "people")
"""Kinds whose commands stay and find everything in the store; what the others stored is read elsewhere."""
CHANGED = {"vet_shipped", "vet_calibrated", "vet_policy", "vet_promised", "vet_signals"}
"""What comes out otherwise: the shipped default has other numbers, and P (of labels in the file, too) or the policy
decides."""
RESUMED = ("clash.attempts.jsonl", "clash_given.attempts.jsonl", "peers.ballots.jsonl", "peers.ballots.answers.jsonl")


def again(place, models, kind, on="file"):
    """Every command of a kind once more: what they printed, and what they found."""
    before = models.count
    with place(kind, on=on, proxy=models.url) as (folder, _):
        attempts = {name: (folder / name).read_bytes() for name in RESUMED if (folder / name).exists()}
        done = {name: run(*words) for name, words in KINDS[kind].items()}
        found = results(folder, kind)
        grown = [name for name, content in attempts.items() if (folder / name).read_bytes() != content]
    ended = {name: (one.code, one.stderr) for name, one in done.items() if one.code not in allowed(KINDS[kind][name])}
    assert ended == {}
    assert [request.body.get("model") for request in models.requests[before:]] == []
    assert grown == []
    assert found.keys() == EXPECTED[kind]["results"].keys()
    given = EXPECTED[kind]["results"]
    changed = {name for name, expected in given.items() if json.loads(json.dumps(found[name])) != expected}
    assert changed == CHANGED & given.keys()
    return folder, {name: one.json() for name, one in done.items() if one.stdout.startswith("{")}


def allowed(words):
    """Exit codes; 1 also where the receiver of a webhook is away."""
    return (0, 1) if "--webhook" in words else (0,)


@pytest.mark.parametrize("kind", ["panels", "evidence", "verdicts"])
def test_the_same_commands_ask_nothing_again_and_find_the_same(place, models, kind):
    _, printed = again(place, models, kind)
    for name, one in printed.items():
        check(f"stored/again_{name}", summary(one))


@pytest.mark.slow
def test_so_does_the_command_that_people_have_decided_on(fresh, models):
    _, printed = again(fresh, models, "people")
    for name, one in printed.items():
        check(f"stored/again_{name}", summary(one))


@pytest.mark.slow
@pytest.mark.parametrize("on", ["file", "postgres"])
def test_a_draft_in_force_asks_only_about_records_it_was_not_tried_on(fresh, models, on):
    before = models.count
    with fresh("drafts", on=on, proxy=models.url):
        (words,) = KINDS["drafts"].values()
        assert run(*words).code == 0
        assert models.count - before == 48
        assert run(*words).code == 0
    assert models.count - before == 48


@pytest.mark.slow
@pytest.mark.parametrize("kind", STILL_RUN)
def test_so_do_stores_on_postgres(fresh, models, kind):
    _, printed = again(fresh, models, kind, on="postgres")
    for name, one in printed.items():
        check(f"stored/again_{name}", summary(one))


@pytest.mark.slow
def test_a_changed_command_does_ask(fresh, models):
    before = models.count
    with fresh("panels", proxy=models.url):
        done = run(*KINDS["panels"]["vet_single"], "--seed", "8")
    assert done.code == 0
    assert models.count - before == 10


def test_a_dry_run_knows_what_is_stored(place, models):
    with place("panels", proxy=models.url):
        found = {name: run(*words, "--dry-run").json() for name, words in KINDS["panels"].items()}
    shown = {n: [one[k] for k in ("judgments", "stored", "prompt_version", "calls")] for n, one in found.items()}
    check("stored/dry_runs", shown)


def summary(printed):
    """Of what a command printed everything but paths, times and what depends on how it was stored."""
    return plain({name: value for name, value in printed.items() if name not in LEFT_OUT})


LEFT_OUT = ("run_id", "store", "out")
