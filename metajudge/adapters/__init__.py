"""Adapters: metajudge inside other evaluation tools."""
