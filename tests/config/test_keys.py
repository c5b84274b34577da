"""A key is read from where the configuration says, and is never part of a message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from syncd.config import KeyConfig, credential, parse
from syncd.config.keys import stamp
from syncd.memory.errors import Unauthorized


def read(key: str, **environ: str) -> str:
    text = f"engine: cortexdb\nengines: {{cortexdb: {{key: {key}}}}}\nsources: []\n"
    environ = {"HOME": "/h", **environ}
    ask = credential(parse(Path("/c.yaml"), text.encode(), environ), environ)
    assert ask is not None
    return ask()


def test_from_a_variable() -> None:
    assert read("{env: K}", K=" abc\n") == "abc"


def test_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc\nsecond line\n")
    assert read(f"{{file: {tmp_path}/key}}") == "abc"


def test_from_a_command() -> None:
    assert read(f"{{command: [{sys.executable}, -c, 'print(\"abc\")']}}") == "abc"


def test_from_systemd(tmp_path: Path) -> None:
    (tmp_path / "cortexdb").write_text("abc")
    assert read("{credential: cortexdb}", CREDENTIALS_DIRECTORY=str(tmp_path)) == "abc"


def test_the_local_engine_has_no_key() -> None:
    assert credential(parse(Path("/c.yaml"), b"sources: []", {"HOME": "/h"})) is None


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("{env: K}", "variable K holds no key"),
        ("{file: /nowhere/key}", "cannot read the key file /nowhere/key"),
        ("{command: [/nowhere/pass]}", "the key command /nowhere/pass failed"),
        (f"{{command: [{sys.executable}, -c, 'print(\"sk-1\"); exit(3)']}}", "status 3"),
        ("{command: ['true']}", "holds no key"),
        ("{credential: cortexdb}", "only there when systemd starts"),
    ],
)
def test_a_key_that_cannot_be_had(key: str, words: str) -> None:
    with pytest.raises(Unauthorized, match=words) as caught:
        read(key)
    assert "sk-1" not in str(caught.value)


def test_the_key_is_asked_for_each_time(tmp_path: Path) -> None:
    text = (
        f"engine: cortexdb\nengines: {{cortexdb: {{key: {{file: {tmp_path}/key}}}}}}\nsources: []"
    )
    ask = credential(parse(Path("/c.yaml"), text.encode(), {"HOME": "/h"}))
    assert ask is not None
    for key in ("one", "two"):
        (tmp_path / "key").write_text(key)
        assert ask() == key


def test_a_stamp_differs_once_the_file_does(tmp_path: Path) -> None:
    file = tmp_path / "key"
    by_file, by_name = KeyConfig(file=file), KeyConfig(credential="key")
    around = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    absent = stamp(by_file)
    file.write_text("one")
    first = stamp(by_file)
    assert absent != first == stamp(by_file)
    assert stamp(by_name, around) == first != stamp(by_name, {})
    file.write_text("another")
    assert stamp(by_file) != first


def test_what_is_no_file_has_no_stamp() -> None:
    assert stamp(None) is None
    assert stamp(KeyConfig(env="A")) is None
    assert stamp(KeyConfig(command=("false",))) is None
