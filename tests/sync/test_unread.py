"""What cannot be read keeps its items; what is not fit for memory any more loses them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncd.sources import Blind, Unreadable
from syncd.sync.passes import Pass
from tests.sync.scene import SOURCE, Scene

# A first pass as whoever runs the tests loads all that a user may not be able to read.
AS_A_USER = """
import os, shutil, sys, tempfile
from pathlib import Path
from tests.sync.scene import Scene, Scope
warm = Scene(Path(tempfile.mkdtemp()) / "scene")
warm.put("f.py", "text")
warm.sync()
warm.assert_equal()
shutil.rmtree(warm.top.parent)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
scene = Scene(Path(sys.argv[1]) / "scene")
"""


def as_a_user(script: str) -> None:
    """Run a script in a child process that permissions apply to."""
    # Not below tmp_path, which every pytest that starts closes to all but its own user again.
    home = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(home, 65534, 65534)
    command = [sys.executable, "-c", AS_A_USER + script, str(home)]
    top = Path(__file__).parents[2]
    try:
        done = subprocess.run(command, cwd=top, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    finally:
        for at, _, _ in os.walk(home):
            os.chmod(at, 0o700)
        shutil.rmtree(home)


UNREADABLE_ROOT = """
from syncd.sources import SourceUnavailable
scene.many(25)
scene.sync()
rows = scene.table()
for mode in (0o000, 0o444, 0o111, 0o333):
    scene.root.chmod(mode)
    for scope in (Scope(), Scope(("n/0001.md",)), Scope(("n",), frozenset({"n"}))):
        try:
            tally = scene.sync(scope)
        except SourceUnavailable as error:
            assert "permission denied" in error.reason, error.reason
        else:
            raise AssertionError(f"mode {mode:o} went unnoticed: {tally}")
        assert scene.engine.named("forget", "store_many") == []
    scene.root.chmod(0o755)
    assert len(scene.memory()) == 25 and scene.table() == rows
scene.remove("n/0001.md")
tally = scene.sync()
assert (tally.stored, tally.forgotten, tally.replayed) == (0, 1, 0), tally
scene.assert_equal()
"""

UNREADABLE_DIRECTORY = """
scene.many(40, "d/sub")
scene.many(40, "e")
scene.put("d-", "look-alike")
scene.sync()
for mode in (0o000, 0o444, 0o111):
    (scene.root / "d").chmod(mode)
    scene.put("e/0001.md", f"edited {mode}")
    for scope in (Scope(), Scope(("d",)), Scope(("d/sub",)), Scope(("d/sub/0001.md",))):
        tally = scene.sync(scope)
        if mode != 0o111:
            assert tally.unread, (oct(mode), scope)
            assert not tally.in_step
        assert (tally.forgotten, tally.held) == (int(scope.whole), 0), tally
    assert len(scene.memory()) == 81
    (scene.root / "d").chmod(0o755)
scene.remove("d/sub/0001.md")
tally = scene.sync()
assert (tally.stored, tally.forgotten) == (0, 1), tally
scene.assert_equal()
"""

UNREADABLE_FILE = """
scene.put("f", "text")
scene.put("g", "other")
scene.sync()
(scene.root / "f").chmod(0)
for _ in range(2):
    tally = scene.sync()
    assert tally.unread == [("f", "permission denied")], tally
    assert not tally.in_step and tally.forgotten == 0
    assert sorted(scene.memory()) == ["f", "g"]
(scene.root / "f").chmod(0o600)
tally = scene.sync()
assert (tally.stored, tally.unread) == (0, []), tally
scene.assert_equal()
scene.put("f", "new text")
(scene.root / "f").chmod(0)
scene.sync()
assert scene.memory()["f"] == ["# f\\n\\ntext"]
(scene.root / "f").chmod(0o600)
scene.sync()
scene.assert_equal()
(scene.root / "f").chmod(0)
scene.sync()
scene.remove("f")
scene.sync()
assert sorted(scene.memory()) == ["g"]
"""


def test_an_unreadable_root_forgets_nothing() -> None:
    as_a_user(UNREADABLE_ROOT)


def test_an_unreadable_directory_keeps_its_items() -> None:
    as_a_user(UNREADABLE_DIRECTORY)


def test_an_unreadable_file_keeps_its_item() -> None:
    as_a_user(UNREADABLE_FILE)


def test_an_unreadable_file_of_any_kind_of_source_keeps_its_item(scene: Scene) -> None:
    scene.put("d/f", "text")
    scene.put("g", "text")
    scene.sync()

    class Sick(type(scene.source)):  # type: ignore[misc]
        def scan(self, under: str = "", mark: str | None = None) -> Iterator[Any]:
            yield Blind("d/", "input/output error")
            yield from (seen for seen in super().scan(under) if not seen.path.startswith("d/"))

        def read(self, path: str) -> Any:
            return Unreadable("input/output error")

    scene.put("g", "edited")
    tally = Pass(Sick(scene.source._settings), scene.ledger, scene.engine).run()
    assert sorted(path for path, _ in tally.unread) == ["d/", "g"]
    assert sorted(scene.memory()) == ["d/f", "g"]
    assert scene.ledger.count(SOURCE) == (2, 2)
    scene.remove("g")
    assert scene.hint(removed=("g",)).forgotten == 1


@pytest.mark.parametrize(
    ("become", "reason"),
    [
        (" \n", "blank"),
        (b"\0\1\2", "binary"),
        ("x" * 2000, "larger than max_file_size"),
        ("-----BEGIN PRIVATE KEY-----\nabc", "secrets"),
    ],
)
def test_a_file_that_became_unfit_is_forgotten(
    scene: Scene, become: str | bytes, reason: str
) -> None:
    scene.settings = {"max_file_size": 1000}
    scene.put("f", "small text")
    scene.put("g")
    scene.sync()
    scene.put("f", become)
    tally = scene.sync()
    assert tally.left_out == {reason: 1}
    assert sorted(scene.memory()) == ["g"]
    scene.put("f", "small text")
    scene.sync()
    scene.assert_equal()


def test_a_newly_ignored_directory_is_forgotten_whatever_its_size(scene: Scene) -> None:
    scene.many(60, "d")
    scene.many(20, "e")
    scene.put("g")
    scene.sync()
    scene.put(".gitignore", "d/\ne/*.md\n")
    tally = scene.sync()
    assert (tally.forgotten, tally.held) == (80, 0)
    assert sorted(scene.memory()) == [".gitignore", "g"]
    scene.remove(".gitignore")
    scene.sync()
    scene.assert_equal()


def test_a_directory_excluded_by_the_configuration_is_forgotten(scene: Scene) -> None:
    scene.many(60, "d")
    scene.put("g")
    scene.sync()
    scene.settings = {"exclude": ("d/",)}
    assert scene.sync().forgotten == 60
    assert sorted(scene.memory()) == ["g"]
