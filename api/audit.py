"""Audit records: who changed what over HTTP, and by which request."""

import logging
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from metajudge.store.protocol import Store

KIND = "change"
"""What these records are called in the store's audit log; their subject is what was changed."""

_log = logging.getLogger("metajudge.api.audit")


class Action(StrEnum):
    """What can be changed."""

    RUBRIC_PUT = "rubric.put"
    POLICY_PUT = "policy.put"
    REVIEW_OPEN = "review.open"
    REVIEW_CLAIM = "review.claim"
    REVIEW_RELEASE = "review.release"
    REVIEW_DECIDE = "review.decide"
    FEEDBACK_PROPOSE = "feedback.propose"
    FEEDBACK_BACKTEST = "feedback.backtest"
    FEEDBACK_ACTIVATE = "feedback.activate"
    CASE_DECIDE = "case.decide"
    EXPORT = "export.preferences"
    JOB_ADD = "job.add"
    JOB_CANCEL = "job.cancel"
    JOB_DELETE = "job.delete"


@dataclass(frozen=True, slots=True)
class Changes:
    """Records of one caller's changes.

    Attributes:
        store: None where nothing is kept: then the log alone has them.
        by: the key's name.
    """

    store: Store | None
    by: str
    request_id: str

    async def note(self, action: Action, subject: str, **details: Any) -> None:
        """Keeps a record, durable when this returns; ``details`` are ids and digests, never judged text."""
        said = {"action": action.value, "by": self.by, "request_id": self.request_id, **details}
        _log.info("change", extra={**said, "subject": subject})
        if self.store is not None:
            await self.store.audit_log.append(KIND, subject, said, now=time.time())
