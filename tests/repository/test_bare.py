"""Bare repositories and mirrors: the tree of the tip, without a checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from syncd.sources import Blind, Reading, Sighting, Skip, SourceUnavailable, Unchanged, Unreadable
from syncd.sources.repository import COMMITS, CommitRules
from syncd.sources.repository.mirror import Mirror
from tests.repository.making import (
    Repo,
    blind,
    commits,
    files,
    items,
    left_out,
    outcomes,
    refusals,
    sightings,
    source,
    texts,
)


@pytest.fixture
def bare(repo: Repo, tmp_path: Path) -> Repo:
    repo.put("a.md", "one\n")
    repo.put("d/b.md", "two\n")
    repo.commit("one")
    return repo.clone(tmp_path / "bare.git", "--bare")


def push(repo: Repo, bare: Repo, message: str = "more") -> None:
    repo.commit(message)
    repo.git("push", "-q", "--force", str(bare.root), "HEAD:refs/heads/main")


def test_the_tree_of_the_tip_is_shown(repo: Repo, bare: Repo) -> None:
    widgets = source(bare.root)
    assert files(widgets) == set(bare.tree()) == {b"a.md", b"d/b.md"}
    assert texts(widgets) == {"a.md": "one\n", "d/b.md": "two\n"}
    assert commits(widgets) == bare.commits()
    repo.put("a.md", "changed\n")
    repo.git("rm", "-q", "d/b.md")
    repo.put("odd\n\tname.md")
    repo.put(b"n\xe9.md")
    push(repo, bare)
    assert files(widgets) == set(bare.tree())
    assert texts(widgets)["a.md"] == "changed\n"
    assert widgets.accounted(["d/b.md"]) == {"d/b.md"}


def test_a_bare_repository_and_a_working_copy_make_the_same_items(repo: Repo, bare: Repo) -> None:
    repo.git("remote", "add", "origin", "https://example.invalid/team/project.git")
    bare.git("remote", "set-url", "origin", "ssh://git@example.invalid/team/project")
    here, there = items(source(repo.root)), items(source(bare.root))
    assert {p: i.fingerprint() for p, i in here.items()} == {
        p: i.fingerprint() for p, i in there.items()
    }
    tip = there[COMMITS + bare.head()].meta.observed_at
    assert there["a.md"].meta.observed_at == tip


def test_only_what_changed_between_two_tips_looks_different(repo: Repo, bare: Repo) -> None:
    widgets = source(bare.root)

    def looks() -> dict[str, object]:
        return {seen.path: seen[1:] for seen in widgets.scan() if isinstance(seen, Sighting)}

    before = looks()
    repo.put("a.md", "changed\n")
    repo.put("moved.md", "two\n")
    push(repo, bare)
    after = looks()
    assert {path for path in before if before[path] != after.get(path)} == {"a.md"}


def test_an_unchanged_tip_costs_one_word(repo: Repo, bare: Repo) -> None:
    widgets = source(bare.root)
    list(widgets.scan())
    mark = widgets.mark()
    assert list(widgets.scan("", mark)) == [Unchanged("")]
    assert widgets.mark() == mark
    assert list(source(bare.root, exclude=("d/",)).scan("", mark)) != [Unchanged("")]
    repo.put("a.md", "2\n")
    push(repo, bare)
    assert len(sightings(widgets.scan("", mark))) == 4


def test_what_lies_below_a_path(bare: Repo) -> None:
    widgets = source(bare.root)
    assert sightings(widgets.scan("d")) == ["d/b.md"]
    assert sightings(widgets.scan("d/b.md")) == ["d/b.md"]
    assert list(widgets.scan("missing")) == []
    assert isinstance(widgets.read("d/b.md"), Reading)
    assert widgets.read("missing") is None


def test_rules_count_in_a_tree_too(repo: Repo, bare: Repo) -> None:
    repo.put(".syncdignore", "private/\n")
    repo.put("private/p.md")
    repo.put("env/pyvenv.cfg", "home = x\n")
    repo.put("env/lib/x.py")
    repo.put("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    repo.put("cache/c.md")
    repo.put("node_modules/m.js")
    repo.put(".env", "SECRET=1\n")
    repo.put("big.md", "x" * 2000)
    repo.git("config", "core.symlinks", "true")
    (repo.root / "link.md").symlink_to("a.md")
    repo.git("add", "-f", ".")
    push(repo, bare)
    widgets = source(bare.root, max_file_size=1000)
    assert files(widgets) == {b".syncdignore", b"a.md", b"d/b.md"}
    assert left_out(widgets) == {
        "cache/": "cache directory",
        "env/": "virtual environment",
        "link.md": "symbolic link",
        "node_modules/": "dependencies",
        "private/": "ignore file",
    }
    too_large = widgets.read("big.md")
    assert isinstance(too_large, Skip)
    assert too_large.reason == "larger than max_file_size"


def test_a_submodule_in_a_tree_is_left_out_in_its_place(
    repo: Repo, bare: Repo, tmp_path: Path
) -> None:
    other = Repo(tmp_path / "other")
    other.put("inner.md")
    other.commit()
    repo.git("submodule", "--quiet", "add", str(other.root), "sub")
    repo.put("sub-a.md")
    repo.put("sub.md")
    push(repo, bare)
    widgets = source(bare.root)
    sightings(widgets.scan())
    assert left_out(widgets) == {"sub/": "submodule"}


def test_case_50_a_damaged_object_costs_itself(repo: Repo, bare: Repo) -> None:
    for name in ("a", "b", "c", "e"):
        repo.put(f"{name}.md", f"new {name}")
    repo.put("deep/er/f.md")
    repo.put("z.md", "last")
    push(repo, bare)
    _unpack(bare)
    _damage(bare, bare.out("rev-parse", "HEAD:b.md"))
    _object(bare, bare.out("rev-parse", "HEAD:c.md")).unlink()
    tree = bare.out("rev-parse", "HEAD:deep/er")
    _damage(bare, tree)
    widgets = source(bare.root)
    found = outcomes(widgets)
    good = {path for path, became in found.items() if isinstance(became, Reading)}
    assert {"a.md", "e.md", "d/b.md", "z.md"} <= good
    assert isinstance(widgets.read("c.md"), Unreadable)
    reasons = {**refusals(widgets), **blind(widgets)}
    assert bare.out("rev-parse", "HEAD:b.md") in str({**reasons, "b": widgets.read("b.md")})
    assert tree in blind(widgets)["deep/er/"]
    assert isinstance(widgets.read("deep/er/f.md"), Unreadable)
    assert widgets.mark() is None
    _object(bare, tree).unlink()
    assert "deep/er/" in blind(widgets)


def test_case_50_a_damaged_tip_is_no_empty_repository(bare: Repo) -> None:
    _unpack(bare)
    _damage(bare, bare.out("rev-parse", "HEAD^{tree}"))
    with pytest.raises(SourceUnavailable, match=r"tree of .* cannot be read"):
        list(source(bare.root).scan())


def _unpack(repo: Repo) -> None:
    """Make every object a file of its own."""
    packs = list((repo.root / "objects" / "pack").glob("*.pack"))
    for pack in packs:
        data = pack.read_bytes()
        for path in (repo.root / "objects" / "pack").glob(f"{pack.stem}.*"):
            path.unlink()
        repo.git("unpack-objects", "-q", given=data)


def _object(repo: Repo, name: str) -> Path:
    return repo.root / "objects" / name[:2] / name[2:]


def _damage(repo: Repo, name: str) -> None:
    path = _object(repo, name)
    path.chmod(0o644)
    path.write_bytes(b"damaged")


def test_an_empty_bare_repository_is_empty(tmp_path: Path) -> None:
    Repo(tmp_path / "x")
    empty = Repo(tmp_path / "empty", make=False)
    empty.root.mkdir()
    empty.git("init", "-q", "--bare")
    widgets = source(empty.root)
    assert widgets.is_empty()
    assert list(widgets.scan()) == []
    assert widgets.accounted(["a.md", COMMITS + "0" * 40]) == set()


def test_nothing_on_disk_of_a_bare_repository_has_a_key(bare: Repo) -> None:
    widgets = source(bare.root)
    assert widgets.key(f"{bare.root}/objects/xx") is None
    assert widgets.is_pruned(f"{bare.root}/objects")


def test_a_hub_of_worktrees_is_read_as_a_bare_one(bare: Repo, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    hub.mkdir()
    os.rename(bare.root, hub / ".bare")
    (hub / ".git").write_text("gitdir: ./.bare\n")
    Repo(hub, make=False).git("worktree", "add", "-q", "main")
    widgets = source(hub)
    assert files(widgets) == {b"a.md", b"d/b.md"}
    assert files(source(hub / "main")) == {b"a.md", b"d/b.md"}


# -- mirrors -------------------------------------------------------------------------------------


def test_an_address_is_mirrored_and_followed(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md", "one\n")
    repo.commit("one")
    repo.git("branch", "other")
    url = f"file://{repo.root}"
    widgets = source(url, tmp_path / "mirrors")
    with pytest.raises(SourceUnavailable, match="never fetched"):
        widgets.probe()
    assert widgets.is_remote
    assert widgets.fetch(60) is True
    assert texts(widgets) == {"a.md": "one\n"}
    assert commits(widgets) == repo.commits()
    root = widgets.probe()
    assert widgets.fetch(60) is False
    repo.put("b.md", "two\n")
    repo.commit("two")
    assert widgets.fetch(60) is True
    assert widgets.probe() == root
    assert files(widgets) == set(repo.tree())
    assert items(widgets)["b.md"].meta.repo == url
    assert Path(widgets.root).parent == tmp_path / "mirrors"
    assert (Path(widgets.root).stat().st_mode & 0o777) == 0o700


def test_case_32_a_mirror_follows_a_forced_push_and_a_new_default_branch(
    repo: Repo, tmp_path: Path
) -> None:
    for name in ("keep.md", "gone.md", "third.md"):
        repo.put(name)
        repo.commit(name)
    widgets = source(f"file://{repo.root}", tmp_path / "m")
    widgets.fetch(60)
    repo.git("reset", "-q", "--hard", "HEAD~2")
    repo.put("fresh.md")
    repo.commit("rewritten")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    widgets.fetch(60)
    assert files(widgets) == set(repo.tree())
    assert commits(widgets) == repo.commits()
    repo.git("branch", "-m", "main", "trunk")
    repo.put("trunk.md")
    repo.commit("on trunk")
    widgets.fetch(60)
    assert files(widgets) == set(repo.tree())


def test_case_45_a_branch_that_is_gone_upstream_forgets_nothing(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md")
    repo.commit()
    repo.git("branch", "feature")
    widgets = source(f"file://{repo.root}", tmp_path / "m", branch="feature")
    widgets.fetch(60)
    repo.git("branch", "-D", "feature")
    with pytest.raises(SourceUnavailable, match="branch feature does not exist"):
        widgets.fetch(60)
    assert files(widgets) == {b"a.md"}
    repo.git("branch", "feature")
    assert widgets.fetch(60) is False


def test_a_fetch_that_was_killed_leaves_nothing_in_the_way(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md")
    repo.commit()
    widgets = source(f"file://{repo.root}", tmp_path / "m")
    Path(f"{widgets.root}.new").mkdir(parents=True)
    widgets.fetch(60)
    for left in ("HEAD.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x"):
        (Path(widgets.root) / left).write_text("")
    repo.put("b.md")
    repo.commit()
    assert widgets.fetch(60) is True
    assert files(widgets) == {b"a.md", b"b.md"}


def test_an_empty_upstream_is_empty_until_it_is_not(repo: Repo, tmp_path: Path) -> None:
    widgets = source(f"file://{repo.root}", tmp_path / "m")
    assert widgets.fetch(60) is False
    assert widgets.is_empty()
    repo.put("a.md")
    repo.commit()
    assert widgets.fetch(60) is True
    assert not widgets.is_empty()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    widgets = source(f"file://{tmp_path}/nothing", tmp_path / "m")
    with pytest.raises(SourceUnavailable, match="nothing"):
        widgets.fetch(60)


def test_only_the_watched_branch_is_cloned(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md")
    repo.commit()
    repo.git("checkout", "-q", "-b", "other")
    repo.put("large.md")
    other = repo.commit()
    repo.git("checkout", "-q", "main")
    mirror = Mirror("x", f"file://{repo.root}", None, tmp_path / "m")
    mirror.fetch(60)
    clone = Repo(Path(mirror.root), make=False)
    assert clone.out("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert other not in clone.commits("--all")


def test_commits_of_a_mirror_can_be_all_there_is(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md")
    tip = repo.commit()
    widgets = source(f"file://{repo.root}", tmp_path / "m", files=False, commits=CommitRules(max=1))
    widgets.fetch(60)
    assert sightings(widgets.scan()) == [COMMITS + tip]
    assert not any(isinstance(seen, Blind) for seen in widgets.scan())
