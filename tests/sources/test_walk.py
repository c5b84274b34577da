"""The walk: in order, through nothing but directories, and loud about what it cannot see."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.sources import Blind, LeftOut, Look, Reading, Sighting, SourceUnavailable, escape
from syncd.sources.rules import Place
from syncd.sources.walk import _rows_of
from tests.sources.conftest import Stranger
from tests.sources.trees import blind, grow, kept, left_out, paths, source, verdicts


def test_sightings_carry_the_look(tmp_path: Path) -> None:
    grow(tmp_path, {"a/b.md": "12345"})
    status = (tmp_path / "a/b.md").stat()
    [seen] = source(tmp_path).scan()
    assert isinstance(seen, Sighting)
    assert seen.path == "a/b.md"
    assert seen.look == Look(5, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert type(seen.look) is Look
    assert 0 <= seen.recipe < 2**63


NAME_BYTES = st.sampled_from(
    [
        *(b"a", b"b", b"a.b", b"a b", b"a-", b"a0", b"Z", b"\xff", b"\n", b"~a", b"a\xe9"),
        *(name.encode() for name in ("é", "\uef80", "\U0001f600", "\uffee")),
    ]
)
TREE = st.sets(st.lists(NAME_BYTES, min_size=1, max_size=3).map(tuple), max_size=14)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(TREE)
def test_the_order_is_that_of_the_keys(tmp_path: Path, tree: set[tuple[bytes, ...]]) -> None:
    root = tmp_path / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    made = set()
    for parts in sorted(tree, key=len, reverse=True):
        path = os.path.join(os.fsencode(root), *parts)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            continue
        if not os.path.lexists(path):
            with open(path, "wb") as file:
                file.write(b"x")
            made.add(escape(os.fsdecode(b"/".join(parts))))
    found = paths(list(source(root).scan()))
    assert found == sorted(found)
    assert [path.encode() for path in found] == sorted(path.encode() for path in found)
    assert set(found) == made


def test_a_directory_sorts_with_its_slash(tmp_path: Path) -> None:
    grow(tmp_path, {"a/x": "", "a.md": "", "a0": "", "a-": "", "node_modules/x": "", "node": ""})
    assert paths(list(source(tmp_path).scan())) == [
        *("a-", "a.md", "a/x", "a0", "node", "node_modules/"),
    ]


def test_links_are_left_out_and_never_followed(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {"py/lib/a.md": "a", "py/cfg/b.md": "b"})
    outside = grow(tmp_path / "outside", {"secret.md": "x"})
    for name, target in {
        "self": ".",
        "py/up": "..",
        "py/lib/cfg": "../cfg",
        "py/cfg/lib": "../lib",
        "me": "me",
        "dangling.md": "./gone",
        "py/alias.md": "../py/lib/a.md",
        "out": str(outside),
    }.items():
        (root / name).symlink_to(target)
    seen = list(source(root).scan())
    assert {one.path for one in seen if isinstance(one, Sighting)} == {"py/lib/a.md", "py/cfg/b.md"}
    assert set(left_out(seen).values()) == {"symbolic link"}
    assert len(left_out(seen)) == 8
    assert blind(seen) == {}


def test_what_is_no_regular_file_is_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, {"ok.md": "x"})
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # the address of a socket is a short path
        listener.bind("socket.md")
        folder = source(tmp_path)
        assert left_out(list(folder.scan())) == {
            "pipe.md": "not a regular file",
            "socket.md": "not a regular file",
        }
        assert folder.read("pipe.md") is None
        assert folder.read("socket.md") is None


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[str]:
    """A chain of directories deeper than Python's recursion limit, and its key."""
    here = tmp_path
    for _ in range(12):
        here = here / "/".join(["d"] * 100)
        os.makedirs(here)
    (here / "x.md").write_text("x")
    yield "d/" * 1200 + "x.md"
    # What clears temporary directories recurses.
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_deep_tree_is_no_recursion(tmp_path: Path, deep: str) -> None:
    assert kept(source(tmp_path)) == {deep}


