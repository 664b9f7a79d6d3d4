"""Panels: the panel file, and the agents built from it."""
