"""What a judge is worth on the verdicts at hand: agreement with people, biases, stability, corrected rates, power.

:func:`metajudge.audit.report.audit` makes an :class:`~metajudge.audit.card.AuditDocument` of judgments. It asks no
model and reads no file.
"""