def test_a_path_too_long_for_the_kernel_is_blind(tmp_path: Path) -> None:
    grow(tmp_path, {"z.md": "x"})
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):  # 25 times 200 characters: longer than PATH_MAX
        os.mkdir("n" * 200, dir_fd=here)
        below = os.open("n" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    seen = list(source(tmp_path).scan())
    assert list(blind(seen).values()) == ["file name too long"]
    assert next(iter(blind(seen))).endswith("n/")
    assert paths(seen)[-1] == "z.md"


def test_what_vanishes_meanwhile_is_simply_not_there(tmp_path: Path) -> None:
    grow(tmp_path, {"a.md": "x", "b/c.md": "x", "d.md": "x"})
    scan = source(tmp_path).scan()
    assert next(scan).path == "a.md"
    shutil.rmtree(tmp_path / "b")
    assert paths(list(scan)) == ["d.md"]


def test_a_directory_replaced_by_a_link_is_blind(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {"a.md": "x", "b/c.md": "x"})
    outside = grow(tmp_path / "outside", {"secret.md": "x"})
    scan = source(root).scan()
    next(scan)
    shutil.rmtree(root / "b")
    (root / "b").symlink_to(outside)
    assert list(scan) == [Blind("b/", "was replaced just now")]


def test_unreadable_directories_are_blind(stranger: Stranger) -> None:
    root = grow(stranger.root, {"a.md": "x", "closed/b.md": "x", "listed/c.md": "x"})
    with stranger.acting():
        (root / "closed").chmod(0)
        (root / "listed").chmod(0o444)
        seen = list(source(root).scan())
    assert blind(seen) == {"closed/": "permission denied", "listed/c.md": "permission denied"}
    assert [one.path for one in seen if isinstance(one, Sighting)] == ["a.md"]


class Entry:
    """A directory entry that fails as asked."""

    def __init__(self, name: str, kind_error: int = 0, look_error: int = 0) -> None:
        self.name = name
        self._errors = kind_error, look_error

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        if self._errors[0]:
            raise OSError(self._errors[0], os.strerror(self._errors[0]))
        return False

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        raise OSError(self._errors[1], os.strerror(self._errors[1]))


def test_entries_that_cannot_be_looked_at() -> None:
    entries: dict[str, Any] = {
        "gone": Entry("gone", look_error=errno.ENOENT),
        "file": Entry("file", look_error=errno.EIO),
        "unknown": Entry("unknown", kind_error=errno.EACCES),
    }
    assert _rows_of(entries, Place("d/", "d", (), (), 1)) == [
        Blind("d/file", "input/output error"),
        # It may be a directory: then nothing below it is known either.
        Blind("d/unknown", "permission denied"),
        Blind("d/unknown/", "permission denied"),
    ]


def test_a_root_that_is_missing_or_no_folder(tmp_path: Path) -> None:
    grow(tmp_path, {"file": "x"})
    for name, complaint in {"gone": "does not exist", "file": "is not a folder"}.items():
        folder = source(tmp_path / name)
        with pytest.raises(SourceUnavailable, match=complaint) as caught:
            list(folder.scan())
        assert str(tmp_path / name) in caught.value.reason
        with pytest.raises(SourceUnavailable):
            folder.is_empty()


def test_a_root_behind_closed_doors(stranger: Stranger) -> None:
    root = grow(stranger.root / "root", {"a.md": "x"})
    with stranger.acting():
        for mode in (0, 0o444, 0o111):
            root.chmod(mode)
            with pytest.raises(SourceUnavailable, match="permission denied"):
                list(source(root).scan())
        root.chmod(0o755)
        assert kept(source(root)) == {"a.md"}


def test_a_root_replaced_during_the_scan_ends_in_an_error(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {"a.md": "x", "b/c.md": "x"})
    scan = source(root).scan()
    next(scan)
    root.rename(tmp_path / "away")
    (tmp_path / "root").mkdir()
    with pytest.raises(SourceUnavailable, match="replaced"):
        list(scan)


def test_the_identity_of_the_root(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {"a.md": "x"})
    folder = source(root)
    before = folder.probe()
    assert before == (root.stat().st_dev, root.stat().st_ino)
    assert not folder.is_empty()
    (root / "a.md").unlink()
    assert folder.is_empty()
    root.rename(tmp_path / "kept")
    root.mkdir()
    assert folder.probe() != before


@pytest.mark.parametrize(
    ("under", "expected"),
    [
        ("a/b.md", {"a/b.md": None}),
        ("a", {"a/b.md": None, "a/c/d.md": None, "a/skip.log": "ignore file"}),
        ("a/", {"a/b.md": None, "a/c/d.md": None, "a/skip.log": "ignore file"}),
        ("a/c", {"a/c/d.md": None}),
        ("gone", {}),
        ("gone/x.md", {}),
        ("a/b.md/x", {}),
        ("node_modules/x/y.md", {"node_modules/": "dependencies"}),
        ("link/b.md", {"link": "symbolic link"}),
        ("tmp", {"tmp/": "ignore file"}),
        ("tmp/deep/x.md", {"tmp/": "ignore file"}),
        ("a/skip.log", {"a/skip.log": "ignore file"}),
    ],
)
def test_one_path_gets_the_answers_of_the_whole(
    tmp_path: Path, under: str, expected: dict[str, str | None]
) -> None:
    grow(
        tmp_path,
        {
            ".gitignore": "tmp/\n*.log\n",
            "a/b.md": "x",
            "a/c/d.md": "x",
            "a/skip.log": "x",
            "node_modules/x/y.md": "x",
            "tmp/deep/x.md": "x",
        },
    )
    (tmp_path / "link").symlink_to("a")
    assert verdicts(source(tmp_path), under) == expected
    whole = verdicts(source(tmp_path))
    for path, reason in expected.items():
        assert whole[path] == reason


def test_a_path_below_a_closed_directory_is_blind(stranger: Stranger) -> None:
    root = grow(stranger.root, {"closed/deep/b.md": "x"})
    with stranger.acting():
        (root / "closed").chmod(0)
        [seen] = source(root).scan("closed/deep/b.md")
    assert isinstance(seen, Blind)
    assert seen.path == "closed/"


def test_ignore_files_of_the_root_that_cannot_be_read(stranger: Stranger) -> None:
    root = grow(stranger.root / "root", {".gitignore": "secret.md", "secret.md": "x"})
    with stranger.acting():
        (root / ".gitignore").chmod(0)
        for under in ("", "secret.md"):
            with pytest.raises(SourceUnavailable, match=r"root: \.gitignore: permission denied"):
                list(source(root).scan(under))


def test_a_path_of_unknown_kind_hides_all_below_it(tmp_path: Path) -> None:
    long = "n" * 300
    assert list(source(tmp_path).scan(f"{long}/x")) == [
        Blind(long, "file name too long"),
        Blind(long + "/", "file name too long"),
    ]


@pytest.mark.parametrize("under", ["..", "../outside", "a/../../outside/s.md", "a//b.md", "./a"])
def test_no_key_leads_out_of_the_root(tmp_path: Path, under: str) -> None:
    grow(tmp_path, {"outside/s.md": "x", "root/a/b.md": "x"})
    origin = source(tmp_path / "root")
    assert list(origin.scan(under)) == []
    assert not isinstance(origin.read(under), Reading)
    assert origin.key(f"{origin.root}/a/../../outside/s.md") is None
    assert origin.key(f"{origin.root}/a/../a//b.md") == "a/b.md"


def test_recipes_are_the_same_for_a_path_and_for_the_whole(tmp_path: Path) -> None:
    grow(tmp_path, {"a/b/c.md": "x", "a/.gitignore": "*.log", "d.md": "x"})
    folder = source(tmp_path)
    whole = {one.path: one for one in folder.scan()}
    for path, seen in whole.items():
        assert list(source(tmp_path).scan(path)) == [seen]
    again = {one.path: one for one in source(tmp_path).scan()}
    assert again == whole
    recipes = {one.path: one.recipe for one in whole.values() if isinstance(one, Sighting)}
    assert recipes["a/b/c.md"] != recipes["d.md"]


def test_left_out_is_a_plain_value() -> None:
    assert LeftOut("a/", "x") == LeftOut("a/", "x")
    assert str(SourceUnavailable("gone")) == "gone"
