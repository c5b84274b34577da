"""Reading one file: bounded, regular, in one piece, and from inside the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from syncd.sources import Look, Skip, Unreadable, reading
from syncd.sources.marks import is_settled
from syncd.sources.reading import TOO_LARGE, Content, load
from tests.sources.conftest import Stranger

SECOND = 1_000_000_000


def real(path: Path) -> str:
    return os.path.realpath(path)


def test_the_whole_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"hello\r\n")
    os.utime(path, ns=(5 * SECOND, 7 * SECOND))
    found = load(real(path), 100)
    assert isinstance(found, Content)
    assert found.data == b"hello\r\n"
    assert found.look.size == 7
    assert found.look.mtime_ns == 7 * SECOND


def test_reading_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x")
    os.utime(path, ns=(5 * SECOND, 7 * SECOND))
    load(real(path), 100)
    assert path.stat().st_atime_ns == 5 * SECOND


@pytest.mark.parametrize(("size", "kept"), [(99, True), (100, True), (101, False)])
def test_the_limit_is_inclusive(tmp_path: Path, size: int, kept: bool) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * size)
    found = load(real(path), 100)
    assert isinstance(found, Content) if kept else isinstance(found, Skip)


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sparse.log"
    path.touch()
    os.truncate(path, 3 * 1024**3)

    def never(*_: object) -> bytes:
        raise AssertionError("read")

    monkeypatch.setattr(reading.os, "read", never)
    found = load(real(path), 1000)
    assert isinstance(found, Skip)
    assert found.reason == TOO_LARGE
    assert found.look.size == 3 * 1024**3


class Meddler:
    """Changes a file while it is being read, a given number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
        self.path, self.times, self.most = path, times, 0
        self._read = os.read
        monkeypatch.setattr(reading.os, "read", self)

    def __call__(self, handle: int, size: int) -> bytes:
        self.most = max(self.most, size)
        data = self._read(handle, size)
        if data and self.times:
            self.times -= 1
            self.change()
        return data

    def change(self) -> None:
        with self.path.open("ab") as file:
            file.write(b" more")


def test_a_torn_read_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"v1")
    Meddler(monkeypatch, path, times=2)
    found = load(real(path), 100)
    assert isinstance(found, Content)
    assert found.data == b"v1 more more"
    assert found.look.size == len(found.data)


def test_a_file_that_never_rests_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"v1")

    class Toucher(Meddler):
        def change(self) -> None:
            os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))

    Toucher(monkeypatch, path, times=-1)
    assert load(real(path), 1000) == Unreadable("changes while it is read")


def test_a_growing_file_cannot_pass_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * 100)
    meddler = Meddler(monkeypatch, path, times=-1)
    found = load(real(path), 100)
    assert isinstance(found, Skip)
    assert (found.reason, found.settled) == (TOO_LARGE, False)
    assert meddler.most <= 101  # bytes asked for at once, whatever came


def test_a_file_replaced_meanwhile_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")

    class Replacer(Meddler):
        def change(self) -> None:
            (tmp_path / "new").write_bytes(b"new")
            os.replace(tmp_path / "new", path)

    Replacer(monkeypatch, path, times=1)
    found = load(real(path), 100)
    assert isinstance(found, Content)
    assert found.data == b"new"


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("gone", "file/below", "link", "folder", "pipe"):
        assert load(f"{real(tmp_path)}/{name}", 100) is None


def test_a_link_above_the_file_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_bytes(b"secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/d").symlink_to("../outside")
    found = load(f"{real(tmp_path)}/root/d/secret.md", 100)
    assert isinstance(found, Unreadable)
    assert load(f"{real(tmp_path)}/root/../outside/secret.md", 100) == found


def test_permission_denied_keeps_what_is_known(stranger: Stranger) -> None:
    path = stranger.root / "a.md"
    path.write_bytes(b"x")
    with stranger.acting():
        path.chmod(0)
        assert load(real(path), 100) == Unreadable("permission denied")


def test_another_owner_is_no_obstacle(stranger: Stranger) -> None:
    # O_NOATIME is refused to all but the owner: the file is read all the same.
    (stranger.root / "mine").mkdir()
    with stranger.acting():
        pass
    path = stranger.root / "a.md"
    path.write_bytes(b"x")
    path.chmod(0o644)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        assert isinstance(load(real(path), 100), Content)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("mtime", "ctime", "now", "settled"),
    [
        (1.5, 1.25, 1.56, True),
        (1.5, 1.25, 1.54, False),
        (1.25, 1.5, 1.54, False),
        (1.5, 1.25, 1.0, False),
        (9.5, 1.25, 5.0, False),
        (1, 1, 3.0, True),
        (1, 1, 2.9, False),
        (1, 1.5, 1.6, True),
    ],
)
def test_settled(mtime: float, ctime: float, now: float, settled: bool) -> None:
    look = Look(1, int(mtime * SECOND), int(ctime * SECOND), 1)
    assert is_settled(look, int(now * SECOND)) is settled
