"""The routes under ``/v1``, one module for each noun."""

from . import (
    assessments,
    export,
    feedback,
    health,
    in_force,
    jobs,
    judge_audit,
    judging,
    outcomes,
    rankings,
    reviews,
    vet,
)

ROUTERS = (
    *(one.router for one in (vet, judge_audit, jobs, judging, rankings, assessments, reviews, outcomes, feedback)),
    *(health.monitor_router, in_force.rubric_router, in_force.policy_router, in_force.calibration_router),
    *(export.router, health.changes_router, health.router, health.document_router),
)
"""In the order of the OpenAPI document."""
