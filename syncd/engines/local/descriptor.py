"""What the embedded engine offers; apart from the engine so that listing it opens no database."""

from __future__ import annotations

from syncd.memory import EngineDescriptor, FetchMode

DESCRIPTOR = EngineDescriptor(
    id="local",
    label="Local file",
    description="one SQLite file on this machine; needs no network and no key",
    hosted=False,
    needs_endpoint=False,
    needs_key=False,
    default_endpoint=None,
    fetch_modes=(FetchMode.KEYWORD,),
)
