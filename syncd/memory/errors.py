"""The errors of the contract (contract 2).

MemoryError
├── Unsupported      the engine does not offer this
├── InvalidRequest   the call itself is wrong; repeating it changes nothing
├── Unauthorized     the credential was refused
├── NotFound         the thing or the route does not exist
├── Conflict         the write collides with another
├── Unavailable      not now; the only error worth repeating
├── Engine           the engine broke its own promise
└── Config           the engine cannot be built from its settings

Messages are lowercase, end without a stop and never hold a credential.
"""

from __future__ import annotations


class MemoryError(Exception):  # the contract names it so; it shadows the builtin only here
    """Base of every error of the contract; `message` is one sentence for a person."""

    transient = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Unsupported(MemoryError):
    """The engine does not offer what was asked."""


class InvalidRequest(MemoryError):
    """The request is malformed; nothing was read or written."""


class Unauthorized(MemoryError):
    """The credential is missing or was refused."""


class NotFound(MemoryError):
    """What was named does not exist."""


class Conflict(MemoryError):
    """The write collides with what is there."""


class Unavailable(MemoryError):
    """The engine cannot answer now; the same call may succeed later.

    `retry_after`: within how many seconds it asked not to be called again, where it did.
    """

    transient = True
    retry_after: float | None = None


class Engine(MemoryError):
    """The engine answered in a way that the contract does not allow, or is damaged."""


class Config(MemoryError):
    """The settings of the engine are wrong."""
