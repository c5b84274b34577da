"""gitignore patterns with git's own answers (dir.c and wildmatch.c), compiled to one regex a list.

Texts are "byte texts": the bytes of a name read as latin-1, because git matches bytes. pathspec is
not used here: it differs from git on character classes, `[!x]` against "/", tabs and bytes beyond
ASCII (one random pattern list in six). Invariant: the last pattern that matches decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from syncd.sources.names import name_bytes

_BOM = b"\xef\xbb\xbf"
GLOB = re.compile(r"[*?\[\\]")
_STAR = "*"
_SLASH = "/"
_ANY_FOLDERS = "(?:[^/]*/)*"
_ANYTHING = ".*"
_ASCII = [chr(code) for code in range(128)]
_CLASSES = {
    "alnum": {c for c in _ASCII if c.isalnum()},
    "alpha": {c for c in _ASCII if c.isalpha()},
    "blank": set(" \t"),
    "cntrl": {c for c in _ASCII if c < " " or c == "\x7f"},
    "digit": set("0123456789"),
    "graph": {c for c in _ASCII if "!" <= c <= "~"},
    "lower": {c for c in _ASCII if c.islower()},
    "print": {c for c in _ASCII if " " <= c <= "~"},
    "punct": {c for c in _ASCII if "!" <= c <= "~" and not c.isalnum()},
    # git's own isspace() knows neither vertical tab nor form feed.
    "space": set(" \t\n\r"),
    "upper": {c for c in _ASCII if c.isupper()},
    "xdigit": set("0123456789abcdefABCDEF"),
}


def byte_text(key: str) -> str:
    """A key as git sees it: one character a byte."""
    return key if key.isascii() else name_bytes(key).decode("latin-1")


class Pattern(NamedTuple):
    """One line of an ignore file. `regex` is None when nothing can ever match it."""

    text: str
    negated: bool
    directories_only: bool
    by_name: bool
    regex: str | None


def parse(data: bytes) -> list[Pattern]:
    """The patterns of an ignore file's bytes, in order (git: dir.c, add_patterns_from_buffer)."""
    lines = data.removeprefix(_BOM).split(b"\n")
    texts = (line.removesuffix(b"\r").split(b"\0")[0].decode("latin-1") for line in lines if line)
    return [pattern(text) for text in texts if not text.startswith("#")]


def pattern(line: str) -> Pattern:
    """One pattern from a byte text (git: dir.c, parse_path_pattern)."""
    text = _trimmed(line)
    body = text.removeprefix("!")
    directories_only = body.endswith("/")
    core = body[:-1] if directories_only else body
    by_name = "/" not in core
    regex = _translate(core) if by_name else _anchored(core.removeprefix("/"))
    return Pattern(text, text.startswith("!"), directories_only, by_name, regex)


class Patterns:
    """An ordered list of patterns, asked about paths relative to where the list applies."""

    __slots__ = ("_for_directories", "_for_files", "patterns")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        numbered = [(n, one) for n, one in enumerate(self.patterns) if one.regex is not None]
        self._for_directories = _matchers(numbered)
        self._for_files = _matchers([pair for pair in numbered if not pair[1].directories_only])

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True when `path` is matched, False when a negation frees it, None when unmentioned.

        Only `path` itself is asked about; whoever walks a tree asks about its parents first.
        """
        names, paths = self._for_directories if is_directory else self._for_files
        best = -1
        if names is not None:
            best = names.last_match(path[path.rfind("/") + 1 :])
        if paths is not None:
            best = max(best, paths.last_match(path))
        return None if best < 0 else not self.patterns[best].negated


class _Matcher:
    """Many regexes as one alternation, the last pattern first: the first alternative decides."""

    __slots__ = ("_match", "_numbers")

    def __init__(self, numbered: list[tuple[int, Pattern]]) -> None:
        backwards = numbered[::-1]
        self._numbers = (-1, *(number for number, _ in backwards))
        alternatives = "|".join(f"({one.regex}\\Z)" for _, one in backwards)
        self._match = re.compile(alternatives, re.DOTALL).match

    def last_match(self, text: str) -> int:
        found = self._match(text)
        return -1 if found is None else self._numbers[found.lastindex or 0]


def _matchers(numbered: list[tuple[int, Pattern]]) -> tuple[_Matcher | None, _Matcher | None]:
    names = [pair for pair in numbered if pair[1].by_name]
    paths = [pair for pair in numbered if not pair[1].by_name]
    return (_Matcher(names) if names else None, _Matcher(paths) if paths else None)


def _trimmed(line: str) -> str:
    """Without trailing spaces, unless a backslash protects them."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare


