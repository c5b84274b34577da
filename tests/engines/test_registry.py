from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from syncd.engines import build_engine, list_engines
from syncd.memory import FetchMode, FetchRequest, errors


def test_the_local_engine_is_listed_and_needs_nothing() -> None:
    local = list_engines()[0]
    assert local.id == "local"
    assert (local.hosted, local.needs_endpoint, local.needs_key) == (False, False, False)
    assert local.fetch_modes == (FetchMode.KEYWORD,)


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.Config, match=r"engine 'sqlite' is not known; known: local"):
        build_engine("sqlite", {})


@pytest.mark.parametrize("id", ["cortexdb", "tinyhumans"])
def test_an_engine_elsewhere_is_listed_with_what_it_needs(id: str) -> None:
    (found,) = [engine for engine in list_engines() if engine.id == id]
    assert (found.hosted, found.needs_endpoint, found.needs_key) == (
        id == "tinyhumans",
        False,
        True,
    )
    assert found.default_endpoint is not None
    assert found.fetch_modes == (FetchMode.HYBRID,)
    with build_engine(id, {}, "key") as engine:
        assert engine.descriptor == found


def test_listing_engines_loads_no_http_client() -> None:
    code = "import sys, syncd.engines as e; e.list_engines(); print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({}, "needs a path"), ({"path": ""}, "needs a path"), ({"path": "x", "pth": 1}, "'pth'")],
)
def test_settings_are_checked(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(errors.Config, match=complaint):
        build_engine("local", settings)


def test_a_home_directory_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with build_engine("local", {"path": "~/deep/memory.db"}) as engine:
        assert engine.health().state == "ok"
    assert (tmp_path / "deep" / "memory.db").is_file()


def test_building_touches_no_disk(tmp_path: Path) -> None:
    build_engine("local", {"path": tmp_path / "memory.db"}).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [FetchMode.VECTOR, FetchMode.HYBRID])
def test_undeclared_modes_are_refused_before_anything_else(tmp_path: Path, mode: FetchMode) -> None:
    engine = build_engine("local", {"path": tmp_path / "memory.db"})
    with pytest.raises(errors.Unsupported, match=f"does not offer {mode.value} fetch"):
        engine.fetch(FetchRequest("", mode=mode, limit=0))
