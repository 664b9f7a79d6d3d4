"""What people review: judgments, clashes and cases as one object, with a blind and a full view and one decision."""

from metajudge.reviewables.reviewable import Answer, Reviewable
from metajudge.reviewables.sheet import Choice, Cue, Fact, Kind, Passage, Said, Section, Sheet, Table

__all__ = ["Answer", "Choice", "Cue", "Fact", "Kind", "Passage", "Reviewable", "Said", "Section", "Sheet", "Table"]
