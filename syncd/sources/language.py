"""Language and media type of a file, from its name and its text alone.

Nothing of the machine goes in (no /etc/mime.types, no executable bit): the same file gets the
same answer everywhere. Languages are identify's tags, of which one is chosen.
"""

from __future__ import annotations

import functools
import re

from identify.extensions import EXTENSIONS, EXTENSIONS_NEED_BINARY_CHECK, NAMES
from identify.interpreters import INTERPRETERS

_NOT_LANGUAGES = frozenset(
    {
        *("text", "binary", "plain-text", "image", "audio", "icon", "bitmap", "pem", "header"),
        *("map", "manifest", "ppm", "gzip", "zip", "jar", "tar", "dbc"),
    }
)
# Of several tags the one that people search by.
_PREFERRED = (
    *("jupyter", "objective-c++", "html", "python", "shell", "c", "c++", "c#", "f#", "javascript"),
    *("clojure", "groovy", "scala", "ruby", "pascal", "php", "json", "yaml", "toml", "xml", "ini"),
    *("gitignore", "meson", "plist"),
)
_SPELT = {
    "ts": "typescript",
    "tsx": "typescript",
    "jsx": "javascript",
    "pyi": "python",
    "mdx": "markdown",
    "java-properties": "properties",
}
_MORE_ENDINGS = {
    "awk": "awk",
    "el": "emacs-lisp",
    "lisp": "common-lisp",
    "rkt": "racket",
    "tcl": "tcl",
    "org": "org",
    "rest": "rst",
    "jsonc": "json",
    "jsonl": "json",
    "ndjson": "json",
    **dict.fromkeys(("mkd", "mkdn", "mdown", "mdwn", "rmd"), "markdown"),
}
_MEDIA_TYPES = {
    "markdown": "text/markdown",
    "html": "text/html",
    "css": "text/css",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "javascript": "text/javascript",
    "json": "application/json",
    "jupyter": "application/x-ipynb+json",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "toml": "application/toml",
    "sql": "application/sql",
}
_SHEBANG = re.compile(r"#![ \t]*(?P<command>[ -~\t]+)")
_ASSIGNMENT = re.compile(r"\w+=.*|-.*")


def language_of(name: str, text: str) -> str | None:
    """The code or markup language, in lower case (`python`, `markdown`); None for prose."""
    found = _by_name(name)
    if found is None and "." not in name.lstrip("."):
        found = _by_shebang(text)
    return found


def media_type_of(language: str | None) -> str:
    """The media type of a text in this language (None: plain text)."""
    if language is None:
        return "text/plain"
    return _MEDIA_TYPES.get(language, f"text/x-{language}")


def _by_name(name: str) -> str | None:
    if name in NAMES:
        return _chosen(NAMES[name])
    _, dot, ending = name.rpartition(".")
    found = _by_ending(ending.lower() if dot else "")
    if found is not None:
        return found or None
    # `Dockerfile.xenial` is a Dockerfile, but `README.py` was Python by its ending.
    return _chosen(next((NAMES[part] for part in name.split(".") if part in NAMES), set()))


@functools.lru_cache(maxsize=1024)
def _by_ending(ending: str) -> str | None:
    """The language of an ending, "" when it has none, None when the ending is not known."""
    if ending in _MORE_ENDINGS:
        return _MORE_ENDINGS[ending] or ""
    tags = EXTENSIONS.get(ending) or EXTENSIONS_NEED_BINARY_CHECK.get(ending)
    return None if tags is None else _chosen(tags) or ""


def _by_shebang(text: str) -> str | None:
    found = _SHEBANG.match(text)
    if found is None:
        return None
    words = found["command"].split()
    if words and words[0].rpartition("/")[2] == "env":
        words = [word for word in words[1:] if not _ASSIGNMENT.fullmatch(word)]
    interpreter = words[0].rpartition("/")[2] if words else ""
    while interpreter:  # python3.11.2, python3.11, python3
        if interpreter in INTERPRETERS:
            return _chosen(INTERPRETERS[interpreter])
        interpreter = interpreter.rpartition(".")[0]
    return None


def _chosen(tags: set[str]) -> str | None:
    languages = tags - _NOT_LANGUAGES
    if not languages:
        return None
    preferred = next((one for one in _PREFERRED if one in languages), None)
    tag = preferred or min(languages)
    return _SPELT.get(tag, tag)
