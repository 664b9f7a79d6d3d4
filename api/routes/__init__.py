"""The routes under ``/v1``, one module for each noun."""

from . import (
    assessments,
    audit,
    calibrations,
    document,
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

NOUNS = (
    *(vet, jobs, judging, rankings, assessments, reviews, feedback),
    *(rubrics, policies, calibrations, export, audit, health, document),
)
ROUTERS = tuple(noun.router for noun in NOUNS)
"""In the order of the OpenAPI document."""
