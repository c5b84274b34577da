"""What the two engines offer; apart from them so that listing engines loads no HTTP client."""

from __future__ import annotations

from syncd.memory import EngineDescriptor, FetchMode

DIRECT = EngineDescriptor(
    id="cortexdb",
    label="CortexDB",
    description="a CortexDB service that is spoken to directly",
    hosted=False,
    needs_endpoint=False,
    needs_key=True,
    default_endpoint="https://api-v1.cortexdb.ai",
    fetch_modes=(FetchMode.HYBRID,),
)

HOSTED = EngineDescriptor(
    id="tinyhumans",
    label="TinyHumans",
    description="the hosted memory service, which keeps a CortexDB for its users",
    hosted=True,
    needs_endpoint=False,
    needs_key=True,
    default_endpoint="https://api.tinyhumans.ai",
    fetch_modes=(FetchMode.HYBRID,),
)
