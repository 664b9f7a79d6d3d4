"""The systems in which verdicts live: assessments are put beside the verdicts there, and verdicts fetched from there.

Every one keeps *assessments with a source on a target*: who (a model, a person, code) says what of which trace, span or
record. A system is one small module that is a :class:`~metajudge.systems.system.System`; what is common (which
note says what, what was sent already, retries, rates, files) is written once, in :mod:`~metajudge.systems.transfer`.
"""
