"""Vetting by free evidence in blocks: one pass over the input, arrays in place of objects, rows in bulk.

The order of a run, and who calls what:

1. :mod:`~metajudge.bulk.reading` reads a :class:`~metajudge.readers.source.JudgmentSource` once. A line becomes a
   checked record; of that are kept facts (:mod:`metajudge.evidence.facts`) and digests.
2. :mod:`~metajudge.bulk.outcomes` weighs all judgments by columns of evidence (:mod:`metajudge.evidence.columns`).
3. :mod:`~metajudge.bulk.endings` adds what a calibration and a policy say, as columns that the caller makes.
4. :mod:`~metajudge.bulk.run` makes the assessments as bytes (:mod:`~metajudge.bulk.forms`), block by block, and gives
   them to the store (:mod:`~metajudge.bulk.keeping`) and to the caller.

The results are those of :meth:`metajudge.strategies.vetter.Vetter.vet` on one judgment after the other.
"""
