"""The study of multi-agent judging by Agent Clash, recomputed from its published raw judgments.

Boisbouvier and Claude Opus 4.5, "Multi-Agent Judging for LLM Evaluation: Concordance with Human Preferences Across
Capability Gaps". Raw data: github.com/anthonyboisbouvier-paris/agent-clash-paper, as ``evaluations.jsonl`` with one
logged evaluation a line. Every figure of the paper that the data carry is computed here by its stated definition; where
the paper prints another, the computation that gives the paper's figure is run beside it and named.
"""