def _anchored(text: str) -> str | None:
    # git compares the literal beginning first and hands only the rest to wildmatch, for which
    # a "**" then stands at the start: "a**/b" reaches across directories.
    glob = GLOB.search(text)
    cut = glob.start() if glob else len(text)
    rest = _translate(text[cut:])
    return None if rest is None else re.escape(text[:cut]) + rest


def _translate(text: str) -> str | None:
    """The regex of a glob, or None when it can match nothing."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        token, position = _token(text, position)
        if token is None:
            return None
        tokens.append(token)
    return _assemble(tokens)


def _token(text: str, at: int) -> tuple[str | None, int]:
    """The next token (None: can never match) and where the one after it begins."""
    character = text[at]
    if character == "*":
        return _stars(text, at)
    if character == "[":
        return _bracket(text, at + 1)
    if character == "?":
        return "[^/]", at + 1
    if character == "\\":
        at += 1
        if at == len(text):
            return None, at
        character = text[at]
    return (_SLASH if character == "/" else re.escape(character)), at + 1


def _stars(text: str, at: int) -> tuple[str, int]:
    end = at
    while text[end : end + 1] == "*":
        end += 1
    rest = text[end : end + 2]
    segment = at == 0 or text[at - 1] == "/"
    if end - at < 2 or not segment or not (rest in {"", "\\/"} or rest[0] == "/"):
        return _STAR, end
    return (_ANY_FOLDERS, end + 1) if rest[:1] == "/" else (_ANYTHING, end)


def _assemble(tokens: list[str]) -> str:
    """Join tokens so that only the last star of a segment can backtrack (no exponential time)."""
    regex = fixed = ""
    star_follows = False
    for token in reversed(tokens):
        if token == _STAR:
            regex = (f"(?>[^/]*?{fixed})" if star_follows else f"[^/]*{fixed}") + regex
            fixed, star_follows = "", True
        elif token in {_SLASH, _ANY_FOLDERS, _ANYTHING}:
            regex = token + fixed + regex
            fixed, star_follows = "", False
        else:
            fixed = token + fixed
    return fixed + regex


def _bracket(text: str, at: int) -> tuple[str | None, int]:
    """A bracket expression, read exactly as wildmatch.c reads it; `at` is behind the "["."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    members: set[str] = set()
    previous, first = "", True
    while first or text[at : at + 1] != "]":
        first = False
        found = _member(text, at, previous)
        if found is None:
            return None, len(text)
        previous, at = found.last, found.next
        members |= found.members
    return _class_regex(members, negated), at + 1


class _Member(NamedTuple):
    members: set[str]
    last: str  # what a following "-" would count from; "" for nothing
    next: int


def _member(text: str, at: int, previous: str) -> _Member | None:
    """The next member of a bracket expression; None when the pattern is malformed."""
    character = text[at : at + 1]
    following = text[at + 1 : at + 2]
    if character == "-" and previous and following not in {"", "]"}:
        at += 1 + (following == "\\")
        if at >= len(text):
            return None
        span = range(ord(previous), ord(text[at]) + 1)
        return _Member({chr(code) for code in span}, "", at + 1)
    if character == "[" and following == ":":
        return _named_class(text, at)
    if character == "\\":
        at += 1
        character = text[at : at + 1]
    return _Member({character}, character, at + 1) if character else None


def _named_class(text: str, at: int) -> _Member | None:
    end = text.find("]", at + 2)
    if end < 0:
        return None
    if end == at + 2 or text[end - 1] != ":":
        return _Member({"["}, "[", at + 1)
    members = _CLASSES.get(text[at + 2 : end - 1])
    return None if members is None else _Member(members, "", end + 1)


def _class_regex(members: set[str], negated: bool) -> str | None:
    # A bracket never matches a slash, negated or not (WM_PATHNAME).
    spelt = "".join(f"\\x{ord(one):02x}" for one in sorted(members - {"/"}))
    if negated:
        return f"[^/{spelt}]"
    return f"[{spelt}]" if spelt else None
