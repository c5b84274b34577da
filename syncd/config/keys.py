"""Where an engine's key comes from. It is read each time it is asked for and held nowhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from syncd.config.models import KeyConfig
from syncd.memory.errors import Unauthorized

_COMMAND_SECONDS = 60
_MAX_KEY_BYTES = 1 << 16


def reader(key: KeyConfig, environ: Mapping[str, str] = os.environ) -> Callable[[], str]:
    """A function that reads the key anew; it raises Unauthorized, which never holds the key."""
    if key.env is not None:
        name = key.env
        return lambda: _from_environment(name, environ)
    if key.file is not None:
        path = key.file
        return lambda: _from_file(path)
    if key.command is not None:
        command = key.command
        return lambda: _from_command(command)
    return lambda: _from_systemd(str(key.credential), environ)


def stamp(key: KeyConfig | None, environ: Mapping[str, str] = os.environ) -> object:
    """What differs once the key is another, as far as that shows without reading it; else None."""
    if key is None or (key.file is None and key.credential is None):
        return None
    directory = environ.get("CREDENTIALS_DIRECTORY", "")
    try:
        found = os.stat(key.file or Path(directory, str(key.credential)))
    except OSError as error:
        return error.errno
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _from_environment(name: str, environ: Mapping[str, str]) -> str:
    return _checked(environ.get(name, ""), f"the environment variable {name}")


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEY_BYTES)
    except OSError as error:
        raise Unauthorized(f"cannot read the key file {path}: {error.strerror}") from error
    return _checked(data.decode("utf-8", "replace"), f"the key file {path}")


def _from_command(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {_COMMAND_SECONDS} s"
        raise Unauthorized(f"the key command {command[0]} failed: {reason}") from error
    if done.returncode:
        raise Unauthorized(f"the key command {command[0]} ended with status {done.returncode}")
    return _checked(done.stdout.decode("utf-8", "replace"), f"the key command {command[0]}")


def _from_systemd(name: str, environ: Mapping[str, str]) -> str:
    directory = environ.get("CREDENTIALS_DIRECTORY")
    if not directory:
        raise Unauthorized(f"the credential {name} is only there when systemd starts syncd")
    return _from_file(Path(directory, name))


def _checked(text: str, origin: str) -> str:
    key = text.strip().partition("\n")[0].strip()
    if not key:
        raise Unauthorized(f"{origin} holds no key")
    return key
