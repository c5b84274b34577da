"""The files of a working copy are those that git would show, as they are on disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from syncd.sources import Blind, Reading, Sighting, Skip, SourceUnavailable
from syncd.sources.repository import COMMITS
from tests.repository.making import (
    Repo,
    blind,
    commits,
    files,
    items,
    left_out,
    refusals,
    sightings,
    source,
    texts,
)
from tests.sources.conftest import Stranger


def test_tracked_untracked_and_edited_files_are_shown_as_they_are_on_disk(repo: Repo) -> None:
    repo.put("a.md", "one\n")
    repo.put("src/b.py", "print(1)\n")
    repo.put(".gitignore", "build/\n*.log\n")
    repo.commit()
    repo.put("a.md", "edited\n")
    repo.put("new.md")
    repo.put("build/out.txt")
    repo.put("x.log")
    widgets = source(repo.root)
    assert files(widgets) == repo.shown() == {b"a.md", b"src/b.py", b".gitignore", b"new.md"}
    assert texts(widgets)["a.md"] == "edited\n"


def test_an_item_says_what_the_design_says(repo: Repo) -> None:
    repo.put("src/deep/b.py", "print(1)\n")
    repo.put("top.md", "top\n")
    repo.commit()
    repo.git("remote", "add", "origin", "git@github.com:team/project.git")
    found = items(source(repo.root, tags=("x",)))
    meta = found["src/deep/b.py"].meta.as_json(observed=False)
    assert meta == {
        "workspace": "widgets",
        "folder": "src/deep",
        "file_path": "src/deep/b.py",
        "language": "python",
        "repo": "team/project",
        "source": {"kind": "github", "id": "widgets"},
        "tags": ["x"],
    }
    assert found["top.md"].meta.folder == "."
    assert found["top.md"].title == "top.md"
    assert found["top.md"].mime == "text/markdown"
    modified = os.stat(repo.root / "top.md").st_mtime_ns
    observed = found["top.md"].meta.observed_at
    assert observed is not None
    assert observed.ns == modified


def test_a_tracked_file_stays_whatever_an_ignore_file_says(repo: Repo) -> None:
    repo.put("kept.log")
    repo.commit()
    repo.put(".gitignore", "*.log\n")
    repo.put("other.log")
    assert files(source(repo.root)) == {b"kept.log", b".gitignore"}


def test_secrets_and_noise_stay_out_though_they_are_tracked(repo: Repo) -> None:
    repo.put(".env", "PASSWORD=1\n")
    repo.put("node_modules/m/index.js", "1\n")
    repo.put("key.txt", "-----BEGIN PRIVATE KEY-----\nabc\n")
    repo.put("a.md")
    repo.commit()
    widgets = source(repo.root)
    assert files(widgets) == {b"a.md", b"key.txt"}
    assert refusals(widgets) == {"key.txt": "secrets"}
    assert left_out(widgets) == {"node_modules/": "dependencies"}


def test_include_and_exclude_and_syncdignore_count_for_tracked_files(repo: Repo) -> None:
    for path in ("docs/a.md", "docs/b.txt", "src/c.md", "private/d.md"):
        repo.put(path)
    repo.put(".syncdignore", "private/\n")
    repo.commit()
    assert files(source(repo.root, include=("*.md",), exclude=("src/",))) == {b"docs/a.md"}


def test_a_deleted_tracked_file_is_not_there(repo: Repo) -> None:
    repo.put("a.md")
    repo.put("b.md")
    repo.commit()
    (repo.root / "b.md").unlink()
    widgets = source(repo.root)
    assert files(widgets) == {b"a.md"}
    assert widgets.read("b.md") is None


def test_links_are_left_out_and_nothing_is_read_through_them(repo: Repo, tmp_path: Path) -> None:
    repo.put("real/x.md")
    repo.commit()
    shutil.rmtree(repo.root / "real")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text("not ours\n")
    (repo.root / "real").symlink_to(elsewhere)
    widgets = source(repo.root)
    assert files(widgets) == set()
    assert left_out(widgets) == {"real": "symbolic link"}
    assert not isinstance(widgets.read("real/x.md"), Reading)


def test_a_submodule_is_left_out_with_a_reason(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.put("inner.md")
    other.commit()
    repo.git("submodule", "--quiet", "add", str(other.root), "sub")
    repo.put("sub-a.md")
    repo.put("z.md")
    repo.commit()
    inside = Repo(repo.root / "nested")
    inside.put("n.md")
    inside.commit()
    widgets = source(repo.root)
    assert files(widgets) == {b".gitmodules", b"sub-a.md", b"z.md"}
    assert left_out(widgets) == {"sub/": "submodule", "nested/": "another repository"}
    assert sightings(widgets.scan("sub/inner.md")) == []
    submodule = source(repo.root / "sub")
    assert files(submodule) == {b"inner.md"}
    assert commits(submodule) == other.commits()


def test_a_sparse_checkout_shows_what_is_on_disk(repo: Repo) -> None:
    repo.put("in/a.md")
    repo.put("out/b.md")
    repo.commit()
    repo.git("sparse-checkout", "set", "in")
    widgets = source(repo.root)
    assert files(widgets) == repo.shown() == {b"in/a.md"}
    assert widgets.accounted(["out/b.md", "in/never.md"]) == {"out/b.md"}


def test_a_path_has_the_answer_that_a_whole_scan_gives(repo: Repo) -> None:
    repo.put("a/b/c.md")
    repo.put("a/b.md")
    repo.put(".gitignore", "ignored/\n")
    repo.put("ignored/x.md")
    repo.put("node_modules/y.js")
    repo.commit()
    widgets = source(repo.root)
    assert sightings(widgets.scan("a")) == ["a/b.md", "a/b/c.md"]
    assert sightings(widgets.scan("a/b")) == ["a/b/c.md"]
    assert sightings(widgets.scan("a/b.md")) == ["a/b.md"]
    assert list(widgets.scan("ignored/x.md")) == []
    assert list(widgets.scan("missing")) == []
    assert [one.path for one in widgets.scan("node_modules/y.js")] == ["node_modules/"]
    assert list(widgets.scan("../r")) == []


def test_names_with_odd_bytes_keep_apart_and_are_read(repo: Repo) -> None:
    names = [b"caf\xe9.md", b"caf\xe8.md", "café.md".encode(), b"new\nline.md", b'q"uote\t.md']
    for name in names:
        repo.put(name, b"of " + name.hex().encode())
    repo.put(b"d\xff/ok.md", "four")
    repo.commit("odd names")
    widgets = source(repo.root)
    assert files(widgets) == repo.shown() == {*names, b"d\xff/ok.md"}
    assert sorted(texts(widgets).values()) == sorted(
        ["four", *(f"of {name.hex()}" for name in names)]
    )


def test_a_path_of_a_crafted_index_leads_nowhere(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("outside\n")
    repo.put("a.md")
    repo.commit()
    blob = repo.out("rev-parse", "HEAD:a.md")
    index = repo.root / ".git" / "index"
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},xx/secret.md")
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},xgit/config")
    data = index.read_bytes().replace(b"xx/secret.md", b"../secret.md")
    index.write_bytes(data[:-20].replace(b"xgit/config", b".git/config") + b"\0" * 20)
    repo.git("config", "index.skipHash", "true")
    widgets = source(repo.root)
    assert files(widgets) == {b"a.md"}
    assert widgets.read("../secret.md") is None
    assert widgets.read(".git/config") is None


@pytest.mark.parametrize("state", ["detached", "unborn", "no remote"])
def test_heads_of_every_kind(repo: Repo, state: str) -> None:
    repo.put("a.md", "1\n")
    expected: set[str] = set()
    if state != "unborn":
        first = repo.commit("one")
        repo.put("b.md")
        repo.commit("two")
        expected = repo.commits()
    if state == "detached":
        repo.git("checkout", "-q", first)
        expected = {first}
    widgets = source(repo.root)
    assert files(widgets) == repo.shown()
    assert commits(widgets) == expected
    assert items(widgets)["a.md"].meta.repo == "r"


def test_case_41_detached_heads_are_followed(repo: Repo) -> None:
    repo.put("a.md", "1\n")
    repo.commit("one")
    repo.git("tag", "v1")
    repo.put("a.md", "2\n")
    repo.put("b.md")
    repo.commit("two")
    widgets = source(repo.root)
    repo.git("checkout", "-q", "v1")
    assert texts(widgets) == {"a.md": "1\n"}
    repo.put("c.md", "detached\n")
    repo.commit("commit on no branch")
    assert commits(widgets) == repo.commits()
    assert texts(widgets) == {"a.md": "1\n", "c.md": "detached\n"}
    repo.git("checkout", "-q", "main")
    assert texts(widgets) == {"a.md": "2\n", "b.md": "b.md\n"}
    assert commits(widgets) == repo.commits()


def test_case_37_a_linked_worktree_is_a_repository_of_its_own(tmp_path: Path) -> None:
    main = Repo(tmp_path / "main")
    main.put("a.md", "main\n")
    main.commit("one")
    main.git("worktree", "add", "-q", str(tmp_path / "wt"), "-b", "feature")
    linked = Repo(tmp_path / "wt", make=False)
    linked.put("a.md", "feature\n")
    linked.put("w.md")
    linked.commit("two")
    one, other = source(main.root), source(linked.root)
    assert texts(one) == {"a.md": "main\n"}
    assert texts(other) == {"a.md": "feature\n", "w.md": "w.md\n"}
    assert commits(one) == main.commits()
    assert commits(other) == linked.commits()
    assert items(one)["a.md"].meta.repo == items(other)["a.md"].meta.repo == "main"
    assert ".git" not in {seen.path for seen in other.scan()}
    os.rename(main.root, tmp_path / "moved")
    with pytest.raises(SourceUnavailable, match="belongs to a repository that is not at"):
        other.probe()
    os.rename(tmp_path / "moved", main.root)
    assert texts(other) == {"a.md": "feature\n", "w.md": "w.md\n"}


def test_case_43_lfs_pointers_are_never_the_document(repo: Repo) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{7:064d}\nsize 90405214\n"
    about = "how to read version https://git-lfs.github.com/spec/v1 lines\n"
    repo.put("report.md", pointer)
    repo.put("about.md", about)
    repo.put(".gitattributes", "*.md filter=lfs diff=lfs merge=lfs -text\nabout.md !filter\n")
    off = ("-c", "filter.lfs.clean=cat", "-c", "filter.lfs.process=")
    repo.git(*off, "-c", "filter.lfs.required=false", "add", "-A")
    repo.git(*off, "-c", "filter.lfs.required=false", "commit", "-q", "-m", "one")
    widgets = source(repo.root)
    assert "report.md" not in texts(widgets)
    assert texts(widgets)["about.md"] == about
    skipped = widgets.read("report.md")
    assert isinstance(skipped, Skip)
    assert skipped.reason == "git lfs pointer"
    repo.put("report.md", "the real report text\n")
    assert texts(widgets)["report.md"] == "the real report text\n"
    bare = repo.clone(repo.root.parent / "bare", "--bare")
    assert refusals(source(bare.root)) == {"report.md": "git lfs pointer"}


def test_what_the_user_may_not_read_is_blind_not_gone(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    mine = Repo(stranger.root / "r")
    mine.put("open.md")
    mine.put("tracked/a.md")
    mine.put("hidden/.gitignore", "secret.md\n")
    mine.commit()
    mine.put("untracked/u.md")
    mine.put("hidden/secret.md")
    os.chmod(mine.root / "untracked", 0)
    os.chmod(mine.root / "hidden/.gitignore", 0)
    with stranger.acting():
        widgets = source(mine.root)
        seen = list(widgets.scan())
        assert "hidden/secret.md" not in {one.path for one in seen if isinstance(one, Sighting)}
        found = {one.path: one.reason for one in seen if isinstance(one, Blind)}
    assert found["untracked/"] == "permission denied"
    assert "permission denied" in found["hidden/"]
    os.chmod(mine.root / "untracked", 0o755)
    os.chmod(mine.root / "hidden/.gitignore", 0o644)
    with stranger.acting():
        assert blind(source(mine.root)) == {}


def test_a_damaged_index_is_no_empty_repository(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit()
    (repo.root / ".git" / "index").write_bytes(b"junk" * 100)
    widgets = source(repo.root)
    with pytest.raises(SourceUnavailable, match="index"):
        list(widgets.scan())


def test_files_and_commits_can_each_be_switched_off(repo: Repo) -> None:
    repo.put("a.md")
    tip = repo.commit()
    assert sightings(source(repo.root, files=False).scan()) == [COMMITS + tip]
    assert sightings(source(repo.root, commits=None).scan()) == ["a.md"]


def test_syncds_own_files_are_never_read(repo: Repo) -> None:
    repo.put("state/ledger.db")
    repo.put("a.md")
    repo.commit()
    assert files(source(repo.root, private=(repo.root / "state",))) == {b"a.md"}
    with pytest.raises(SourceUnavailable, match="syncd's own files"):
        source(repo.root, private=(repo.root,)).probe()


def test_keys_of_the_disk(repo: Repo, tmp_path: Path) -> None:
    repo.put("sub/a.md")
    repo.commit()
    widgets = source(repo.root)
    root = str(repo.root)
    assert widgets.key(root) == ""
    assert widgets.key(f"{root}/sub/a.md") == "sub/a.md"
    assert widgets.key(f"{root}/.git/index") is None
    assert widgets.key(str(tmp_path)) is None


def test_pruned_directories_hold_nothing_that_is_shown(repo: Repo) -> None:
    repo.put(".gitignore", "build/\nkept/\n")
    repo.put("build/x.txt")
    repo.put("kept/tracked.md")
    repo.put("src/a.md")
    repo.put("node_modules/m.js")
    repo.git("add", "-f", "kept/tracked.md", "node_modules/m.js")
    repo.commit()
    widgets = source(repo.root)
    pruned = {
        name for name in os.listdir(repo.root) if widgets.is_pruned(f"{repo.root}/{name}")
    } - {".gitignore"}
    assert pruned == {".git", "build", "node_modules"}
