"""One meta-judge: ask, parse, repair once; a score or a typed failure."""

from metajudge.agents.agent import Agent
from metajudge.agents.parse import ReplyProblemsError
from metajudge.prompts.meta_judge import Statement

__all__ = ["Agent", "ReplyProblemsError", "Statement"]
