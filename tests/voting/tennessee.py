"""The vote on the capital of Tennessee, and a rule by its name."""

# Tennessee's capital: 42 % Memphis, 26 % Nashville, 15 % Chattanooga, 17 % Knoxville, each by distance.
TENNESSEE = {
    "ballots": [
        ["Memphis", "Nashville", "Chattanooga", "Knoxville"],
        ["Nashville", "Chattanooga", "Knoxville", "Memphis"],
        ["Chattanooga", "Knoxville", "Nashville", "Memphis"],
        ["Knoxville", "Chattanooga", "Nashville", "Memphis"],
    ],
    "weights": [42, 26, 15, 17],
}


def rank(rule, data, **options):
    return rule([list(ballot) for ballot in data["ballots"]], weights=data["weights"], **options)
