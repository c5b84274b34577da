"""Where the configuration lies, and what the paths in it mean (`~`, `${VAR}`, relative ones)."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from syncd.config import values
from syncd.config.problems import ConfigError, Problem, Wrong

# where the embedded engine keeps memory unless it is told another place
MEMORY = "${XDG_DATA_HOME:-~/.local/share}/syncd/memory.db"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a path in the file is read against: the environment, and the file's own directory."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    directory: Path = field(default_factory=Path.cwd)


def home(environ: Mapping[str, str]) -> str | None:
    """The user's home directory: HOME, else the password database; None when neither has one."""
    named = environ.get("HOME", "")
    if named.startswith("/"):
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_dir or None
    except KeyError:
        return None


def locate(explicit: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The configuration file: `explicit`, else SYNCD_CONFIG, else the one in the user's home.

    Raises ConfigError when there is no home directory to look in. The file need not exist.
    """
    named = explicit or environ.get("SYNCD_CONFIG")
    if named:
        return Path(os.path.abspath(named))
    base = environ.get("XDG_CONFIG_HOME", "")
    # the XDG specification: a relative path in these variables is invalid and to be ignored
    if base.startswith("/"):
        return Path(base, "syncd", "config.yaml")
    directory = home(environ)
    if directory is None:
        what = "there is no home directory to look in: set HOME, or name the file with --config"
        raise ConfigError((Problem(Path("~/.config/syncd/config.yaml"), 0, 0, "", what),))
    return Path(directory, ".config", "syncd", "config.yaml")


def expand(text: str, environ: Mapping[str, str]) -> str:
    """`text` with `${VAR}`, `${VAR:-default}` and a leading `~` or `~user` replaced.

    Raises Wrong for a variable that is not set and for a home directory that is not known.
    """

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = environ.get(name)
        if not found and default is not None:
            return str(default)
        if found is None:
            raise Wrong(f"the environment variable {name} is not set", f"${{{name}:-default}}")
        return found

    return _from_home(_VARIABLE.sub(value, text), environ)


def absolute(written: str, around: Surroundings) -> Path:
    """The path that a text in the file means. Raises Wrong when it means none.

    Bytes that are not UTF-8 are written as in items (`syncd.sources.names`).
    """
    from syncd.sources.names import unescape

    text = expand(values.text(written), around.environ)
    if "\0" in text:
        raise Wrong("a path cannot hold a NUL character")
    path = around.directory / unescape(text)
    return Path(os.path.realpath(path)) if ".." in path.parts else path


def _from_home(text: str, environ: Mapping[str, str]) -> str:
    if not text.startswith("~"):
        return text
    user, slash, rest = text[1:].partition("/")
    directory = _home_of(user) if user else home(environ)
    if directory is None:
        who = f"the user {user!r} has" if user else "there is"
        raise Wrong(f"{who} no home directory on this machine")
    return directory + slash + rest


def _home_of(user: str) -> str | None:
    try:
        return pwd.getpwnam(user).pw_dir or None
    except KeyError:
        return None
