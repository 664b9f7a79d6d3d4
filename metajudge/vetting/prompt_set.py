"""The prompt set of a panel that names none.

It is the newest set. There is one exception, so that a command finds what it stored before: where the results at hand
include assessments by this very panel (the digest that is part of every key) under an older set, the panel continues
with the newest of these, and a notice says so. Another threshold, strategy or rubric makes another panel.
"""

from collections.abc import Mapping, Set

from metajudge.errors import MetajudgeError
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.prompts.versions import NEWEST, continues, prompt_sets
from metajudge.providers.model import Model
from metajudge.providers.stack import Resources
from metajudge.store import Store
from metajudge.strategies import Vetter
from metajudge.strategies.panel import THRESHOLD


async def stored_panels(store: Store | None) -> frozenset[str]:
    """Digests of the panels that a store has assessments by."""
    query = "SELECT DISTINCT panel_digest FROM assessments"
    rows = () if store is None else await store.ask(lambda connection: connection.execute(query).fetchall())
    return frozenset(row[0] for row in rows)


def with_prompt_set(
    config: PanelConfig, known: Set[str], models: Mapping[str, Model] | None = None
) -> tuple[PanelConfig, str | None]:
    """The panel with the prompt set that it uses, and a notice where that is not the newest one.

    Args:
        known: digests of panels with results at hand, see :func:`stored_panels`.
        models: as for :func:`~metajudge.panels.building.build_vetter`.

    Returns:
        The configuration as given where it names a version, or asks no model.
    """
    if config.prompt_version is not None or not config.all_agents:
        return config, None
    for version in sorted(prompt_sets(), reverse=True) if known else ():
        if not known.isdisjoint(_panels_under(version, config, models)):
            notice = None if version == NEWEST else continues(version, "the store has assessments by this panel")
            return config.model_copy(update={"prompt_version": version}), notice
    return config.model_copy(update={"prompt_version": NEWEST}), None


def priced_vetter(config: PanelConfig, models: Mapping[str, Model] | None = None) -> Vetter:
    """The panels of a configuration, to render and identify requests by; no key is needed, and nothing can be sent.

    Raises:
        ConfigurationError: agents, weights or threshold that make no sense together.
    """
    return build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False, models=models)


def under_every_set(config: PanelConfig) -> dict[int, Vetter]:
    """Version -> the panels of a configuration under it; sets that cannot serve the panel are left out."""
    found = {}
    for version in prompt_sets():
        try:
            found[version] = priced_vetter(config.model_copy(update={"prompt_version": version}))
        except MetajudgeError:
            continue
    return found


def _panels_under(version: int, config: PanelConfig, models: Mapping[str, Model] | None) -> set[str]:
    """Digests under a prompt set of the panels that ask models; none where the set cannot serve them.

    Without a threshold of its own a panel is looked for under the former default, too: rejudge had the same as others.
    """
    found = set()
    for threshold in {config.threshold, THRESHOLD if config.threshold is None else config.threshold}:
        given = config.model_copy(update={"prompt_version": version, "threshold": threshold})
        try:
            vetter = priced_vetter(given, models)
        except MetajudgeError:
            continue
        found |= {panel.digest for panel in (vetter.default, *vetter.routes.values()) if panel.agents}
    return found
