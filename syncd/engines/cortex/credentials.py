"""The key: asked for on every attempt, shown nowhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from syncd.memory.errors import MemoryError, Unauthorized
from syncd.memory.wire import is_blank

Credential = str | Callable[[], str] | None

HIDDEN = "[hidden]"
# So many of its first characters give a key away; fewer could be any word.
_TELLING = 8


class Key:
    """Reads the key anew each time, so that a rotated one is used at once."""

    __slots__ = ("_engine", "_given")

    def __init__(self, given: Credential, engine: str) -> None:
        self._given = given
        self._engine = engine

    def __repr__(self) -> str:
        return f"Key({HIDDEN})"

    @property
    def refused(self) -> str:
        """What to say when the service does not take the key."""
        return f"the key of {self._engine} is refused (engines.{self._engine}.key)"

    def read(self) -> str:
        """The key; Unauthorized when there is none or no header can carry it."""
        key = self._ask()
        if key is None or not isinstance(key, str) or is_blank(key):
            raise Unauthorized(f"no key is set for {self._engine} (engines.{self._engine}.key)")
        if not re.fullmatch(r"[ -~]+", key):
            raise Unauthorized(
                f"the key of {self._engine} holds characters that no header can carry"
            )
        return key

    def _ask(self) -> str | None:
        if not callable(self._given):
            return self._given
        try:
            return self._given()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a caller's function may raise
            # The text of a foreign error may quote what it was reading.
            name = type(error).__name__
        raise Unauthorized(f"the key of {self._engine} could not be read ({name})")


def redact(text: str, key: str) -> str:
    """`text` without `key`, in whatever usual notation a server echoes it back, whole or cut."""
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    for secret in (key, encoded):
        text = _without(text, secret)
    return text


def _without(text: str, secret: str) -> str:
    head, rest = secret[:_TELLING], secret[_TELLING:]
    out, done = [], 0
    for found in re.finditer("".join(map(_notations, head)), text, re.IGNORECASE):
        if found.start() < done:
            continue
        out += [text[done : found.start()], HIDDEN]
        done = found.end()
        for character in rest:
            more = re.compile(_notations(character), re.IGNORECASE).match(text, done)
            if more is None:
                break
            done = more.end()
    return "".join(out) + text[done:]


def _notations(character: str) -> str:
    code = ord(character)
    literal = re.escape(character)
    return rf"(?:\\?{literal}|\\u00{code:02x}|\\x{code:02x}|%{code:02x}|&#{code};|&#x{code:x};)"
