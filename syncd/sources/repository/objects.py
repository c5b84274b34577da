"""Many objects in one stream of git's, of which a damaged one costs only itself.

git dies of some damage: the object it died of is named, and git goes on with the next one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import IO

from syncd.sources.names import escape
from syncd.sources.repository.git import Git
from syncd.sources.repository.items import MAX_PATHS, Changes, change
from syncd.sources.seen import Unreadable

_CHUNK = 1 << 16
_FAILURES_IN_A_ROW = 20
# Only exact renames: similar ones need the blobs, which partial clones lack, so that the same
# commit would become another item there. `--ignore-submodules` overrules a repository's own word.
_CHANGES = (
    *("diff-tree", "--stdin", "-z", "-r", "--root", "--always", "--name-status", "-M100%"),
    *("--diff-merges=first-parent", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv"),
)


def contents(git: Git, ids: Sequence[str]) -> Generator[tuple[str, bytes | Unreadable], None, None]:
    """Each object's bytes, in the order of `ids`."""
    done = failures = 0
    reason = ""
    while done < len(ids) and failures < _FAILURES_IN_A_ROW:
        with git.stream("cat-file", "--batch", "--buffer", lines=ids[done:]) as stream:
            while done < len(ids) and (found := _content(stream.output)) is not None:
                yield ids[done], found
                done, failures = done + 1, 0
            reason = stream.complaint() if done < len(ids) else ""
        if done < len(ids):
            yield ids[done], Unreadable(f"git object {ids[done]} is damaged: {reason}")
            done, failures = done + 1, failures + 1
    # So many in a row are hardly each the fault of one object.
    for name in ids[done:]:
        yield name, Unreadable(f"git cannot read its objects: {reason}")


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
    """What each commit changed against its first parent, in the order of `commits`."""
    done = failures = 0
    complaint = ""
    while done < len(commits) and failures < _FAILURES_IN_A_ROW:
        with git.stream(*_CHANGES, lines=commits[done:]) as stream:
            for commit, found in _reports(stream.output):
                # git passes over what it cannot read without a word.
                while done < len(commits) and commits[done] != commit:
                    yield commits[done], _unknown(commits[done])
                    done += 1
                if found is None:
                    break
                yield commit, found
                done, failures = done + 1, 0
            complaint = stream.complaint() if done < len(commits) else ""
        if done < len(commits):
            yield commits[done], _unknown(commits[done], complaint)
            done, failures = done + 1, failures + 1
    for commit in commits[done:]:
        yield commit, _unknown(commit, complaint)


def _unknown(commit: str, complaint: str = "") -> Unreadable:
    return Unreadable(f"what commit {commit} changed cannot be read: {complaint or 'damaged'}")


def _reports(output: IO[bytes]) -> Iterator[tuple[str, Changes | None]]:
    """Each commit and its changes; None for the one within which the output ended."""
    commit, count = "", 0
    named: list[str] = []
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
            named.append(change(token[:1].decode(), _name(path), old))
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
