"""A git that knows nothing of whoever runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repository.making import Repo
from tests.sources.conftest import stranger as stranger

_CONFIG = """\
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[protocol "file"]
\tallow = always
[advice]
\tdetachedHead = false
"""


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's git configuration, which nothing may change."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    config = tmp_path / "gitconfig"
    config.write_text(_CONFIG)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return config


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "r")
