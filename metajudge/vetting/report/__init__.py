"""The report of a vetting run: what was decided and why, how scores lie, what labels say, and the doubtful ones."""
