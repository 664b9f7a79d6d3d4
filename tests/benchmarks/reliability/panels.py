"""Panels of scripted judges."""

from metajudge.clashes.clash import Clash, Judge
from tests.doubles.reliability import fond_of


def panel(*models, **settings):
    return Clash(judges=tuple(Judge(model.name, model) for model in models), **settings)


def steady():
    return panel(fond_of("good", "owl"), fond_of("good", "hawk"), fond_of("bad", "wren"))
