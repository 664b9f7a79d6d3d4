"""A promised precision, held against what happens after it: alarm, estimate, drift, and which labels to get next."""
