"""What the bytes of a repository's file become: the rules of a folder's files, and LFS pointers.

Pure.
"""

from __future__ import annotations

from syncd.memory import Instant
from syncd.sources import builtin, text
from syncd.sources.gitignore import byte_text
from syncd.sources.reading import Content
from syncd.sources.repository.items import Mould
from syncd.sources.rules import Rules
from syncd.sources.seen import Reading, Skip

LFS_POINTER = "git lfs pointer"
# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
_VERSION = b"version https://git-lfs.github.com/spec/v1\n"
_LARGEST = 1024


def became(
    key: str, content: Content, mould: Mould, rules: Rules, observed: Instant | None
) -> Reading | Skip:
    """The item of a file, or why it has none."""
    data, look, settled = content
    if is_lfs_pointer(data):
        return Skip(LFS_POINTER, look, settled)
    decoded = text.decode(data)
    if isinstance(decoded, str):
        return Skip(decoded, look, settled)
    name = key.rpartition("/")[2]
    if builtin.is_private_key(decoded.text) and not rules.names(name, byte_text(key)):
        return Skip(builtin.SECRETS, look, settled)
    item = mould.file(key, decoded.text, observed)
    return Reading((item,), look, settled, decoded.encoding)


def is_lfs_pointer(data: bytes) -> bool:
    """Whether a file stands for one that git-lfs keeps elsewhere."""
    return len(data) < _LARGEST and data.startswith(_VERSION) and b"\noid sha256:" in data
