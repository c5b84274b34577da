"""What the configuration says of a repository source, and the digests that depend on it.

Two recipes, or two marks, are equal only when everything that decides what becomes of a file, or of
all of it, is equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from syncd.memory import Namespace
from syncd.sources import builtin
from syncd.sources.folder import EXTRACTOR_VERSION, MEBIBYTE, FolderSettings
from syncd.sources.repository.forge import Remote
from syncd.sources.repository.history import CommitRules
from syncd.sources.repository.items import ITEMS_VERSION, Mould
from syncd.sources.rules import Rules


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """What the configuration says of a repository source. Patterns are gitignore's, sizes bytes.

    `repository` is a path or an address, which may hold credentials; clones of addresses lie below
    `mirrors`. `commits` None means none. `private` are syncd's own, which no source ever reads.
    """

    id: str
    repository: str = field(repr=False)
    mirrors: Path
    branch: str | None = None
    files: bool = True
    commits: CommitRules | None = field(default_factory=CommitRules)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    namespace: Namespace = field(default_factory=Namespace.root)
    tags: tuple[str, ...] = ()
    max_file_size: int = 10 * MEBIBYTE
    private: tuple[Path, ...] = ()

    def mould(self, origin: Remote) -> Mould:
        """What its items have in common."""
        return Mould(self.id, origin, self.namespace, self.tags)

    def rules(self, origin: Remote, private: Iterable[str], root_name: str) -> Rules:
        """Which files are looked at; `private` are keys of syncd's own."""
        keys = sorted(private)
        base = _digest(
            *(ITEMS_VERSION, EXTRACTOR_VERSION, builtin.BUILTIN_VERSION, self.id, origin.name),
            *(self.include, self.exclude, str(self.namespace), self.tags),
            *(self.max_file_size, keys),
        )
        return Rules(self.include, self.exclude, keys, base, root_name)

    def recipe_of_commits(self, origin: Remote) -> int:
        """A 63-bit number that differs when the same commit becomes another item."""
        parts = (ITEMS_VERSION, self.id, str(self.namespace), self.tags, tuple(origin))
        return int.from_bytes(_digest(*parts)[:8], "big") >> 1

    def mark(self, tip: str, rules: Rules, origin: Remote, cut_off: Collection[str]) -> str:
        """The tip, and a digest of all that decides what is to be seen there."""
        digest = _digest(
            rules.root.recipe if self.files else 0,
            self.recipe_of_commits(origin),
            self.commits,
            sorted(cut_off),
        )
        return f"{tip} {digest.hex()}"

    def as_folder(self, root: str) -> FolderSettings:
        """The same files as those of a folder."""
        return FolderSettings(self.id, Path(root), self.include, self.exclude, private=self.private)


def tip_of(mark: str | None) -> str | None:
    """The tip that a mark was about."""
    return mark.partition(" ")[0] if mark else None


def _digest(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()
