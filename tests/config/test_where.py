"""Which file is read, with and without a home directory."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from syncd.config import ConfigError, locate
from syncd.config.where import expand, home


def test_the_command_line_comes_before_the_variable_and_the_home() -> None:
    environ = {"SYNCD_CONFIG": "/v.yaml", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}
    assert locate("/c.yaml", environ) == Path("/c.yaml")
    assert locate(None, environ) == Path("/v.yaml")
    del environ["SYNCD_CONFIG"]
    assert locate(None, environ) == Path("/x/syncd/config.yaml")
    del environ["XDG_CONFIG_HOME"]
    assert locate(None, environ) == Path("/h/.config/syncd/config.yaml")


def test_a_relative_name_starts_where_the_command_was_given() -> None:
    assert locate("c.yaml", {}) == Path.cwd() / "c.yaml"


def test_a_relative_xdg_directory_is_ignored() -> None:
    environ = {"XDG_CONFIG_HOME": "x", "HOME": "/h"}
    assert locate(None, environ) == Path("/h/.config/syncd/config.yaml")


def test_without_home_the_password_database_knows() -> None:
    assert home({}) == pwd.getpwuid(os.getuid()).pw_dir


def test_without_any_home_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(ConfigError, match="--config"):
        locate(None, {})


def test_expansion() -> None:
    environ = {"HOME": "/h", "A": "~", "E": ""}
    assert expand("~", environ) == "/h"
    assert expand("~/x", environ) == "/h/x"
    assert expand("${A}/x", environ) == "/h/x"
    assert expand("/a/${E}b/${E:-c}", environ) == "/a/b/c"
    assert expand("/a/$A/~/$", environ) == "/a/$A/~/$"
