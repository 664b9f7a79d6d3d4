"""From signals to the probability that a judgment is correct, and to thresholds that carry a guarantee."""
