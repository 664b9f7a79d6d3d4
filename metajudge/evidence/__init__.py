"""Signals: evidence about a judgment that needs no call to a model."""
