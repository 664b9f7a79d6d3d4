"""From signals to the probability that a judgment is correct, and to thresholds that carry a guarantee.

Import from the modules; they load numpy, scipy and scikit-learn.
"""
