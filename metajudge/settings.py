"""The one reader of the environment: where the store is, and the keys of the providers.

What is not in the environment may stand in a settings file (``METAJUDGE_SETTINGS``, or
``~/.config/metajudge/settings.toml``)::

    store = "vetting.db"

    [keys]
    openai = "sk-..."

The environment wins over the file.
"""

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from metajudge.errors import ConfigurationError
from metajudge.providers.spec import PROVIDERS, AgentSpec, check_provider
from metajudge.types.location import StoreLocation, store_location

DEFAULT_STORE = Path("metajudge.db")
_KNOWN = ("store", "keys", "service_key", "webhook", "webhook_secret")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of this process. Keys are never printed: not in ``repr``, not in errors.

    Attributes:
        store: the store's file, or its database on a PostgreSQL server.
        file: the settings file that was read, or would be.
        warnings: what the user should know, for instance that others can read the file.
        service_key: the key that callers of our own service must present, None for none.
        webhook: URL that commands send outcomes to (METAJUDGE_WEBHOOK), None for none.
        webhook_secret: what events sent out are signed with, None for none.
        webhook_private: whether they may go to a private network (METAJUDGE_WEBHOOK_PRIVATE=1).
        allowed_hosts: names that callers may use for our own service (METAJUDGE_ALLOWED_HOSTS, with commas between).
    """

    store: StoreLocation
    file: Path
    warnings: tuple[str, ...] = ()
    service_key: str | None = field(default=None, repr=False)
    webhook: str | None = field(default=None, repr=False)
    webhook_secret: str | None = field(default=None, repr=False)
    webhook_private: bool = False
    allowed_hosts: tuple[str, ...] = ()
    _keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    _environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, file: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        """Reads the environment and the settings file.

        Args:
            file: the settings file; None for the one METAJUDGE_SETTINGS names, or the default (which may be missing).
            environ: the environment, None for the process's own.

        Raises:
            ConfigurationError: a named file that is missing, or a file that is not what it should be.
        """
        env = os.environ if environ is None else environ
        named = file or (Path(env["METAJUDGE_SETTINGS"]) if env.get("METAJUDGE_SETTINGS") else None)
        path = named or _default_file(env)
        found = path.is_file()
        if named is not None and not found:
            raise ConfigurationError(f"no settings file at {path}: create it, or omit the option")
        data = _read(path) if found else {}
        keys = _keys_of(data, path)
        for name, provider in PROVIDERS.items():
            if value := env.get(provider.key_variable, "").strip():
                keys[name] = value
        return cls(
            store=store_location(env.get("METAJUDGE_STORE") or _text(data, "store", path) or DEFAULT_STORE),
            file=path,
            warnings=_warnings(path)
            if found and any(data.get(name) for name in ("keys", "service_key", "webhook_secret"))
            else (),
            service_key=env.get("METAJUDGE_API_KEY") or _text(data, "service_key", path),
            webhook=env.get("METAJUDGE_WEBHOOK") or _text(data, "webhook", path),
            webhook_secret=env.get("METAJUDGE_WEBHOOK_SECRET") or _text(data, "webhook_secret", path),
            webhook_private=env.get("METAJUDGE_WEBHOOK_PRIVATE") == "1",
            allowed_hosts=tuple(env.get("METAJUDGE_ALLOWED_HOSTS", "").replace(",", " ").split()),
            _keys=keys,
            _environ=env,
        )

    def key_for(self, spec: AgentSpec) -> str | None:
        """The key for an agent's provider; None if missing and not needed.

        A key is optional on this machine (a loopback URL) and for servers that usually run without one.

        Raises:
            ConfigurationError: a key is missing; the message names the variable and the settings file.
        """
        if spec.key_variable is not None:
            if own := self._environ.get(spec.key_variable, "").strip():
                return own
            raise ConfigurationError(f"agent {spec.name!r} needs its key in {spec.key_variable}: set that variable")
        key = self._keys.get(spec.provider)
        if key is not None or spec.is_local or not PROVIDERS[spec.provider].key_required:
            return key
        raise ConfigurationError(
            f"agent {spec.name!r} needs a key for {spec.provider}: set {PROVIDERS[spec.provider].key_variable}, "
            f'or write {spec.provider} = "..." under [keys] in {self.file}'
        )

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that was read, for the variables of systems that have their own names for keys."""
        return self._environ

    def has_key(self, provider: str) -> bool:
        """Whether there is a key for a provider."""
        return provider in self._keys


def _default_file(env: Mapping[str, str]) -> Path:
    configured = env.get("XDG_CONFIG_HOME")
    base = Path(configured) if configured else Path(env.get("HOME") or Path.home()) / ".config"
    return base / "metajudge" / "settings.toml"


def _read(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the settings file {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the settings file {path} is not valid TOML: {error}") from None
    unknown = sorted(set(data) - set(_KNOWN))
    if unknown:
        raise ConfigurationError(
            f"the settings file {path} has unknown settings: {', '.join(unknown)}; known: {', '.join(_KNOWN)}"
        )
    return data


def _keys_of(data: Mapping[str, Any], path: Path) -> dict[str, str]:
    keys = data.get("keys", {})
    if not isinstance(keys, dict):
        raise ConfigurationError(
            f'the settings file {path}: keys must be a table, [keys] with lines like openai = "..."'
        )
    for name, value in keys.items():
        check_provider(name, f"[keys] in {path}")
        if not isinstance(value, str) or not value.strip():
            raise ConfigurationError(f"the settings file {path}: the key of {name} must be a non-empty text")
    return {name: value.strip() for name, value in keys.items()}


def _text(data: Mapping[str, Any], name: str, path: Path) -> str | None:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"the settings file {path}: {name} must be a text")
    return value


def _warnings(path: Path) -> tuple[str, ...]:
    mode = path.stat().st_mode
    if os.name != "nt" and mode & (stat.S_IRGRP | stat.S_IROTH):
        return (f"others on this machine can read the keys in {path}: run chmod 600 {path}",)
    return ()
