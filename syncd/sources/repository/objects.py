"""Many objects in one stream of git's, of which a damaged one costs only itself.

git dies of some damage: the object it died of is named, and git goes on with the next one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import IO

from syncd.sources.names import escape
from syncd.sources.repository.git import Git
from syncd.sources.repository.items import MAX_PATHS, Change, Changes
from syncd.sources.seen import SourceUnavailable, Unreadable

_CHUNK = 1 << 16
_FAILURES_IN_A_ROW = 50
# Only exact renames: similar ones need the blobs, which partial clones lack, so that the same
# commit would become another item there. `--ignore-submodules` overrules a repository's own word.
_CHANGES = (
    *("diff-tree", "--stdin", "-z", "-r", "--root", "--always", "--name-status", "-M100%"),
    *("--diff-merges=first-parent", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv"),
)


def contents(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, bytes | Unreadable]]:
    """Each object's bytes, in the order of `ids`. SourceUnavailable when git cannot work at all."""
    done = 0
    patience = _Patience()
    while done < len(ids):
        with git.stream("cat-file", "--batch", "--buffer", lines=ids[done:]) as stream:
            while done < len(ids):
                found = _content(stream.output)
                if found is None:
                    break
                yield ids[done], found
                done += 1
                patience.renew()
            else:
                return
            reason = stream.complaint()
        patience.spend(reason)
        yield ids[done], Unreadable(f"git object {ids[done]} is damaged: {reason}")
        done += 1


class _Patience:
    """Ends a run of failures that can hardly each be the fault of one object."""

    def __init__(self) -> None:
        self._left = _FAILURES_IN_A_ROW

    def renew(self) -> None:
        self._left = _FAILURES_IN_A_ROW

    def spend(self, reason: str) -> None:
        self._left -= 1
        if not self._left:
            raise SourceUnavailable(f"git cannot read the repository: {reason}")


def _content(output: IO[bytes]) -> bytes | Unreadable | None:
    header = output.readline()
    if header.endswith(b" missing\n"):
        return Unreadable(f"git object {header.split()[0].decode()} is missing")
    parts = header.split()
    if len(parts) != 3:
        return None
    size = int(parts[2])
    data = output.read(size + 1)
    return data[:-1] if len(data) == size + 1 else None


def changes(
    git: Git, commits: Sequence[str]
) -> Generator[tuple[str, Changes | Unreadable], None, None]:
    """What each commit changed against its first parent, in the order of `commits`.

    SourceUnavailable when git cannot work at all.
    """
    done = 0
    patience = _Patience()
    while done < len(commits):
        with git.stream(*_CHANGES, lines=commits[done:]) as stream:
            for commit, found in _reports(stream.output):
                # git passes over what it cannot read without a word.
                while done < len(commits) and commits[done] != commit:
                    yield commits[done], _unknown(commits[done])
                    done += 1
                if found is None:
                    break
                yield commit, found
                done += 1
                patience.renew()
            complaint = stream.complaint()
        if done < len(commits):
            patience.spend(complaint)
            yield commits[done], _unknown(commits[done], complaint)
            done += 1


def _unknown(commit: str, complaint: str = "") -> Unreadable:
    return Unreadable(f"what commit {commit} changed cannot be read: {complaint or 'damaged'}")


def _reports(output: IO[bytes]) -> Iterator[tuple[str, Changes | None]]:
    """Each commit and its changes; None for the one within which the output ended."""
    commit, count = "", 0
    named: list[Change] = []
    tokens = _tokens(output)
    for token in tokens:
        if len(token) >= 40:
            if commit:
                yield commit, Changes(tuple(named), count)
            commit, named, count = token.decode(), [], 0
            continue
        path = next(tokens, None)
        before = None
        if token[:1] == b"R":
            before, path = path, next(tokens, None)
        if path is None:
            break
        count += 1
        if count <= MAX_PATHS:
            old = None if before is None else _name(before)
            named.append(Change(token[:1].decode(), _name(path), old))
    else:
        if commit:
            yield commit, Changes(tuple(named), count)
        return
    yield commit, None


def _tokens(output: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := output.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole


def _name(raw: bytes) -> str:
    return raw.decode("ascii") if raw.isascii() else escape(raw.decode("utf-8", "surrogateescape"))
