"""Where the embedded engine's memory lies, read without building the models.

Commands that only read memory need nothing else, and the models cost more than a search. Whatever
is not plain here is left to `load`, which explains it; faults in the sources do not stop a reader.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from syncd.config.document import parse
from syncd.config.problems import Wrong
from syncd.config.where import MEMORY, Surroundings, absolute

_KEYS: Final = {"engine", "engines", "state", "sources"}
_SOURCE_KEYS: Final = {
    *("id", "folder", "include", "exclude", "namespace", "tags", "max_file_size", "rescan", "hold"),
    *("repository", "branch", "files", "commits", "fetch"),
}


def memory_file(path: Path, data: bytes, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The memory file that the configuration in `data` means; None when only `load` can tell.

    Unknown and duplicate keys are never passed over. Raises ConfigError when it is no YAML.
    """
    document = parse(path, data)
    written = None if document.problems else _written(document.value)
    if written is None:
        return None
    try:
        return absolute(written, Surroundings(environ, Path(os.path.abspath(path)).parent))
    except Wrong:
        return None


def _written(value: object) -> str | None:
    top = _mapping(value, _KEYS)
    engines = top and _mapping(top.get("engines", {}), {"local"})
    local = None if engines is None else _mapping(engines.get("local", {}), {"path"})
    if top is None or local is None or top.get("engine", "local") != "local":
        return None
    sources = top.get("sources")
    if not isinstance(sources, list) or None in [_mapping(each, _SOURCE_KEYS) for each in sources]:
        return None
    written = local.get("path", MEMORY)
    return written if isinstance(written, str) else None


def _mapping(value: object, keys: set[str]) -> dict[str, object] | None:
    """`value` when it is a mapping that has only these keys."""
    return value if isinstance(value, dict) and value.keys() <= keys else None
