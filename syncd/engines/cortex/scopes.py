"""Scopes: one path of the service for each kind of item at each namespace (contract 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from syncd.memory import ItemKind, Namespace, Reach
from syncd.memory.errors import InvalidRequest

APP = "app:tinymemory"
_LEAF = {
    ItemKind.DOCUMENT: "app:documents",
    ItemKind.CONVERSATION: "app:conversations",
    ItemKind.LEARNING: "app:learnings",
}
_KIND = {leaf: kind for kind, leaf in _LEAF.items()}
_ORDER = {kind: number for number, kind in enumerate(ItemKind)}


class Scope(NamedTuple):
    """Where the items of one kind at one namespace live."""

    kind: ItemKind
    namespace: Namespace

    @property
    def path(self) -> str:
        return f"{node_path(self.namespace)}/{_LEAF[self.kind]}"

    @property
    def place(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        """Sorts scopes by kind in the contract's order, then by namespace."""
        segments = tuple((segment.kind, segment.id) for segment in self.namespace.segments)
        return _ORDER[self.kind], segments

    @property
    def depth(self) -> int:
        return len(self.namespace.segments)


def node_path(namespace: Namespace) -> str:
    return APP if namespace.is_root else f"{APP}/{namespace.path}"


def parse_scope(path: str) -> Scope | None:
    """The scope that `path` names, whatever tenant stands before it; None when it is not ours."""
    parts = path.split("/")
    if APP not in parts or parts[-1] not in _KIND:
        return None
    start = len(parts) - parts[::-1].index(APP)
    if start > len(parts) - 1:
        return None
    try:
        namespace = Namespace.parse("/".join(parts[start:-1]))
    except InvalidRequest:
        return None
    scope = Scope(_KIND[parts[-1]], namespace)
    # `root` and an empty step parse, but no one writes the root's scope so.
    return scope if scope.path == "/".join(parts[start - 1 :]) else None


def known(reach: Reach | None, kinds: Iterable[ItemKind]) -> list[Scope]:
    """The scopes that need no discovery: of the node itself and of what it inherits from."""
    at = reach.at if reach else Namespace.root()
    nodes = [at, *(at.ancestors() if reach and reach.inherit else ())]
    return ordered(Scope(kind, node) for kind in kinds for node in nodes)


def discovery_prefix(reach: Reach | None) -> str | None:
    """What to ask the scopes route for; None when the reach names all its nodes itself."""
    if reach is None:
        return APP
    return node_path(reach.at) if reach.descendants else None


def admitted(
    paths: Iterable[str], reach: Reach | None, kinds: Iterable[ItemKind]
) -> Iterator[Scope]:
    """The scopes among `paths` that are ours and that reach and kinds let in."""
    wanted = set(kinds)
    for path in paths:
        scope = parse_scope(path)
        if scope is None or scope.kind not in wanted:
            continue
        if reach is None or reach.admits(scope.namespace):
            yield scope


def ordered(scopes: Iterable[Scope]) -> list[Scope]:
    """Each once, in the order in which a listing reads them."""
    return sorted(set(scopes), key=lambda scope: scope.place)
