"""From criterion scores to a decision, on arrays: the only place where the formulas live.

Shapes: ``n`` judgments, ``M`` configured agents, ``N`` criteria. The engine calls these functions for one
judgment, the benchmarks for a million. Absent results are masked, never a number.
"""
