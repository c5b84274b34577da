"""Where items live, and which places a read may see (contract 1, "Namespaces and reach")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from syncd.memory.errors import InvalidRequest

SEGMENT_KINDS = ("agent", "team", "user", "ws", "project")
MAX_SEGMENTS = 8
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Segment:
    """One `kind:id` step; InvalidRequest for an unknown kind or an illegal id."""

    kind: str
    id: str

    def __post_init__(self) -> None:
        if self.kind not in SEGMENT_KINDS:
            raise InvalidRequest(
                f"namespace kind {self.kind[:64]!r} is none of {', '.join(SEGMENT_KINDS)}"
            )
        if not _ID.fullmatch(self.id):
            raise InvalidRequest("a namespace id is 1 to 128 of A-Z a-z 0-9 _ and -")

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def sanitised(cls, kind: str, text: str) -> Segment:
        """A valid segment for any `text`: `-` for what is illegal, then a hash of the original."""
        if not text:
            return cls(kind, "_")
        return cls(kind, f"{_ILLEGAL.sub('-', text)[:119]}-{_fnv1a(text):08x}")


def _fnv1a(text: str) -> int:
    value = 0x811C9DC5
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


@dataclass(frozen=True, slots=True)
class Namespace:
    """A node of the namespace tree; the root has no segments and prints as `root`."""

    segments: tuple[Segment, ...] = ()
    path: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.segments) > MAX_SEGMENTS:
            raise InvalidRequest(f"a namespace has at most {MAX_SEGMENTS} segments")
        object.__setattr__(self, "segments", tuple(self.segments))
        object.__setattr__(self, "path", "/".join(map(str, self.segments)))

    def __str__(self) -> str:
        return self.path or "root"

    @property
    def is_root(self) -> bool:
        return not self.segments

    @classmethod
    def root(cls) -> Namespace:
        return ROOT

    @classmethod
    def parse(cls, text: str) -> Namespace:
        """The node that `text` names (`root`, `` or `kind:id/…`); else InvalidRequest."""
        if text in ("", "root"):
            return ROOT
        return cls(tuple(_segment(part) for part in text.split("/")))

    def ancestors(self) -> Iterator[Namespace]:
        """The nodes above this one, nearest first, the root last."""
        for length in range(len(self.segments) - 1, -1, -1):
            yield Namespace(self.segments[:length]) if length else ROOT

    def contains(self, other: Namespace) -> bool:
        """Whether `other` lies strictly below this node."""
        mine = len(self.segments)
        return len(other.segments) > mine and other.segments[:mine] == self.segments


def _segment(text: str) -> Segment:
    kind, colon, name = text.partition(":")
    if not colon:
        raise InvalidRequest(f"namespace segment {text[:64]!r} is not kind:id")
    return Segment(kind, name)


ROOT = Namespace()


@dataclass(frozen=True, slots=True)
class Reach:
    """The namespaces that a read may see, as seen from `at`; a sibling is never one of them."""

    at: Namespace = ROOT
    inherit: bool = True
    descendants: bool = False

    @classmethod
    def of(cls, namespace: Namespace) -> Reach:
        """`namespace` and what it inherits from above."""
        return cls(namespace)

    @classmethod
    def exact(cls, namespace: Namespace) -> Reach:
        """`namespace` alone."""
        return cls(namespace, inherit=False)

    @classmethod
    def subtree(cls, namespace: Namespace) -> Reach:
        """`namespace` and everything below it."""
        return cls(namespace, inherit=False, descendants=True)

    def admits(self, namespace: Namespace) -> bool:
        return (
            namespace == self.at
            or (self.inherit and namespace.contains(self.at))
            or (self.descendants and self.at.contains(namespace))
        )

    def as_json(self) -> dict[str, Any]:
        return {"at": str(self.at), "inherit": self.inherit, "descendants": self.descendants}
