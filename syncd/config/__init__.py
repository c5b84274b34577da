"""The YAML file that says what is watched and where memory lives, read with every problem named.

Importing this is cheap: the models and the YAML reader are loaded with the first file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from syncd.config.problems import MAX_BYTES, ConfigError, Problem
from syncd.config.where import locate

if TYPE_CHECKING:
    from syncd.config.models import Config, FolderConfig, KeyConfig, RepositoryConfig

__all__ = [
    "Config",
    "ConfigError",
    "FolderConfig",
    "KeyConfig",
    "Problem",
    "RepositoryConfig",
    "contents",
    "credential",
    "load",
    "locate",
    "parse",
]


def load(path: Path, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in a file. Raises ConfigError, which names every problem at once."""
    return parse(path, contents(path), environ)


def contents(path: Path) -> bytes:
    """The bytes of a configuration file. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        what = "there is no configuration here: write one with `syncd init FOLDER`"
        raise ConfigError((Problem(path, 0, 0, "", what),)) from error
    except OSError as error:
        what = f"cannot read the configuration: {error.strerror}: {_way_out(error)}"
        raise ConfigError((Problem(path, 0, 0, "", what),)) from error


def _way_out(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return "name the file in it"
    return "check its permissions" if isinstance(error, PermissionError) else "check the path"


def parse(path: Path, data: bytes, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in `data`, as if it stood in `path`. Raises ConfigError."""
    from pydantic import ValidationError

    from syncd.config import document as yaml
    from syncd.config.explain import explain
    from syncd.config.models import Config
    from syncd.config.overlap import clashes
    from syncd.config.where import Surroundings

    document = yaml.parse(path, data)
    around = Surroundings(environ, Path(os.path.abspath(path)).parent)
    config = None
    try:
        written = {} if document.value is None else document.value
        config = Config.model_validate(written, context=around)
    except ValidationError as error:
        explain(error, document)
    clashes(document, around)
    if document.problems or config is None:
        in_order = sorted(document.problems, key=lambda problem: problem[1:4])
        raise ConfigError(tuple(in_order))
    return config


def credential(config: Config, environ: Mapping[str, str] = os.environ) -> Callable[[], str] | None:
    """What reads the chosen engine's key, for `syncd.engines.build_engine`; None without one."""
    key = config.engine_key()
    if key is None:
        return None
    from syncd.config.keys import reader

    return reader(key, environ)


def __getattr__(name: str) -> object:
    if name in ("Config", "FolderConfig", "KeyConfig", "RepositoryConfig"):
        from syncd.config import models

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
