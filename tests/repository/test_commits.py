"""Commits are items of their own: which ones, and what each says."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from syncd.memory import Instant
from syncd.sources import Blind, Reading, Sighting, SourceUnavailable, Unchanged
from syncd.sources.repository import COMMITS, CommitRules, RepositorySource
from syncd.sources.repository.items import MAX_PATHS, decoded, parsed, subject
from tests.repository.making import (
    Repo,
    blind,
    commits,
    files,
    items,
    outcomes,
    sightings,
    source,
    texts,
)


def body(repository: RepositorySource, commit: str) -> str:
    became = repository.read(COMMITS + commit)
    assert isinstance(became, Reading)
    return became.items[0].text


def changed(repository: RepositorySource, commit: str) -> list[str]:
    """The lines that name what a commit changed."""
    return [line[2:] for line in body(repository, commit).splitlines() if line.startswith("- ")]


def test_a_commit_says_what_the_design_says(repo: Repo) -> None:
    repo.put("a.md", "one\n")
    tip = repo.commit("a subject\n\nand a body\nof two lines")
    repo.git("remote", "add", "origin", "https://github.com/team/project")
    found = items(source(repo.root, tags=("x",)))[COMMITS + tip]
    made = int(repo.out("log", "-1", "--format=%at"))
    when = datetime.fromtimestamp(made, timezone(timedelta(hours=1)))
    assert found.title == "a subject"
    assert found.mime == "text/markdown"
    assert found.text == (
        "a subject\n\nand a body\nof two lines\n\n"
        f"Author: Case <case@example.invalid>\nDate: {when.isoformat()}\n\n- A a.md"
    )
    assert found.meta.as_json(observed=False) == {
        "workspace": "widgets",
        "repo": "team/project",
        "commit": tip,
        "url": f"https://github.com/team/project/commit/{tip}",
        "source": {"kind": "github", "id": "widgets"},
        "tags": ["x"],
    }
    assert found.meta.observed_at == Instant.of(when)


def test_case_33_changes_name_what_was_renamed_copied_and_replaced(repo: Repo) -> None:
    repo.put("a.md", "".join(f"{n}\n" for n in range(60)))
    repo.put("dir/x.md")
    repo.put("copy.md", "".join(f"{n}\n" for n in range(40)))
    repo.put("mode.sh", "m\n")
    repo.commit("one")
    widgets = source(repo.root)
    repo.git("config", "diff.renames", "copies")
    repo.git("mv", "a.md", "b.md")
    assert changed(widgets, repo.commit("pure rename")) == ["R a.md -> b.md"]
    repo.git("mv", "b.md", "c.md")
    with open(repo.root / "c.md", "a") as file:
        file.write("61\n")
    # A similar file is no renamed one: seeing that would need blobs that partial clones lack.
    assert changed(widgets, repo.commit("rename + edit")) == ["D b.md", "A c.md"]
    repo.git("mv", "dir", "dir2")
    shutil.copy(repo.root / "copy.md", repo.root / "copy2.md")
    (repo.root / "mode.sh").chmod(0o755)
    third = repo.commit("dir rename, copy, mode only")
    assert changed(widgets, third) == ["A copy2.md", "R dir/x.md -> dir2/x.md", "M mode.sh"]
    (repo.root / "copy.md").unlink()
    (repo.root / "copy.md").symlink_to("copy2.md")
    assert changed(widgets, repo.commit("file becomes a link")) == ["T copy.md"]
    (repo.root / "mode.sh").unlink()
    repo.put("mode.sh/inner.md")
    last = repo.commit("file becomes a folder")
    assert changed(widgets, last) == ["D mode.sh", "A mode.sh/inner.md"]
    expected = {b"c.md", b"dir2/x.md", b"copy2.md", b"mode.sh/inner.md"}
    assert files(widgets) == repo.shown() == expected
    assert commits(widgets) == repo.commits()


def test_a_merge_says_what_it_brought_into_the_branch(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit("one")
    repo.git("checkout", "-q", "-b", "side")
    repo.put("side.md")
    repo.commit("on the side")
    repo.git("checkout", "-q", "main")
    repo.put("main.md")
    repo.commit("on main")
    repo.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    widgets = source(repo.root)
    assert changed(widgets, repo.head()) == ["A side.md"]
    assert commits(widgets) == repo.commits()


def test_an_empty_message_and_an_empty_commit_have_a_title(repo: Repo) -> None:
    tip = repo.commit("", "--allow-empty-message")
    found = items(source(repo.root))[COMMITS + tip]
    assert found.title == tip[:12]
    assert found.text.startswith("Author: Case")
    assert "- " not in found.text


def test_thousands_of_paths_are_counted(repo: Repo) -> None:
    for number in range(MAX_PATHS + 7):
        repo.put(f"f{number:04}.md")
    tip = repo.commit("many")
    lines = changed(source(repo.root, files=False), tip)
    assert len(lines) == MAX_PATHS + 1
    assert lines[-1] == "and 7 more"


def test_odd_names_in_changes_take_one_line_each(repo: Repo) -> None:
    repo.put(b"new\nline.md")
    repo.put(b"caf\xe9.md")
    tip = repo.commit()
    assert changed(source(repo.root), tip) == [r"A caf\xe9.md", r"A new\nline.md"]


def test_max_since_and_paths_select(repo: Repo) -> None:
    made = []
    for number in range(6):
        repo.put("src/x.md" if number % 2 else "doc/y.md", f"{number}\n")
        made.append(repo.commit(str(number)))
    assert commits(source(repo.root, commits=CommitRules(max=2))) == set(made[-2:])
    stamp = int(repo.out("log", "-1", "--format=%ct", made[3]))
    since = datetime.fromtimestamp(stamp, UTC)
    assert commits(source(repo.root, commits=CommitRules(since=since))) == set(made[3:])
    only = CommitRules(paths=("src/",))
    assert commits(source(repo.root, commits=only)) == {made[1], made[3], made[5]}
    assert commits(source(repo.root, commits=CommitRules(paths=("*.md",)))) == set()


def test_a_commit_that_a_merge_undid_has_touched_its_paths_all_the_same(repo: Repo) -> None:
    repo.put("src/x.md", "1\n")
    first = repo.commit("one")
    repo.git("checkout", "-q", "-b", "side")
    repo.put("src/x.md", "2\n")
    side = repo.commit("two")
    repo.git("checkout", "-q", "main")
    repo.put("other.md")
    repo.commit("three")
    repo.git("merge", "-q", "-s", "ours", "-m", "ours", "side")
    only = commits(source(repo.root, commits=CommitRules(paths=("src",))))
    assert {first, side} <= only


def test_a_skewed_date_hides_no_commit_behind_it(repo: Repo) -> None:
    repo.put("a.md")
    old = repo.commit("old")
    repo.git("commit", "-q", "--allow-empty", "-m", "skewed", "--date=2001-01-01")
    repo.git(
        *("-c", "user.name=x", "commit-tree", "-m", "x", "HEAD^{tree}"),
    )
    skewed = repo.out("rev-parse", "HEAD")
    since = datetime.fromtimestamp(int(repo.out("log", "-1", "--format=%ct", old)), UTC)
    assert commits(source(repo.root, commits=CommitRules(since=since))) == {old, skewed}


def test_the_branch_of_the_settings_is_followed(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit("one")
    name = "weird/ünï-b"
    repo.git("checkout", "-q", "-b", name)
    repo.put("b.md")
    tip = repo.commit("two")
    repo.git("checkout", "-q", "main")
    assert commits(source(repo.root, branch=name)) == repo.commits(tip)
    assert commits(source(repo.root)) == repo.commits("main")


def test_commits_are_read_newest_first_whatever_is_asked_first(repo: Repo) -> None:
    made = [repo.commit(str(number)) for number in range(5)]
    widgets = source(repo.root)
    asked = [COMMITS + commit for commit in sorted(made)]
    assert [path for path, _ in widgets.read_many(asked)] == [COMMITS + c for c in made[::-1]]


def test_grafts_and_replacements_are_ignored(repo: Repo) -> None:
    repo.put("a.md")
    first = repo.commit("one")
    repo.put("b.md")
    second = repo.commit("two")
    before = items(source(repo.root))
    other = repo.out("commit-tree", "-m", "replaced", f"{first}^{{tree}}")
    repo.git("replace", second, other)
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/grafts").write_text(f"{second}\n")
    assert {path: item.wire() for path, item in items(source(repo.root)).items()} == {
        path: item.wire() for path, item in before.items()
    }


def test_an_unchanged_tip_is_said_in_one_word(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit()
    widgets = source(repo.root)
    list(widgets.scan())
    mark = widgets.mark()
    assert mark is not None
    seen = list(widgets.scan("", mark))
    assert Unchanged(COMMITS) in seen
    assert [one.path for one in seen] == [COMMITS, "a.md"]
    assert widgets.mark() == mark
    assert list(source(repo.root, files=False).scan("", mark)) != [Unchanged("")]
    other = source(repo.root, tags=("new",))
    assert Unchanged(COMMITS) not in list(other.scan("", mark))
    repo.commit("another")
    assert Unchanged(COMMITS) not in list(widgets.scan("", mark))


def test_no_mark_while_a_scan_has_not_ended(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit()
    widgets = source(repo.root)
    list(widgets.scan())
    scan = widgets.scan()
    next(scan)
    assert widgets.mark() is None
    scan.close()
    assert widgets.mark() is None


def test_filters_and_keys_lead_back_to_each_other(repo: Repo) -> None:
    repo.put("d/a.md")
    tip = repo.commit()
    widgets = source(repo.root)
    for path, item in items(widgets).items():
        assert widgets.key_of(item.meta) == path
        chosen = widgets.filter(path)
        assert chosen is not None
        assert chosen.matches(item.kind, item.meta)
        whole = widgets.filter("")
        assert whole is not None
        assert whole.matches(item.kind, item.meta)
        below = widgets.filter("d/")
        assert below is not None
        assert below.matches(item.kind, item.meta) == (path == "d/a.md")
    assert widgets.filter(".git") is None
    assert widgets.filter(COMMITS) is None
    assert sightings(widgets.scan(COMMITS + tip)) == [COMMITS + tip]
    assert sightings(widgets.scan(COMMITS + "0" * 40)) == []


def test_case_39_shallow_clones_have_no_commits_behind_the_cut(tmp_path: Path) -> None:
    up = Repo(tmp_path / "up")
    for number in range(1, 6):
        up.put(f"f{number}.md", str(number))
        up.put("hot.md", str(number))
        up.commit(f"c{number}")
    shallow = up.clone(tmp_path / "s", "--depth", "1")
    widgets = source(shallow.root)
    first = items(widgets)
    assert commits(widgets) == {up.head()}
    assert "- A" not in body(widgets, up.head())
    for number in (6, 7, 8):
        up.put(f"f{number}.md", str(number))
        up.put("hot.md", str(number))
        up.commit(f"c{number}")
    up.git("rm", "-q", "f1.md")
    up.commit("c9")
    shallow.git("fetch", "-q", "--depth", "1")
    shallow.git("reset", "-q", "--hard", "origin/main")
    assert texts(widgets)["hot.md"] == "8"
    assert "f1.md" not in texts(widgets)
    list(widgets.scan())
    mark = widgets.mark()
    cut = {seen.path: seen.look for seen in widgets.scan() if isinstance(seen, Sighting)}
    shallow.git("fetch", "-q", "--unshallow")
    whole = {seen.path: seen.look for seen in widgets.scan("", mark) if isinstance(seen, Sighting)}
    assert commits(widgets) == up.commits()
    # Only the commit that has got its parents back is read again, and no file.
    assert [path for path in cut if cut[path] != whole[path]] == [COMMITS + up.head()]
    full = items(source(up.root))
    assert {path for path in first if path in full and path.startswith(COMMITS)}
    assert items(widgets)[COMMITS + up.head()].text == full[COMMITS + up.head()].text


def test_case_39_a_partial_clone_downloads_nothing(tmp_path: Path) -> None:
    up = Repo(tmp_path / "up")
    up.git("config", "uploadpack.allowFilter", "true")
    up.put("a.md", "one\n")
    up.commit("one")
    up.git("mv", "a.md", "b.md")
    up.put("b.md", "one\nmore\n")
    up.commit("two")
    partial = up.clone(tmp_path / "p", "--filter=blob:none", "--bare")
    before = partial.out("count-objects", "-v")
    widgets = source(partial.root)
    assert commits(widgets) == up.commits()
    found = items(widgets)
    assert {p: i.text for p, i in items(source(up.root)).items() if p.startswith(COMMITS)} == {
        path: item.text for path, item in found.items()
    }
    assert "not in this clone" in str(outcomes(widgets)["b.md"])
    assert partial.out("count-objects", "-v") == before


def test_case_52_messages_of_any_encoding(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit("first")
    who = b"<case@example.invalid> 1700000000 +0000"

    def raw(author: bytes, rest: bytes) -> str:
        tree, parent = repo.out("rev-parse", "HEAD^{tree}"), repo.head()
        data = f"tree {tree}\nparent {parent}\n".encode()
        data += b"author %s %s\ncommitter %s %s\n" % (author, who, author, who) + rest
        made = repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=data)
        repo.git("update-ref", "refs/heads/main", made.decode().strip())
        return made.decode().strip()

    expected = {
        raw(b"Case", b"\ncaf\xe9 undeclared\n"): "caf\ufffd undeclared",
        raw(b"Case", b"encoding ISO-8859-1\n\ncaf\xe9 declared\n"): "café declared",
        raw(b"Case", b"encoding UTF-16\n\ncaf\xc3\xa9 lying header\n"): "café lying header",
        raw(b"Case", b"encoding X-UNKNOWN\n\nno such codec\n"): "no such codec",
        raw(b"J\xfcrgen", b"\nauthor in latin-1\n"): "author in latin-1",
        raw(b"Case", b"\nhas a \0 inside\n"): "has a \ufffd inside",
        raw(b"Case", b"gpgsig -----BEGIN\n \n x\n\nsigned\n"): "signed",
    }
    repo.put("b.md")
    expected[repo.commit("last")] = "last"
    widgets = source(repo.root)
    found = items(widgets)
    assert {commit: found[COMMITS + commit].title for commit in expected} == expected
    for item in found.values():
        item.validate()
        item.wire()
    assert commits(widgets) == repo.commits()
    assert "J\ufffdrgen" in next(i.text for i in found.values() if i.title == "author in latin-1")


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"\x1b$B$3\x1b(B", "ISO-2022-JP", "こ"),
        ("联通".encode("gbk"), "GBK", "联通"),
        (b"plain", "rot13", "plain"),
        (b"\xe9", "unicode_escape", "\ufffd"),
        (b"\xe9", "bad\0name", "\ufffd"),
        ("é".encode(), "", "é"),
    ],
)
def test_declared_encodings(data: bytes, declared: str, text: str) -> None:
    assert decoded(data, declared) == text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"tree x\n\n",
        b"author nobody\ncommitter\n\nx",
        b"author A <a> 99999999999999999 +0000\ncommitter A <a> -99999999999999999 -9999\n\nx",
        b"author A <a> 1 +999999\ncommitter A <a> " + b"9" * 5000 + b" +0000\n\nx",
        b"committer A <a> 1\n\nx",
    ],
)
def test_no_commit_is_too_odd(data: bytes) -> None:
    commit = parsed(data)
    assert isinstance(commit.message, str)
    assert commit.authored


def test_a_subject_is_the_first_paragraph() -> None:
    assert subject("\n one \n two\n \t\n three") == "one two"
    assert subject("  \n ") == ""


def test_case_50_a_damaged_commit_costs_itself_and_what_lies_behind(repo: Repo) -> None:
    made = []
    for number in range(4):
        repo.put("a.md", str(number))
        made.append(repo.commit(str(number)))
    path = repo.root / ".git/objects" / made[1][:2] / made[1][2:]
    kept = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    widgets = source(repo.root)
    assert texts(widgets) == {"a.md": "3"}
    assert set(blind(widgets)) == {COMMITS}
    assert widgets.mark() is None
    assert commits(widgets) <= {made[3], made[2]}
    path.write_bytes(kept)
    assert commits(widgets) == set(made)


def test_case_50_a_damaged_tree_costs_the_commit_that_has_it(repo: Repo) -> None:
    made = []
    for number in range(5):
        repo.put(f"d{number}/a.md", str(number))
        made.append(repo.commit(str(number)))
    tree = repo.out("rev-parse", f"{made[2]}^{{tree}}")
    path = repo.root / ".git/objects" / tree[:2] / tree[2:]
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    widgets = source(repo.root)
    found = outcomes(widgets)
    read = {commit for commit in made if isinstance(found[COMMITS + commit], Reading)}
    assert read == {made[0], made[1], made[4]}
    assert tree in str(found[COMMITS + made[2]])


def test_case_45_a_branch_that_is_gone_is_said(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit("one")
    repo.git("checkout", "-q", "-b", "feature")
    repo.put("f.md")
    repo.commit("feature work")
    widgets, following = source(repo.root), source(repo.root, branch="feature")
    assert commits(widgets) == commits(following) == repo.commits()
    list(widgets.scan())
    mark = widgets.mark()
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "feature")
    assert files(widgets) == {b"a.md"}
    assert commits(widgets) == repo.commits()
    list(widgets.scan("", mark))
    assert widgets.accounted(["f.md"]) == {"f.md"}
    with pytest.raises(SourceUnavailable, match="branch feature does not exist"):
        following.probe()
    repo.git("branch", "feature")
    assert commits(following) == repo.commits()


def test_case_32_history_that_was_rewritten_and_collected(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    for name in ("keep.md", "gone.md", "third.md"):
        repo.put(name)
        repo.commit(name)
    widgets = source(repo.root)
    before = commits(widgets)
    list(widgets.scan())
    mark = widgets.mark()
    repo.git("reset", "-q", "--hard", "HEAD~2")
    repo.put("keep.md", "2")
    repo.put("fresh.md")
    repo.commit("rewritten")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert texts(widgets) == {"keep.md": "2", "fresh.md": "fresh.md\n"}
    assert commits(widgets) == repo.commits()
    list(widgets.scan("", mark))
    lost = {COMMITS + commit for commit in before - repo.commits()}
    # The old tip is not there any more, so that nobody can say who removed the files.
    assert widgets.accounted([*lost, "gone.md", "third.md"]) == lost


def test_a_lost_ref_is_damage_and_no_new_branch(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit()
    ref = repo.root / ".git/refs/heads/main"
    for junk in ("", "junk\n"):
        ref.write_text(junk)
        with pytest.raises(SourceUnavailable, match="damaged"):
            source(repo.root).probe()
    ref.unlink()
    widgets = source(repo.root)
    assert commits(widgets) == set()
    assert widgets.accounted([COMMITS + "0" * 40]) == set()


@pytest.mark.parametrize("path", ["HEAD", "packed-refs", "config"])
def test_a_damaged_git_directory_is_never_empty(repo: Repo, path: str) -> None:
    repo.put("a.md")
    repo.commit()
    repo.git("pack-refs", "--all")
    (repo.root / ".git" / path).write_text("]junk\n")
    with pytest.raises(SourceUnavailable):
        list(source(repo.root).scan())


def test_a_commit_that_is_not_wanted_any_more_is_not_there(repo: Repo) -> None:
    repo.put("a.md")
    old = repo.commit("one")
    widgets = source(repo.root)
    repo.git("commit", "-q", "--amend", "-m", "amended")
    assert dict(widgets.read_many([COMMITS + old])) == {COMMITS + old: None}
    assert all(not isinstance(seen, Blind) for seen in widgets.scan())
