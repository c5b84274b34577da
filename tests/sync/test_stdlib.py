"""The standard library of this Python, copied and synced: a real tree of a few thousand files."""

from __future__ import annotations

import os
import random
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.sources import Reading, Sighting
from tests.sync.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "scene", "local")
    stdlib = sysconfig.get_path("stdlib")
    unwanted = shutil.ignore_patterns("site-packages", "__pycache__", "dist-packages")
    shutil.copytree(stdlib, made.root, dirs_exist_ok=True, ignore=unwanted, symlinks=True)
    yield made
    made.close()


def wanted(scene: Scene) -> dict[str, list[str]]:
    """What each file becomes, path by path, asked of the source alone."""
    out = {}
    source = scene.source
    for seen in source.scan():
        if isinstance(seen, Sighting) and source.judge(seen) is None:
            became = source.read(seen.path)
            if isinstance(became, Reading):
                out[seen.path] = [item.render_text() for item in became.items]
    return out


def check(scene: Scene) -> None:
    expected = wanted(scene)
    assert scene.memory() == expected
    fresh = scene.fresh_ids()
    assert scene.ids() == {path: fresh[path] for path in expected}


def test_the_standard_library_stays_equal_through_edits_and_losses(scene: Scene) -> None:
    first = scene.sync()
    assert first.stored > 500
    check(scene)
    ids = scene.ids()

    again = scene.sync()
    assert not again.changed
    assert scene.engine.named("store_many", "forget") == []
    assert scene.ids() == ids

    chance = random.Random(1)
    paths = sorted(path for path in ids if path.endswith(".py") and not path.startswith("json/"))
    chosen = chance.sample(paths, 61)
    for path in chosen[:40]:
        with (scene.root / path).open("a") as file:
            file.write("\n# edited\n")
    for path in chosen[40:60]:
        (scene.root / path).unlink()
    os.rename(scene.root / "json", scene.root / "renamed-json")
    scene.remove(chosen[60])
    scene.put(f"{chosen[60]}/inside.py", "a file replaced by a directory\n")
    tally = scene.sync()
    assert tally.held == 0
    check(scene)

    ids = scene.ids()
    scene.lose_ledger()
    tally = scene.sync()
    assert (tally.stored, tally.forgotten) == (0, 0)
    assert scene.ids() == ids
    check(scene)
