"""One noun a file."""

from . import (
    assessments,
    calibrations,
    export,
    feedback,
    health,
    jobs,
    judging,
    policies,
    rankings,
    reviews,
    rubrics,
    vet,
)

NOUNS = (vet, jobs, judging, rankings, assessments, reviews, feedback, rubrics, policies, calibrations, export, health)
ROUTERS = tuple(noun.router for noun in NOUNS)
"""In the order of the document."""
