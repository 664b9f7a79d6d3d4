"""Intervals, tests, bootstrap, agreement and stability: every figure comes with its definition, its interval and its n.

Import from the modules; they load numpy and scipy only where they need them.
"""
