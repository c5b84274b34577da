"""Language and media type come from the name and the text, the same on every machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from syncd.sources.language import language_of, media_type_of


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("a.PY", "python"),
        ("a.pyi", "python"),
        ("a.md", "markdown"),
        ("README.md", "markdown"),
        ("README", None),
        ("notes.txt", None),
        ("a.log", None),
        ("CMakeLists.txt", "cmake"),
        ("a.ts", "typescript"),
        ("a.tsx", "typescript"),
        ("a.jsx", "javascript"),
        ("a.h", "c"),
        ("a.hpp", "c++"),
        ("a.mm", "objective-c++"),
        ("a.cs", "c#"),
        ("a.sh", "shell"),
        (".bashrc", "shell"),
        ("a.zsh", "shell"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.xenial", "dockerfile"),
        ("Makefile", "makefile"),
        ("pyproject.toml", "toml"),
        ("package.json", "json"),
        ("a.jsonl", "json"),
        ("a.svg", "xml"),
        ("a.xhtml", "html"),
        ("nb.ipynb", "jupyter"),
        ("a.yml", "yaml"),
        ("a.rs", "rust"),
        ("README.py", "python"),
        ("a.unheard", None),
        ("a.", None),
        ("", None),
        ("é\n.go", "go"),
    ],
)
def test_by_name(name: str, language: str | None) -> None:
    assert language_of(name, "text") == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("#!/bin/sh", "shell"),
        ("#!/usr/bin/env bash", "shell"),
        ("#! /usr/bin/env -S FOO=1 python3.11 -u", "python"),
        ("#!/usr/bin/python3.11.2", "python"),
        ("#!/usr/bin/perl -w", "perl"),
        ("#!/usr/bin/env", None),
        ("#!", None),
        ("#!/opt/unheard", None),
        ("print()", None),
        (" #!/bin/sh", None),
    ],
)
def test_by_first_line(line: str, language: str | None) -> None:
    assert language_of("tool", line + "\nrest\n") == language


def test_a_first_line_does_not_overrule_a_name() -> None:
    assert language_of("a.txt", "#!/bin/sh\n") is None
    assert language_of("a.rb", "#!/bin/sh\n") == "ruby"
    assert language_of(".profile-of-mine", "#!/bin/sh\n") == "shell"


@pytest.mark.parametrize(
    ("language", "media_type"),
    [
        (None, "text/plain"),
        ("markdown", "text/markdown"),
        ("json", "application/json"),
        ("yaml", "application/yaml"),
        ("html", "text/html"),
        ("python", "text/x-python"),
        ("c++", "text/x-c++"),
    ],
)
def test_media_types(language: str | None, media_type: str) -> None:
    assert media_type_of(language) == media_type


def test_every_language_is_lower_case() -> None:
    from identify.extensions import EXTENSIONS, NAMES

    for name in [*NAMES, *(f"a.{ending}" for ending in EXTENSIONS)]:
        language = language_of(name, "")
        assert language is None or language == language.lower()


def test_the_answer_does_not_depend_on_hash_order() -> None:
    program = (
        "from syncd.sources.language import language_of as l; from identify.extensions import *;"
        "print([l(n, '') for n in NAMES], [l('a.' + e, '') for e in EXTENSIONS])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1
