"""Human review: a queue of doubtful verdicts, claims with a lease, decisions, and how far reviewers agree."""
