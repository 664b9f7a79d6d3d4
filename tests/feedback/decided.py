"""Cases that people decided."""

from metajudge.feedback.cases import Direction

LENIENT, STRICT = Direction.TOO_LENIENT, Direction.TOO_STRICT
