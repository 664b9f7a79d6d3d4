"""Monitoring of a promised precision: alarm, estimate, drift, and which labels to get next."""
