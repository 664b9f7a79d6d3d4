"""Vetting: the engine, post-processing of assessments, policies in force, the summary."""
