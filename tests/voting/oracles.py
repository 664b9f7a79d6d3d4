"""Answers of pref_voting and crowd-kit, recorded once: both pull in far more than a test may ask for.

    pip install "pref_voting==1.18.2" "crowd-kit==1.4.2"
    python -m tests.voting.oracles

pref_voting needs numba, OR-Tools and a GPL package, crowd-kit transformers and nltk; so neither is a dependency of the
tests. What they answered on the profiles of :mod:`tests.voting.profiles` is in ``oracles.json``, and the tests compare
with that.
"""

import json
import random
from importlib.metadata import version
from pathlib import Path

from tests.voting.profiles import groups_of, random_ballot, shuffled_ballots

FILE = Path(__file__).parent / "oracles.json"
STRICT, TIED = 120, 120
CROWDS = ({"classes": 2, "voters": 5}, {"classes": 3, "voters": 6}, {"classes": 4, "voters": 8})


def strict_profile(seed):
    """(number of candidates, strict complete ballots, whole weights)."""
    source = random.Random(1000 + seed)
    size = source.randint(2, 5)
    ballots = shuffled_ballots(2000 + seed, list(range(size)), source.randint(1, 6))
    return size, ballots, [source.randint(1, 3) for _ in ballots]


def tied_profile(seed):
    """(number of candidates, weak and truncated ballots, whole weights)."""
    source = random.Random(3000 + seed)
    size = source.randint(2, 5)
    ballots = [random_ballot(source, list(range(size))) for _ in range(source.randint(1, 6))]
    return size, ballots, [source.randint(1, 3) for _ in ballots]


def crowd(number):
    """(items, voters, labels): voters of known accuracy, a fifth of the labels missing."""
    shape = CROWDS[number]
    source = random.Random(number)
    rows = []
    for item in range(150):
        truth = source.randrange(shape["classes"])
        for voter in range(shape["voters"]):
            if source.random() < 0.2:
                continue
            right = source.random() < 0.9 - 0.08 * voter
            rows.append((f"i{item}", f"v{voter}", truth if right else source.randrange(shape["classes"])))
    return tuple(zip(*rows, strict=True))


def record_pref_voting():
    from pref_voting import c1_methods, margin_based_methods, other_methods, scoring_methods
    from pref_voting.profiles import Profile
    from pref_voting.profiles_with_ties import ProfileWithTies

    rules = {"copeland": c1_methods.copeland, "schulze": margin_based_methods.beat_path}
    strict = []
    for seed in range(STRICT):
        size, ballots, weights = strict_profile(seed)
        profile = Profile(ballots, weights)
        winners = {name: sorted(map(int, rule(profile))) for name, rule in rules.items()}
        if size <= 4:  # it tries every order of equal majorities, and there are ten of them among five candidates
            winners["ranked_pairs"] = sorted(map(int, margin_based_methods.ranked_pairs(profile)))
        winners["borda"] = sorted(map(int, scoring_methods.borda(profile)))
        winners["plurality"] = sorted(map(int, scoring_methods.plurality(profile)))
        orders, distance = other_methods.kemeny_young_rankings(profile)
        winners["kemeny"] = sorted([list(map(int, order)) for order in orders])
        strict.append({"winners": winners, "distance": int(distance)})
    tied = []
    for seed in range(TIED):
        size, ballots, weights = tied_profile(seed)
        places = [{name: i for i, group in enumerate(groups_of(ballot)) for name in group} for ballot in ballots]
        profile = ProfileWithTies(places, weights, candidates=list(range(size)))
        profile.use_extended_strict_preference()
        winners = {name: sorted(map(int, rule(profile))) for name, rule in rules.items()}
        if size <= 4:
            winners["ranked_pairs"] = sorted(map(int, margin_based_methods.ranked_pairs(profile)))
        winners["borda"] = sorted(map(int, scoring_methods.borda_for_profile_with_ties(profile)))
        tied.append({"winners": winners})
    return {"version": version("pref_voting"), "strict": strict, "tied": tied}


def record_crowd_kit():
    import pandas as pd
    from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

    found = []
    for number in range(len(CROWDS)):
        items, voters, labels = crowd(number)
        data = pd.DataFrame({"task": items, "worker": voters, "label": labels})
        models = {"full": DawidSkene(n_iter=150, tol=0.0), "one_coin": OneCoinDawidSkene(n_iter=150, tol=0.0)}
        answers = {}
        for name, model in models.items():
            shares = model.fit_predict_proba(data).sort_index(axis=1)
            answers[name] = {
                "steps": len(model.loss_history_),
                "posterior": {str(item): [round(float(p), 6) for p in row] for item, row in shares.iterrows()},
            }
        found.append(answers)
    return {"version": version("crowd-kit"), "posteriors": found}


if __name__ == "__main__":
    recorded = {"pref_voting": record_pref_voting(), "crowd_kit": record_crowd_kit()}
    FILE.write_text(json.dumps(recorded, separators=(",", ":")) + "\n", "utf-8")
