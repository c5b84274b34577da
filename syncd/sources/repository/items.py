"""What a file and a commit of a repository become (design: "How a file and a commit become items").

Pure. Nothing of the host goes in: two clones of one repository make the same items.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from syncd.memory import Document, Instant, MemoryMeta, Namespace, SourceKind, SourceRef
from syncd.sources.language import language_of, media_type_of
from syncd.sources.names import printable
from syncd.sources.repository.forge import Remote

# Raised whenever the same file or commit becomes another item: every recipe changes with it.
ITEMS_VERSION = 1
SECOND = 1_000_000_000
# So many paths of a commit are named; the others are counted.
MAX_PATHS = 300
_HASH_IN_TITLE = 12
_PERSON = re.compile(r"(?P<who>.*?) ?(?P<seconds>-?\d{1,18})(?: (?P<zone>[+-]\d{1,6}))?", re.S)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Encodings in which ASCII is ASCII (or shifted by escapes): git can hold no others.
_ENCODINGS = re.compile(
    r"(?:ascii|iso8859|iso2022|cp\d|koi8|gb|hz|big5|euc|shift_jis|johab|mac|tis|kz1048|ptcp|utf-8)"
)


class Change(NamedTuple):
    """One changed path: git's status letter, the path, and where a renamed one was before."""

    status: str
    path: str
    before: str | None = None


class Changes(NamedTuple):
    """The first `MAX_PATHS` changes of a commit, and how many there are. None: nobody knows."""

    named: tuple[Change, ...]
    total: int


class Commit(NamedTuple):
    """A commit object, as text."""

    author: str
    authored: str
    committed: Instant | None
    message: str


@dataclass(frozen=True, slots=True)
class Mould:
    """What all items of one repository have in common."""

    source: str
    remote: Remote
    namespace: Namespace
    tags: tuple[str, ...]

    def file(self, key: str, text: str, observed: Instant | None) -> Document:
        """The item of a file."""
        folder, _, name = key.rpartition("/")
        language = language_of(name, text)
        meta = MemoryMeta(
            namespace=self.namespace,
            workspace=self.source,
            source=SourceRef(SourceKind.GITHUB, self.source),
            tags=self.tags,
            folder=folder or ".",
            file_path=key,
            repo=self.remote.name,
            language=language,
            observed_at=observed,
        )
        return Document(body=text, title=name, mime=media_type_of(language), meta=meta)

    def commit(self, commit: str, what: Commit, changes: Changes | None) -> Document:
        """The item of a commit, given its full hash; without changes their list is left out."""
        meta = MemoryMeta(
            namespace=self.namespace,
            workspace=self.source,
            source=SourceRef(SourceKind.GITHUB, self.source),
            tags=self.tags,
            repo=self.remote.name,
            commit=commit,
            url=self.remote.page(commit),
            observed_at=what.committed,
        )
        message = what.message.strip()
        title = subject(message) or commit[:_HASH_IN_TITLE]
        body = "\n".join([*([message, ""] if message else []), *_particulars(what, changes)])
        return Document(body=body, title=title, mime="text/markdown", meta=meta)


def subject(message: str) -> str:
    """The first paragraph on one line, as git's own `%s`."""
    paragraph = re.split(r"\n[ \t\r\f\v]*\n", message.strip(), maxsplit=1)[0]
    return " ".join(line.strip() for line in paragraph.splitlines())


def parsed(data: bytes) -> Commit:
    """A commit object's bytes as text; never an error: what cannot be read is replaced."""
    head, _, message = data.partition(b"\n\n")
    if data.startswith(b"\n"):
        head, message = b"", data[1:]
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        # The first of each counts; signatures go on in lines that begin with a space.
        if name:
            fields.setdefault(name, value)
    declared = fields.get(b"encoding", b"").decode("ascii", "replace")
    author, authored = _signed(decoded(fields.get(b"author", b""), declared))
    committed = decoded(fields.get(b"committer", b""), declared)
    return Commit(author, authored, _instant(committed), decoded(message, declared))


def decoded(data: bytes, declared: str) -> str:
    """Bytes as text: in the declared encoding when that is one and fits, else as UTF-8."""
    if data.isascii() and b"\x1b" not in data and b"~" not in data:
        return data.decode("ascii").replace("\0", "\ufffd")
    text = _as_declared(data, declared)
    if text is None:
        text = data.decode("utf-8", "replace")
    return text.replace("\0", "\ufffd")


def _as_declared(data: bytes, declared: str) -> str | None:
    try:
        codec = codecs.lookup(declared).name if declared else ""
        if not _ENCODINGS.match(codec):
            return None
        text = data.decode(codec)
    except (LookupError, ValueError):
        return None
    return None if _SURROGATES.search(text) else text


def _particulars(what: Commit, changes: Changes | None) -> list[str]:
    lines = [f"Author: {what.author}", f"Date: {what.authored}"]
    if changes is not None and changes.total:
        lines += ["", *(f"- {_change(one)}" for one in changes.named)]
        more = changes.total - len(changes.named)
        if more:
            lines.append(f"- and {more} more")
    return lines


def _change(change: Change) -> str:
    if change.before is not None:
        return f"{change.status} {printable(change.before)} -> {printable(change.path)}"
    return f"{change.status} {printable(change.path)}"


def _signed(line: str) -> tuple[str, str]:
    """Who, and when with their own offset from UTC; the raw line where it cannot be read."""
    found = _PERSON.fullmatch(line)
    if found is None:
        return line, "unknown"
    zone = found["zone"] or "+0000"
    minutes = int(zone[-2:]) + 60 * int(zone[1:-2] or 0)
    try:
        offset = timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes))
        moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=int(found["seconds"]))
        return found["who"], moment.astimezone(offset).isoformat()
    except (OverflowError, ValueError):
        return found["who"], f"{found['seconds']} {zone}"


def _instant(line: str) -> Instant | None:
    found = _PERSON.fullmatch(line)
    if found is None:
        return None
    ns = int(found["seconds"]) * SECOND
    return Instant(ns) if Instant.MIN.ns <= ns <= Instant.MAX.ns else None
