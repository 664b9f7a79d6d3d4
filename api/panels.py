"""Panels by name, each built once over the one shared engine."""

from collections.abc import Mapping, Sequence

from metajudge.engine import Engine
from metajudge.errors import ConfigurationError
from metajudge.panel_file import PanelConfig
from metajudge.rubric import BUILTIN_RUBRICS
from metajudge.strategies import Vetter
from metajudge.types import Assessment, Judgment
from metajudge.yaml_documents import looks_like_path


class Panels:
    """What callers may choose by name: panels as configured, and built-in rubrics (never a file)."""

    def __init__(self, engine: Engine, panels: Mapping[str, PanelConfig]) -> None:
        self._engine = engine
        self._panels = panels
        self._default = next(iter(panels))
        self._built: dict[tuple[str, str | None], Vetter] = {}
        for name in panels:  # a panel that cannot be built stops the start, not the first request
            self._vetter(name, None)

    async def vet(
        self,
        judgment: Judgment,
        panel: str | None,
        rubric: str | None,
        others: Sequence[Judgment] = (),
        policy: str | None = None,
    ) -> Assessment:
        """Vets one judgment by a panel, with its own rubric or another built-in one; ``others`` are evidence.

        Args:
            policy: the name of a policy that decides, in the version in force; never a file.

        Raises:
            ConfigurationError: an unknown panel or rubric.
            PolicyError: an unknown policy.
        """
        vetter = self._vetter(panel or self._default, rubric)
        if policy is not None and looks_like_path(policy):
            raise ConfigurationError(f"policy {policy!r}: this service takes policies by name alone")
        chosen = None if policy is None else await self._engine.policy_in_force(policy)
        return await self._engine.vet(judgment, others=others, vetter=vetter, policy=chosen)

    def _vetter(self, name: str, rubric: str | None) -> Vetter:
        if name not in self._panels:
            raise ConfigurationError(f"unknown panel {name!r}; this service has {', '.join(self._panels)}")
        if rubric is not None and rubric not in BUILTIN_RUBRICS:
            raise ConfigurationError(f"unknown rubric {rubric!r}; this service has {', '.join(BUILTIN_RUBRICS)}")
        found = self._built.get((name, rubric))
        if found is None:
            config = self._panels[name]
            if rubric is not None:
                agents = tuple(agent.model_copy(update={"rubric": None}) for agent in config.agents)
                config = config.model_copy(update={"rubric": rubric, "agents": agents, "weights": None})
            found = self._built[name, rubric] = self._engine.variant(config)
        return found
