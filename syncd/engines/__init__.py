"""The engines that can be named in the configuration, and how one is built from its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syncd.engines.cortex.descriptors import DIRECT, HOSTED
from syncd.engines.local.descriptor import DESCRIPTOR as LOCAL
from syncd.memory import EngineDescriptor, MemoryEngine
from syncd.memory.errors import Config

Credential = str | Callable[[], str] | None


def list_engines() -> list[EngineDescriptor]:
    """What this version can build, the default first."""
    return [LOCAL, DIRECT, HOSTED]


def build_engine(
    id: str, settings: Mapping[str, Any], credential: Credential = None
) -> MemoryEngine:
    """The engine `id`, built from its part of the configuration.

    Nothing is opened or sent before the first call on it. Raises Config for an unknown id or
    settings that the engine does not know.
    """
    if id == LOCAL.id:
        from syncd.engines.local.engine import LocalEngine

        return LocalEngine.from_settings(settings)
    if id in (DIRECT.id, HOSTED.id):
        from syncd.engines.cortex.engine import build

        return build(id, settings, credential)
    known = ", ".join(engine.id for engine in list_engines())
    raise Config(f"engine {id[:64]!r} is not known; known: {known}")
