"""One meta-judge: ask, parse, repair once; a score or a typed failure."""

from metajudge.agents.agent import Agent
from metajudge.agents.finer import score_of
from metajudge.agents.parse import ReplyProblemsError, parse_reply
from metajudge.agents.schema import output_schema
from metajudge.prompts.meta_judge import Statement

__all__ = ["Agent", "ReplyProblemsError", "Statement", "output_schema", "parse_reply", "score_of"]
