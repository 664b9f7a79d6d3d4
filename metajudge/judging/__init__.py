"""Judging: pairs and grades, the ranking of responses, and how identities are hidden."""
