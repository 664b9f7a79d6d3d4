"""The routes under ``/v1``, one module for each noun."""

from . import (
    assessments,
    calibrations,
    changes,
    document,
    drafts,
    export,
    feedback,
    health,
    jobs,
    judge_audit,
    judging,
    monitor,
    outcomes,
    policies,
    rankings,
    reviews,
    rubrics,
    vet,
)

NOUNS = (
    *(vet, judge_audit, jobs, judging, rankings, assessments, reviews, outcomes, feedback, drafts, monitor),
    *(rubrics, policies, calibrations, export, changes, health, document),
)
ROUTERS = tuple(noun.router for noun in NOUNS)
"""In the order of the OpenAPI document."""
