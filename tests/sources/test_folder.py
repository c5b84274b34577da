"""The folder source as its users see it: items, reasons, keys, filters, secrets, recipes."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.memory import Document, Instant, MemoryMeta, MetaFilter, Namespace, SourceKind, SourceRef
from syncd.sources import (
    FolderSettings,
    FolderSource,
    Reading,
    Sighting,
    Skip,
    SourceUnavailable,
    escape,
    folder,
)
from syncd.sources.source import Source
from tests.sources.conftest import Stranger
from tests.sources.trees import blind, grow, kept, source, verdicts

SECOND = 1_000_000_000


def item(origin: FolderSource, path: str) -> Document:
    found = origin.read(path)
    assert isinstance(found, Reading), found
    [document] = found.items
    document.validate()
    return document


def test_it_is_a_source(tmp_path: Path) -> None:
    it: Source = source(tmp_path)
    assert (it.id, it.kind, it.root) == ("notes", "folder", os.path.realpath(tmp_path))


def test_a_file_becomes_one_item(tmp_path: Path) -> None:
    root = grow(tmp_path, {"sub/a.py": "print()\r\n"}).resolve()
    os.utime(root / "sub/a.py", ns=(0, 1_700_000_000_123_456_789))
    origin = source(root, tags=("mine", "code"), namespace=Namespace.parse("agent:x"))
    assert item(origin, "sub/a.py") == Document(
        body="print()\r\n",
        title="a.py",
        mime="text/x-python",
        meta=MemoryMeta(
            namespace=Namespace.parse("agent:x"),
            workspace=str(root),
            folder=f"{root}/sub",
            file_path=f"{root}/sub/a.py",
            language="python",
            source=SourceRef(SourceKind.FOLDER, "notes"),
            tags=("mine", "code"),
            observed_at=Instant(1_700_000_000_123_456_789),
        ),
    )


def test_a_file_at_the_top(tmp_path: Path) -> None:
    root = grow(tmp_path, {"a": "text"}).resolve()
    meta = item(source(root), "a").meta
    assert (meta.folder, meta.file_path) == (str(root), f"{root}/a")
    assert meta.language is None


def test_what_a_reading_says_of_the_file(tmp_path: Path) -> None:
    root = grow(tmp_path, {"a.md": b"\xff\xfe" + "Grüße".encode("utf-16-le")})
    found = source(root).read("a.md")
    assert isinstance(found, Reading)
    assert found.encoding == "utf-16-le"
    assert found.look.size == 12
    assert not found.settled  # written a moment ago
    assert found.items[0].text == "Grüße"


def test_the_same_text_twice_is_two_items(tmp_path: Path) -> None:
    origin = source(grow(tmp_path, {"a/LICENSE.md": "same", "b/LICENSE.md": "same"}))
    one, other = item(origin, "a/LICENSE.md"), item(origin, "b/LICENSE.md")
    assert one.fingerprint() != other.fingerprint()


def test_the_time_of_a_file_is_no_part_of_its_fingerprint(tmp_path: Path) -> None:
    origin = source(grow(tmp_path, {"a.md": "same"}))
    before = item(origin, "a.md")
    os.utime(tmp_path / "a.md", ns=(0, SECOND))
    after = item(origin, "a.md")
    assert before.meta.observed_at != after.meta.observed_at
    assert before.fingerprint() == after.fingerprint()


@pytest.mark.parametrize("ns", [-(10**20), 10**21])
def test_a_time_that_cannot_be_written_is_left_out(ns: int) -> None:
    assert folder._instant(ns) is None
    assert folder._instant(0) == Instant(0)


def test_odd_names_are_kept(tmp_path: Path) -> None:
    names = [
        *(b"caf\xe9.md", b"caf\xe8.md", "caf\u00e9.md".encode(), "cafe\u0301.md".encode()),
        *(b"d\xff/ok.md", b"new\nline.md", "\u212b.md".encode(), "\u00c5.md".encode(), b"b\\s.md"),
    ]
    for name in names:
        path = os.path.join(os.fsencode(tmp_path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"text of " + name.hex().encode())
    origin = source(tmp_path)
    keys = kept(origin)
    assert keys == {escape(os.fsdecode(name)) for name in names}
    for name in names:
        document = item(origin, escape(os.fsdecode(name)))
        document.wire().encode()
        assert document.text == "text of " + name.hex()
        assert origin.key_of(document.meta) == escape(os.fsdecode(name))
        assert origin.key(os.path.join(origin.root, os.fsdecode(name))) in keys
    assert len({item(origin, key).fingerprint() for key in keys}) == len(names)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("blank.md", " \n\t\n", "blank"),
        ("only-bom.md", b"\xef\xbb\xbf", "blank"),
        ("nul.md", b"a\0b", "binary"),
        ("bad.md", b"\xef\xbb\xbf\xff", "undecodable text"),
        ("server.txt", "-----BEGIN PRIVATE KEY-----\nMII", "secrets"),
    ],
)
def test_what_a_text_must_be(tmp_path: Path, name: str, content: str | bytes, reason: str) -> None:
    found = source(grow(tmp_path, {name: content})).read(name)
    assert isinstance(found, Skip)
    assert found.reason == reason
    assert found.look.size == (tmp_path / name).stat().st_size


def test_too_large_is_said_by_judge_and_by_read(tmp_path: Path) -> None:
    origin = source(grow(tmp_path, {"a.md": "x" * 11, "b.md": "x" * 10}), max_file_size=10)
    assert verdicts(origin) == {"a.md": "larger than max_file_size", "b.md": None}
    found = origin.read("a.md")
    assert isinstance(found, Skip)
    assert found.reason == "larger than max_file_size"


def test_a_file_that_went(tmp_path: Path) -> None:
    origin = source(grow(tmp_path, {"a.md": "x"}))
    (tmp_path / "a.md").unlink()
    assert origin.read("a.md") is None


def test_case_28_scan_and_event_agree(tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "notes/a.md": "x",
            "other/b.md": "x",
            "notes/draft1.md": "x",
            "notes/c.txt": "x",
            "notes/big.md": "C" * 200_000,
        },
    )
    origin = source(
        tmp_path, include=("notes/**/*.md",), exclude=("draft*",), max_file_size=100_000
    )
    assert verdicts(origin) == {
        "notes/a.md": None,
        "notes/big.md": "larger than max_file_size",
        "notes/c.txt": "not included",
        "notes/draft1.md": "excluded",
        "other/": "not included",
    }
    for path, reason in verdicts(origin).items():
        assert verdicts(source(tmp_path, **_of(origin)), path) == {path: reason}


def _of(origin: FolderSource) -> dict[str, object]:
    said = origin._settings
    return {"include": said.include, "exclude": said.exclude, "max_file_size": said.max_file_size}


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ((), {"a.md", "n/b.md", "n/d/c.txt"}),
        (("*.md",), {"a.md", "n/b.md"}),
        (("n/",), {"n/b.md", "n/d/c.txt"}),
        (("n",), {"n/b.md", "n/d/c.txt"}),
        (("/n/*.md",), {"n/b.md"}),
        (("n/**",), {"n/b.md", "n/d/c.txt"}),
        (("n/", "!d/"), {"n/b.md"}),
        (("*", "!*.txt"), {"a.md", "n/b.md"}),
        (("!*.txt",), set()),
        (("# no pattern", ""), {"a.md", "n/b.md", "n/d/c.txt"}),
    ],
)
def test_include(tmp_path: Path, include: tuple[str, ...], expected: set[str]) -> None:
    grow(tmp_path, {"a.md": "x", "n/b.md": "x", "n/d/c.txt": "x"})
    assert kept(source(tmp_path, include=include)) == expected


def test_exclude_wins_over_everything(tmp_path: Path) -> None:
    grow(tmp_path, {"a.md": "x", "b/c.md": "x", ".gitignore": "!a.md\n", ".env": "x"})
    origin = source(tmp_path, include=("*.md", ".env"), exclude=("a.md", "b/", ".env"))
    assert kept(origin) == set()
    assert verdicts(origin)["b/"] == "excluded"


def test_syncdignore_decides_over_gitignore_and_deeper_over_higher(tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            ".gitignore": "*.log\n",
            ".syncdignore": "!keep.log\nprivate.md\n",
            "keep.log": "x",
            "other.log": "x",
            "private.md": "x",
            "deep/.gitignore": "!private.md\n",
            "deep/private.md": "x",
            "deep/other.log": "x",
        },
    )
    ours = kept(source(tmp_path)) - {".gitignore", ".syncdignore", "deep/.gitignore"}
    assert ours == {"keep.log", "deep/private.md"}


def test_an_unreadable_ignore_file_blinds_its_directory(stranger: Stranger) -> None:
    root = grow(stranger.root, {"a/.gitignore": "secret.md", "a/secret.md": "x", "b.md": "x"})
    with stranger.acting():
        (root / "a/.gitignore").chmod(0)
        origin = source(root)
        assert blind(list(origin.scan())) == {"a/": ".gitignore: permission denied"}
        assert blind(list(origin.scan("a/secret.md"))) == {"a/": ".gitignore: permission denied"}
        assert not origin.is_pruned(f"{origin.root}/a")


def test_an_ignore_file_must_be_a_file(tmp_path: Path) -> None:
    grow(tmp_path, {"rules": "*.md\n", "a.md": "x", "d/.gitignore/": "", "d/b.md": "x"})
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "p").mkdir()
    os.mkfifo(tmp_path / "p/.gitignore")
    grow(tmp_path, {"p/c.md": "x"})
    assert kept(source(tmp_path)) == {"rules", "a.md", "d/b.md", "p/c.md"}


def test_a_changed_ignore_file_is_noticed(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "a.md\n", "a.md": "x", "b.md": "x", "sub/a.md": "x"})
    origin = source(tmp_path)
    before = {seen.path: seen for seen in origin.scan()}
    assert kept(origin) == {".gitignore", "b.md"}
    grow(tmp_path, {".gitignore": "b.md\n"})  # the same size, perhaps in the same tick
    assert kept(origin) == {".gitignore", "a.md", "sub/a.md"}
    after = {seen.path: seen for seen in origin.scan()}
    for path in ("a.md", "b.md", "sub/a.md"):
        old, new = before[path], after[path]
        assert isinstance(old, Sighting)
        assert isinstance(new, Sighting)
        assert old.recipe != new.recipe
        # A sighting of an older scan is judged by what holds now.
        assert origin.judge(old) == origin.judge(new)
    (tmp_path / ".gitignore").unlink()
    assert kept(origin) == {"a.md", "b.md", "sub/a.md"}


@pytest.mark.parametrize(
    ("include", "name", "allowed"),
    [
        (".env", ".env", True),
        ("/conf/.env", "conf/.env", True),
        ("/conf/.env", "other/.env", False),
        (".env.*", ".env.local", True),
        (".ENV", ".ENV", True),
        ("*", ".env", False),
        ("**", "conf/.env", False),
        ("conf/", "conf/.env", False),
        (".e*", ".env", False),
        ("*.pem", "a.pem", True),
        ("*.txt", "a.pem", False),
        ("id_rsa", "id_rsa", True),
        ("id_*", "id_rsa", False),
        ("node_modules/mine/", "node_modules/mine/a.md", True),
        ("node_modules/mine/", "node_modules/theirs/a.md", False),
        ("**/a.md", "node_modules/mine/a.md", False),
        ("node*", "node_modules/mine/a.md", False),
        (".ssh/config", ".ssh/config", True),
        (".ssh/config", ".ssh/id_rsa", False),
        (".ssh/", ".ssh/id_rsa", False),
        ("*.pdf", "a.pdf", False),
        ("venv/", "venv/a.md", True),
        ("a.md", "venv/a.md", False),
        ("a.md~", "a.md~", True),
    ],
)
def test_an_include_must_spell_out_what_it_brings_back(
    tmp_path: Path, include: str, name: str, allowed: bool
) -> None:
    grow(tmp_path, {name: "x", "venv/pyvenv.cfg": "x"})
    assert (name in kept(source(tmp_path, include=(include,)))) is allowed


def test_what_one_include_opens_is_not_open_to_the_others(tmp_path: Path) -> None:
    grow(tmp_path, {"node_modules/mine/a.md": "x", "node_modules/theirs/b.md": "x", "c.md": "x"})
    origin = source(tmp_path, include=("*", "node_modules/mine/"))
    assert kept(origin) == {"c.md", "node_modules/mine/a.md"}


def test_a_name_that_contains_a_marker_opens_no_directory(tmp_path: Path) -> None:
    grow(tmp_path, {"node_modules/a.md": "x", "node_modules.md": "x"})
    origin = source(tmp_path, include=("node_modules.md",))
    assert verdicts(origin) == {"node_modules.md": None, "node_modules/": "dependencies"}


def test_a_private_key_by_content_needs_its_name(tmp_path: Path) -> None:
    grow(tmp_path, {"keys/note.txt": "-----BEGIN RSA PRIVATE KEY-----\n"})
    for include, expected in ((), Skip), (("*.txt",), Skip), (("keys/note.txt",), Reading):
        assert isinstance(source(tmp_path, include=include).read("keys/note.txt"), expected)


TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"


def test_environments_and_caches_by_what_lies_in_them(tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "env1/pyvenv.cfg": "home = x",
            "env1/lib/a.py": "x",
            "cache/CACHEDIR.TAG": TAG,
            "cache/a.md": "x",
            "fake/CACHEDIR.TAG": "no signature",
            "fake/a.md": "x",
        },
    )
    assert verdicts(source(tmp_path)) == {
        "cache/": "cache directory",
        "env1/": "virtual environment",
        "fake/CACHEDIR.TAG": None,
        "fake/a.md": None,
    }


def test_a_root_is_never_pruned_by_its_own_marks(tmp_path: Path) -> None:
    root = grow(tmp_path / "node_modules", {"pyvenv.cfg": "x", "CACHEDIR.TAG": TAG, "a.md": "x"})
    assert "a.md" in kept(source(root))


def test_syncds_own_files_are_never_read(tmp_path: Path) -> None:
    root = grow(
        tmp_path / "root",
        {
            "state/ledger.txt": "x",
            "memory.db": "x",
            "memory.db-wal": "x",
            "memory.dbs": "x",
            "a.md": "x",
            "aliased/real/x.md": "x",
        },
    )
    (tmp_path / "by-link").symlink_to(root / "aliased/real")
    origin = source(
        root, private=(root / "state", root / "memory.db", tmp_path / "by-link"), include=("*",)
    )
    assert verdicts(origin) == {
        "a.md": None,
        "aliased/real/": "syncd's own files",
        "memory.db": "syncd's own files",
        "memory.db-wal": "syncd's own files",
        "memory.dbs": None,
        "state/": "syncd's own files",
    }
    assert verdicts(origin, "state/ledger.txt") == {"state/": "syncd's own files"}
    assert origin.is_pruned(f"{origin.root}/state")


def test_a_private_directory_is_known_by_its_inode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = grow(tmp_path / "root", {"seen/x.md": "x", "a.md": "x"})
    origin = source(root, private=(tmp_path / "elsewhere",))
    status = (root / "seen").stat()
    # As if "elsewhere" were mounted at "seen" too: another path, the same directory.
    same = frozenset({(status.st_dev, status.st_ino)})
    monkeypatch.setattr(origin, "_private_directories", lambda: same)
    assert verdicts(origin) == {"a.md": None, "seen/": "syncd's own files"}
    assert verdicts(origin, "seen/x.md") == {"seen/": "syncd's own files"}


def test_a_root_inside_syncds_own_files_is_refused(tmp_path: Path) -> None:
    root = grow(tmp_path / "state/clones", {"a.md": "x"})
    with pytest.raises(SourceUnavailable, match="own files"):
        list(source(root, private=(tmp_path / "state",)).scan())


def test_a_root_reached_by_a_link_is_the_same_root(tmp_path: Path) -> None:
    root = grow(tmp_path / "root", {"a.md": "x"})
    (tmp_path / "alias").symlink_to("root")
    origin = source(tmp_path / "alias")
    assert origin.root == os.path.realpath(root)
    assert item(origin, "a.md") == item(source(root), "a.md")


def test_keys(tmp_path: Path) -> None:
    origin = source(tmp_path / "root")
    root = origin.root
    assert origin.key(root) == ""
    assert origin.key(root + "/") == ""
    assert origin.key(f"{root}/a/b.md") == "a/b.md"
    assert origin.key(f"{root}/a/") == "a"
    assert origin.key(f"{root}-other/a") is None
    assert origin.key("/elsewhere") is None
    assert origin.key(f"{root}/caf\udce9") == "caf\uefe9"


def test_filters_select_a_file_or_a_directory_of_this_source(tmp_path: Path) -> None:
    origin = source(tmp_path)
    root = origin.root
    assert origin.filter("a/b") == MetaFilter(source_id="notes", file_path=f"{root}/a/b")
    assert origin.filter("a/") == MetaFilter(source_id="notes", file_path=f"{root}/a")
    assert origin.filter("") == MetaFilter(source_id="notes", file_path=root)
    assert origin.filter("/old/root/a") == MetaFilter(source_id="notes", file_path="/old/root/a")


def test_a_filter_matches_the_item_of_its_key_alone(tmp_path: Path) -> None:
    names = ["foo/1.md", "foobar/2.md", "foo.md", "foo /7.md", "xfoo/5.md"]
    origin = source(grow(tmp_path, dict.fromkeys(names, "x")))
    meta = {name: item(origin, name) for name in names}
    matched = {n for n, it in meta.items() if origin.filter("foo/").matches(it.kind, it.meta)}
    assert matched == {"foo/1.md"}


def test_keys_of_items_listed_back(tmp_path: Path) -> None:
    origin = source(tmp_path)
    for path, key in {
        f"{origin.root}/a/b.md": "a/b.md",
        f"{origin.root}-other/b.md": f"{origin.root}-other/b.md",
        "/old/b.md": "/old/b.md",
        origin.root: origin.root,
        f"{origin.root}/": f"{origin.root}/",
        None: None,
    }.items():
        assert origin.key_of(MemoryMeta(file_path=path)) == key


def test_the_file_system_itself_as_a_root() -> None:
    origin = FolderSource(FolderSettings("all", Path("/")))
    assert origin.root == "/"
    assert origin.key("/etc/passwd") == "etc/passwd"
    assert origin.key("/") == ""
    assert origin.filter("") == MetaFilter(source_id="all")
    assert origin.filter("etc") == MetaFilter(source_id="all", file_path="/etc")
    assert origin.key_of(MemoryMeta(file_path="/etc/passwd")) == "etc/passwd"
    assert item(origin, "etc/passwd").meta.folder == "/etc"
    assert next(iter(origin.scan("etc/passwd"))).path == "etc/passwd"


DIRECTORIES = ["a", "node_modules", "build", "venv", ".ssh", "cache"]
TREES = st.tuples(
    st.sets(
        st.lists(st.sampled_from([*DIRECTORIES, "keep"]), min_size=1, max_size=4).map("/".join),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["", "build/\n", "a/*\n!a/keep\n", "*\n"]),
    st.sampled_from([(), ("a/a",), ("keep/",)]),
    st.sampled_from([(), ("node_modules/",), ("a/**", "*.md"), ("/a/**/f.md", "keep/keep/")]),
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(TREES)
def test_what_is_pruned_is_what_a_scan_does_not_enter(
    tmp_path_factory: pytest.TempPathFactory,
    tree: tuple[set[str], str, tuple[str, ...], tuple[str, ...]],
) -> None:
    directories, ignore, exclude, include = tree
    root = tmp_path_factory.mktemp("pruned")
    for directory in directories:
        parts = directory.split("/")
        for depth, name in enumerate(parts, 1):
            mark = "pyvenv.cfg" if name == "venv" else "f.md"
            grow(root, {"/".join(parts[:depth]) + f"/{mark}": "x"})
    grow(root, {".gitignore": ignore})
    said = {"exclude": exclude, "include": include}
    scanned, asked = source(root, **said), source(root, **said)
    entered = {""}
    for seen in scanned.scan():
        head = seen.path.rpartition("/")[0]
        while head and isinstance(seen, Sighting):
            entered.add(head)
            head = head.rpartition("/")[0]
    for directory, _, _ in os.walk(root):
        key = asked.key(os.path.realpath(directory))
        assert key is not None
        assert asked.is_pruned(os.path.realpath(directory)) == (key not in entered)
        assert scanned.is_pruned(os.path.realpath(directory)) == (key not in entered)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), min_size=1),
    st.lists(
        st.lists(st.sampled_from(["a", "b", "c", "*", "**", "?"]), min_size=1, max_size=3)
        .map("/".join)
        .map("/{}".format),
        min_size=1,
        max_size=3,
    ),
)
def test_not_entering_what_no_include_can_reach_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, directories: set[str], include: list[str]
) -> None:
    root = tmp_path_factory.mktemp("leads")
    for directory in directories:
        grow(root, {f"{directory}/f": "x"})
    quick, slow = (source(root, include=tuple(include)) for _ in range(2))
    slow._rules._leads = None
    assert kept(quick) == kept(slow)


def test_unknown_directories_are_not_pruned(tmp_path: Path) -> None:
    origin = source(tmp_path)
    assert not origin.is_pruned("/elsewhere/node_modules")
    assert not origin.is_pruned(origin.root)
    assert not origin.is_pruned(f"{origin.root}/gone")
    assert origin.is_pruned(f"{origin.root}/gone/.git")


def test_a_directory_that_stops_being_an_environment_is_watched_again(tmp_path: Path) -> None:
    origin = source(grow(tmp_path, {"v/pyvenv.cfg": "x", "v/a.md": "x"}))
    assert origin.is_pruned(f"{origin.root}/v")
    (tmp_path / "v/pyvenv.cfg").unlink()
    assert not origin.is_pruned(f"{origin.root}/v")
    assert kept(origin) == {"v/a.md"}


def test_places_are_forgotten_before_they_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_MAX_PLACES", 3)
    grow(tmp_path, {f"d{n}/{name}": "x" for n in range(9) for name in ("a.md", "b.log")})
    grow(tmp_path, {".gitignore": "*.log\n"})
    origin = source(tmp_path)
    seen = list(origin.scan())
    assert len(origin._places) <= 3
    reasons = {one.path: origin.judge(one) for one in seen if isinstance(one, Sighting)}
    assert {path for path, reason in reasons.items() if reason} == {f"d{n}/b.log" for n in range(9)}


def test_a_sighting_is_judged_by_the_rules_it_was_seen_under(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "a.md\n", "a.md": "x", "b.md": "x"})
    early = source(tmp_path)
    assert kept(early) == {".gitignore", "b.md"}
    grow(tmp_path, {".gitignore": "b.md\n"})
    late = [seen for seen in source(tmp_path).scan() if isinstance(seen, Sighting)]
    assert [seen.path for seen in late if early.judge(seen) is None] == [".gitignore", "a.md"]


def test_rules_from_above_count_in_every_recipe_below(tmp_path: Path) -> None:
    def recipe() -> int:
        [seen] = source(tmp_path).scan("a/b/c.md")
        assert isinstance(seen, Sighting)
        return seen.recipe

    grow(tmp_path, {"a/b/.gitignore": "x\n", "a/b/c.md": "x", "a/.gitignore": "y\n"})
    before = recipe()
    grow(tmp_path, {"a/.gitignore": "z\n"})
    assert recipe() != before
    grow(tmp_path, {"a/.gitignore": "y\n"})
    assert recipe() == before


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"include": ("*.md",)},
        {"exclude": ("*.log",)},
        {"namespace": Namespace.parse("agent:x")},
        {"tags": ("t",)},
        {"max_file_size": 5},
        {"private": (Path("private"),)},
    ],
)
def test_a_recipe_holds_every_setting(tmp_path: Path, change: dict[str, object]) -> None:
    grow(tmp_path, {"a.md": "x"})
    if "private" in change:
        change = {"private": (tmp_path / "state",)}
    plain = FolderSettings("notes", tmp_path)
    [before] = FolderSource(plain).scan()
    [after] = FolderSource(dataclasses.replace(plain, **change)).scan()
    assert isinstance(before, Sighting)
    assert isinstance(after, Sighting)
    assert before.recipe != after.recipe
    assert before.look == after.look


def test_a_recipe_is_the_same_in_another_process(tmp_path: Path) -> None:
    grow(tmp_path, {"a.md": "x", ".gitignore": "*.log"})
    program = (
        "import sys; from pathlib import Path; from syncd.sources import *;"
        "print([s.recipe for s in FolderSource(FolderSettings('notes', Path(sys.argv[1]))).scan()])"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    ours = [seen.recipe for seen in source(tmp_path).scan() if isinstance(seen, Sighting)]
    assert said == [f"{ours}\n"] * 2
