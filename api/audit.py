"""The change log: changes over HTTP, with the caller and the request."""

import logging
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from metajudge.store.protocol import Store

KIND = "change"
"""The kind of these records in the store's audit log; their subject is the changed object."""

_log = logging.getLogger("metajudge.api.audit")


class Action(StrEnum):
    """The kinds of changes."""

    RUBRIC_PUT = "rubric.put"
    POLICY_PUT = "policy.put"
    REVIEW_OPEN = "review.open"
    REVIEW_CLAIM = "review.claim"
    REVIEW_RELEASE = "review.release"
    REVIEW_DECIDE = "review.decide"
    REVIEW_AMEND = "review.amend"
    REVIEW_COMMENT = "review.comment"
    REVIEW_ASSIGN = "review.assign"
    FEEDBACK_PROPOSE = "feedback.propose"
    FEEDBACK_BACKTEST = "feedback.backtest"
    FEEDBACK_ACTIVATE = "feedback.activate"
    FEEDBACK_DRAFT = "feedback.draft"
    FEEDBACK_REJUDGE = "feedback.rejudge"
    CASE_DECIDE = "case.decide"
    EXPORT = "export.preferences"
    JOB_ADD = "job.add"
    JOB_CANCEL = "job.cancel"
    JOB_DELETE = "job.delete"


@dataclass(frozen=True, slots=True)
class Changes:
    """Records one caller's changes.

    Attributes:
        store: None without a store: changes are then only logged.
        by: the key's name.
    """

    store: Store | None
    by: str
    request_id: str

    async def note(self, action: Action, subject: str, **details: Any) -> None:
        """Stores a record, durable on return; ``details`` are ids and digests, never judged text."""
        record = {"action": action.value, "by": self.by, "request_id": self.request_id, **details}
        _log.info("change", extra={**record, "subject": subject})
        if self.store is not None:
            await self.store.audit_log.append(KIND, subject, record, now=time.time())
