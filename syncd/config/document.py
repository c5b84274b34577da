"""A YAML file as plain values that remember where they were written.

The node tree is read directly and no constructor ever runs, so a tag cannot build an object,
every duplicate key is seen, and the text as it was written is at hand for the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from syncd.config.problems import MAX_BYTES, ConfigError, Problem

Place = tuple[str | int, ...]
_YAML: Final = "tag:yaml.org,2002:"
_KNOWN: Final = {"str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "value"}
_WHOLE: Final = re.compile(r"[-+]?(0|[1-9][0-9_]*)")


class Mark(NamedTuple):
    """Line and column, both from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Document:
    """The values, and for each place its position and its text.

    A place in `void` reads as None, and its problem is already told.
    """

    file: Path
    value: object = None
    keys: dict[Place, Mark] = field(default_factory=dict)
    values: dict[Place, Mark] = field(default_factory=dict)
    written: dict[Place, str] = field(default_factory=dict)
    void: set[Place] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def mark(self, place: Place) -> Mark:
        """The position of a value, or of the nearest enclosing one that is written."""
        while place and place not in self.values:
            place = place[:-1]
        return self.values.get(place, Mark(1, 1))

    def problem(self, mark: Mark, place: Place, what: str, meant: str | None = None) -> None:
        self.problems.append(Problem(self.file, *mark, dotted(place), what, meant))


def dotted(place: Place) -> str:
    """A place as people write it: `sources[0].exclude`."""
    words = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(words).removeprefix(".")


def parse(file: Path, data: bytes) -> Document:
    """The document in `data`. Raises ConfigError when it is no YAML at all."""
    document = Document(file)
    if len(data) > MAX_BYTES:
        raise ConfigError((Problem(file, 0, 0, "", "this is too large for a configuration file"),))
    text = _decoded(file, data)
    try:
        reader = YAML()
        reader.composer.warn_double_anchors = False
        root = reader.compose(text)
        if root is not None:
            document.value = _Reader(document).value(root, ())
    except YAMLError as error:
        raise ConfigError((_syntax(file, text, error),)) from error
    except RecursionError as error:
        raise ConfigError((Problem(file, 0, 0, "", "this is nested too deeply"),)) from error
    return document


def _decoded(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        mark = Mark(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        what = f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise ConfigError((Problem(file, *mark, "", what),)) from error


class _Reader:
    """Turns nodes into values, noting positions and faults in the document on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._open: list[Node] = []

    def value(self, node: Node, place: Place) -> object:
        self._document.values[place] = _mark(node)
        if any(node is outer for outer in self._open):
            self._refuse(node, place, "this alias contains itself")
            return None
        tag = str(node.tag or "")
        if tag.removeprefix(_YAML) not in _KNOWN or not tag.startswith(_YAML):
            shown = tag.replace(_YAML, "!!")
            self._refuse(node, place, f"the tag {shown} is not allowed here")
            return None
        self._open.append(node)
        try:
            return self._content(node, place)
        finally:
            self._open.pop()

    def _content(self, node: Node, place: Place) -> object:
        if isinstance(node, MappingNode):
            return self._mapping(node, place)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, place) if isinstance(node, ScalarNode) else None

    def _refuse(self, node: Node, place: Place, what: str) -> None:
        self._document.problem(_mark(node), place, what)
        self._document.void.add(place)

    def _mapping(self, node: MappingNode, place: Place) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, content in node.value:
            if key.tag == f"{_YAML}merge":
                result |= self._merged(content, place)
                self._document.values[place] = _mark(node)
        first: dict[str, Mark] = {}
        for key, content in node.value:
            if key.tag != f"{_YAML}merge":
                self._entry(key, content, place, first, result)
        return result

    def _merged(self, node: Node, place: Place) -> dict[str, object]:
        result: dict[str, object] = {}
        parts = node.value if isinstance(node, SequenceNode) else [node]
        for part in reversed(parts):
            read = self.value(part, place)
            if isinstance(read, dict):
                result |= read
            elif place not in self._document.void:
                self._document.problem(_mark(part), place, "<< takes a mapping")
        return result

    def _entry(
        self, key: Node, node: Node, place: Place, first: dict[str, Mark], into: dict[str, object]
    ) -> None:
        mark = _mark(key)
        if not isinstance(key, ScalarNode):
            return self._document.problem(mark, place, "a key must be a text")
        name = str(key.value)
        here = (*place, name)
        if name in first:
            what = f"this key is here twice: lines {first[name].line} and {mark.line}"
            return self._document.problem(mark, here, what)
        first[name] = mark
        if name.startswith("x-"):
            return None
        self._document.keys[here] = mark
        into[name] = self.value(node, here)
        return None

    def _scalar(self, node: ScalarNode, place: Place) -> object:
        text = str(node.value)
        self._document.written[place] = text
        kind = str(node.tag).removeprefix(_YAML)
        if kind == "null":
            # nothing is written, so its own position is wherever the next thing starts
            at = self._document.keys.get(place, _mark(node))
            self._document.problem(at, place, "there is no value here: give one, or remove the key")
            self._document.void.add(place)
            return None
        if not node.style and node.end_mark.line != node.start_mark.line:
            self._refuse(node, place, f"this text runs over several lines: {text[:60]!r}")
            return None
        if kind == "bool" and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _number(text) if kind in ("int", "float") else text


def _number(text: str) -> int | float | str:
    """A number; one with a leading zero is never an int, because readers disagree on its base."""
    plain = text.replace("_", "")
    if _WHOLE.fullmatch(text) and len(plain) <= 18:
        return int(plain)
    try:
        return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return _in_base(plain)


def _in_base(text: str) -> float | str:
    try:
        return float(int(text, 0))
    except (ValueError, OverflowError):
        return text


def _mark(node: Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def _syntax(file: Path, text: str, error: YAMLError) -> Problem:
    if isinstance(error, ReaderError):
        before = text[: error.position]
        mark = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        return Problem(file, *mark, "", "a control character is not allowed here")
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return Problem(file, 0, 0, "", f"this is not YAML: {error}")
    said = " ".join(str(error.problem or error.context or "").split())
    at = error.problem_mark
    if "stream end" in said or "end of stream" in said:
        at = error.context_mark or at
    lines = text.splitlines() or [""]
    rest = lines[at.line][at.column :] if at.line < len(lines) else ""
    what, meant = _hint(said, rest)
    return Problem(file, at.line + 1, at.column + 1, "", what, meant)


def _hint(said: str, rest: str) -> tuple[str, str | None]:
    """What a syntax error probably is, from the parser's words and the text at its position."""
    token = re.split(r"[\s,\]}]", rest, maxsplit=1)[0]
    if rest.startswith("\t"):
        return "tabs are not allowed for indentation: use spaces", None
    if rest[:1] in ("*", "&", "%", "@", "`"):
        return f"a value that starts with {rest[0]} must be quoted: quote it", f'"{token}"'
    if "mapping values are not allowed" in said:
        return "a colon is not expected here: indent the line as its neighbours, or quote it", None
    if "stream end" in said or "end of stream" in said:
        return "what is opened here (a bracket or a quote) is never closed", None
    if "found another document" in said:
        return "only one document is allowed: remove the line `---`", None
    if "unknown escape" in said:
        return f"{said}: use single quotes for a text with backslashes", None
    if "block end" in said:
        return "this line does not fit the ones before it: indent it as its neighbours", None
    return f"this is not YAML: {said}", None
