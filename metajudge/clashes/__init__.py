"""Clashes: a blind panel ranks the answers of several models."""

from metajudge.clashes.record import ClashRecord, recount

__all__ = ["ClashRecord", "recount"]
