"""What keeping verdicts buys downstream: preference sets, a reward model, a ranking of models."""
