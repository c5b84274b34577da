"""What a file and a commit of a repository become (design: "How a file and a commit become items").

Pure. Nothing of the host goes in: two clones of one repository make the same items.
"""

from __future__ import annotations

import codecs
import functools
import re
from datetime import date
from typing import NamedTuple

from syncd.memory import Document, Instant, MemoryMeta, Namespace, SourceKind, SourceRef
from syncd.sources.language import language_of, media_type_of
from syncd.sources.names import printable
from syncd.sources.repository.forge import Remote

# Raised whenever the same file or commit becomes another item: every recipe changes with it.
ITEMS_VERSION = 1
SECOND = 1_000_000_000
_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
# So many paths of a commit are named; the others are counted.
MAX_PATHS = 300
_HASH_IN_TITLE = 12
_TIME = re.compile(rb" ?(-?\d{1,18})(?: ([+-]\d{2,6}))?")
_SURROGATES = re.compile("[\ud800-\udfff]")
# Encodings in which ASCII is ASCII (or shifted by escapes): git can hold no others.
_ENCODINGS = re.compile(
    r"(?:ascii|iso8859|iso2022|cp\d|koi8|gb|hz|big5|euc|shift_jis|johab|mac|tis|kz1048|ptcp|utf-8)"
)


class Changes(NamedTuple):
    """The first `MAX_PATHS` changes of a commit, one a line, and how many there are."""

    named: tuple[str, ...]
    total: int


class Commit(NamedTuple):
    """A commit object, as text."""

    author: str
    authored: str
    committed: Instant | None
    message: str


class Mould:
    """What all items of one repository have in common."""

    def __init__(
        self, source: str, remote: Remote, namespace: Namespace, tags: tuple[str, ...]
    ) -> None:
        self.source = source
        self.remote = remote
        self.namespace = namespace
        self.tags = tags
        self._repo = remote.name
        self._ref = SourceRef(SourceKind.GITHUB, source)

    def file(self, key: str, text: str, observed: Instant | None) -> Document:
        """The item of a file."""
        folder, _, name = key.rpartition("/")
        language = language_of(name, text)
        meta = MemoryMeta(
            namespace=self.namespace,
            workspace=self.source,
            source=self._ref,
            tags=self.tags,
            folder=folder or ".",
            file_path=key,
            repo=self._repo,
            language=language,
            observed_at=observed,
        )
        return Document(body=text, title=name, mime=media_type_of(language), meta=meta)

    def commit(self, commit: str, what: Commit, changes: Changes | None) -> Document:
        """The item of a commit, given its full hash; without changes their list is left out."""
        meta = MemoryMeta(
            namespace=self.namespace,
            workspace=self.source,
            source=self._ref,
            tags=self.tags,
            repo=self._repo,
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
    lines: list[str] = []
    for line in message.strip().split("\n"):
        stripped = line.strip()
        if not stripped:
            break
        lines.append(stripped)
    return " ".join(lines)


def parsed(data: bytes) -> Commit:
    """A commit object's bytes as text; never an error: what cannot be read is replaced."""
    head, _, message = (b"\n" + data).partition(b"\n\n")
    declared = _field(b"\nencoding ", head).decode("ascii", "replace")
    author, authored, zone = _signed(_field(b"\nauthor ", head))
    _, committed, _ = _signed(_field(b"\ncommitter ", head))
    return Commit(
        decoded(author, declared),
        _moment(authored, zone),
        _instant(committed),
        decoded(message, declared),
    )


def _field(name: bytes, head: bytes) -> bytes:
    # Signatures go on in lines that begin with a space, so that none is taken for a field.
    at = head.find(name)
    return head[at + len(name) :].partition(b"\n")[0] if at >= 0 else b""


def decoded(data: bytes, declared: str) -> str:
    """Bytes as text: in the declared encoding when that is one and fits, else as UTF-8."""
    text = _as_declared(data, declared) if declared else None
    if text is None:
        text = data.decode("utf-8", "replace")
    return text.replace("\0", "\ufffd")


def _as_declared(data: bytes, declared: str) -> str | None:
    try:
        codec = codecs.lookup(declared).name
        if not _ENCODINGS.match(codec):
            return None
        text = data.decode(codec)
    except (LookupError, ValueError):
        return None
    return None if _SURROGATES.search(text) else text


def _particulars(what: Commit, changes: Changes | None) -> list[str]:
    lines = [f"Author: {what.author}", f"Date: {what.authored}"]
    if changes is not None and changes.total:
        lines.append("")
        lines += changes.named
        more = changes.total - len(changes.named)
        if more:
            lines.append(f"- and {more} more")
    return lines


def change(status: str, path: str, before: str | None = None) -> str:
    """One changed path with git's status letter, and where a renamed one was before."""
    if before is not None:
        return f"- {status} {_on_one_line(before)} -> {_on_one_line(path)}"
    return f"- {status} {_on_one_line(path)}"


def _on_one_line(path: str) -> str:
    return path if path.isprintable() else printable(path)


def _signed(line: bytes) -> tuple[bytes, int | None, bytes]:
    """Who, the seconds since the epoch, and the offset from UTC as git writes it."""
    # What follows the last ">" is git's; a few commits lack the offset, or all of it.
    who, mark, rest = line.rpartition(b">")
    found = _TIME.fullmatch(rest)
    if found is None:
        return line, None, b""
    seconds, zone = found.groups()
    return who + mark, int(seconds), zone or b"+0000"


def _moment(seconds: int | None, zone: bytes) -> str:
    """The time where the author was, in ISO 8601; what cannot be written so, as it is."""
    if seconds is None:
        return "unknown"
    offset, shown = _offset(zone)
    day, second = divmod(seconds + offset, _DAY)
    try:
        shown_day = _date(day)
    except (OverflowError, ValueError):
        return f"{seconds} {shown}"
    hour, minute = second // 3600, second // 60 % 60
    # A hundred thousand of these are written at once: datetime takes three times as long.
    return "%sT%02d:%02d:%02d%s" % (shown_day, hour, minute, second % 60, shown)  # noqa: UP031


@functools.lru_cache(4096)
def _date(day: int) -> str:
    return date.fromordinal(_EPOCH + day).isoformat()


@functools.lru_cache(4096)
def _offset(zone: bytes) -> tuple[int, str]:
    """Seconds east of Greenwich, and how ISO 8601 writes that."""
    hours, minutes = zone[1:-2] or b"0", zone[-2:]
    seconds = 3600 * int(hours) + 60 * int(minutes)
    shown = f"{zone[:1].decode()}{int(hours):02}:{minutes.decode()}"
    return (-seconds if zone[:1] == b"-" else seconds), shown


def _instant(seconds: int | None) -> Instant | None:
    if seconds is None:
        return None
    ns = seconds * SECOND
    return Instant(ns) if Instant.MIN.ns <= ns <= Instant.MAX.ns else None
