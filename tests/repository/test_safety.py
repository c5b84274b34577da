"""Nothing in a repository is written, locked or run, nobody is asked, and no secret gets out."""

from __future__ import annotations

import gc
import http.server
import os
import shutil
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.sources import Reading, SourceUnavailable
from syncd.sources.repository import COMMITS, RepositorySource, layout
from syncd.sources.repository.forge import access, is_address, remote
from syncd.sources.repository.git import Git, GitFailed, reading_environment, without_credentials
from syncd.sources.seen import Stopped
from tests.repository.making import Repo, commits, files, items, outcomes, source, texts
from tests.waiting import until


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a directory: mode, modification time, content."""
    found = {}
    for directory, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            regular = stat.S_ISREG(status.st_mode)
            content = Path(path).read_bytes() if regular else b""
            found[path] = (status.st_mode, status.st_mtime_ns, content)
    return found


def everything(repository: RepositorySource) -> None:
    """All that a pass asks of a source."""
    repository.probe()
    repository.is_empty()
    outcomes(repository)
    list(repository.scan("a.md"))
    repository.accounted(["gone.md", COMMITS + "0" * 40])
    repository.is_pruned(f"{repository.root}/d")
    repository.grounds()
    repository.busy()
    repository.notice()


# -- a repository that would like to run something -----------------------------------------------


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def hostile(repo: Repo, canary: Path) -> Repo:
    """A repository whose every setting that names a program would touch the canary."""
    repo.put("a.md", "one\n")
    repo.put("d/b.bin", "\1\2\n")
    repo.commit("one")
    repo.put("a.md", "two\n")
    repo.put(".gitattributes", "* filter=evil diff=evil merge=evil textconv=evil\n")
    repo.commit("two")
    touch = repo.root.parent / "touch.sh"
    touch.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{canary}'\nexit 1\n")
    touch.chmod(0o755)
    run = str(touch)
    for key in (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
        *("core.gitProxy", "core.alternateRefsCommand", "credential.helper", "diff.external"),
        *("diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "filter.evil.smudge"),
        *("filter.evil.process", "gpg.program", "gpg.ssh.program", "pager.log", "pager.rev-list"),
        *("sequence.editor", "uploadpack.packObjectsHook", "remote.origin.uploadpack"),
        *("remote.origin.receivepack", "interactive.diffFilter", "merge.evil.driver"),
    ):
        repo.git("config", key, run)
    for command in ("log", "ls-files", "ls-tree", "rev-list", "rev-parse", "cat-file", "config"):
        repo.git("config", f"alias.{command}", f"!{run}")
    for key, value in {
        "remote.origin.url": f"ext::{run} %S",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "filter.evil.required": "true",
        "log.showSignature": "true",
        "core.untrackedCache": "true",
    }.items():
        repo.git("config", key, value)
    hooks = repo.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "post-index-change",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        shutil.copy(touch, hooks / name)
    canary.unlink(missing_ok=True)
    return repo


@pytest.mark.parametrize(
    "command",
    ["status", "diff", "diff --no-ext-diff HEAD~1", "fetch origin"],
)
def test_the_traps_of_these_tests_are_set(hostile: Repo, canary: Path, command: str) -> None:
    hostile.put("a.md", "three\n")
    canary.unlink(missing_ok=True)
    allowed = {**os.environ, "GIT_ALLOW_PROTOCOL": "ext"}
    run = ["git", *command.split()]
    subprocess.run(
        run,
        cwd=hostile.root,
        env=allowed,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert canary.exists()


def test_nothing_of_a_hostile_working_copy_runs(hostile: Repo, canary: Path) -> None:
    blob = hostile.out("rev-parse", "HEAD~1:a.md")
    (hostile.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    canary.unlink(missing_ok=True)
    widgets = source(hostile.root)
    everything(widgets)
    assert texts(widgets)["a.md"] == "two\n"
    assert len(commits(widgets)) == 2
    assert not canary.exists(), canary.read_text()


def test_nothing_of_a_hostile_bare_repository_runs(
    hostile: Repo, canary: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    shutil.copytree(hostile.root / ".git", bare)
    subprocess.run(["git", "config", "core.bare", "true"], cwd=bare, check=True)
    canary.unlink(missing_ok=True)
    widgets = source(bare)
    everything(widgets)
    assert texts(widgets)["a.md"] == "two\n"
    assert not canary.exists(), canary.read_text()


def test_nothing_of_a_hostile_upstream_runs(hostile: Repo, canary: Path, tmp_path: Path) -> None:
    widgets = source(f"file://{hostile.root}", tmp_path / "m")
    widgets.fetch(60)
    everything(widgets)
    assert texts(widgets)["a.md"] == "two\n"
    assert not canary.exists(), canary.read_text()
    blob = hostile.out("rev-parse", "HEAD:a.md")
    (hostile.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    canary.unlink(missing_ok=True)
    with pytest.raises(SourceUnavailable):
        source(f"file://{hostile.root}", tmp_path / "other").fetch(60)
    assert not canary.exists(), canary.read_text()


def test_an_address_that_names_a_program_is_refused(canary: Path, tmp_path: Path) -> None:
    widgets = source(f"ext::sh -c 'touch {canary}'://x", tmp_path / "m")
    with pytest.raises(SourceUnavailable):
        widgets.fetch(20)
    assert not canary.exists()


def test_an_address_that_looks_like_an_option_is_none(canary: Path, tmp_path: Path) -> None:
    for url in (f"--upload-pack=touch {canary}://x", f"ssh://-oProxyCommand=touch {canary}/x"):
        with pytest.raises(SourceUnavailable):
            source(url, tmp_path / "m").fetch(20)
    assert not canary.exists()


def test_a_repository_cannot_point_at_the_files_of_others(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md")
    repo.commit()
    other = tmp_path / "private"
    other.mkdir()
    (other / "diary.md").write_text("not yours\n")
    repo.git("config", "core.worktree", str(other))
    repo.put("own.md")
    widgets = source(repo.root)
    assert files(widgets) == {b"a.md", b"own.md"}


def test_the_environment_of_a_hook_changes_nothing(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.put("a.md")
    repo.commit()
    other = Repo(tmp_path / "other")
    other.put("other.md")
    other.commit()
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert files(source(repo.root)) == {b"a.md"}
    assert not (tmp_path / "trace").exists()


# -- reading alone -------------------------------------------------------------------------------


def test_case_48_nothing_is_written_or_locked(repo: Repo) -> None:
    for number in range(40):
        repo.put(f"f{number}.md")
    repo.commit("one")
    for number in range(40):
        os.utime(repo.root / f"f{number}.md")  # any status would refresh the index
    before = snapshot(repo.root)
    everything(source(repo.root))
    assert snapshot(repo.root) == before


def test_case_48_commits_do_not_fail_meanwhile(repo: Repo) -> None:
    for number in range(50):
        repo.put(f"f{number}.md")
    repo.commit("one")
    widgets = source(repo.root)
    done = threading.Event()
    seen = 0

    def look() -> None:
        nonlocal seen
        while not done.is_set():
            try:
                list(widgets.scan())
            except SourceUnavailable:
                continue  # git was writing its index just then
            seen += 1

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(15):
            repo.put("hot.md", str(number))
            repo.commit(f"c{number}")
    finally:
        until(lambda: seen, what="a scan that ended")
        done.set()
        looking.join()
    assert texts(widgets)["hot.md"] == "14"


def test_case_48_a_lock_left_behind_is_said_and_left_alone(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit()
    lock = repo.root / ".git" / "index.lock"
    lock.write_text("")
    widgets = source(repo.root)
    assert "writing the index" in (widgets.busy() or "")
    with pytest.raises(SourceUnavailable, match="writing the index"):
        widgets.probe()
    assert widgets.notice() is None
    old = time.time() - 3600
    os.utime(lock, (old, old))
    assert widgets.busy() is None
    assert files(widgets) == {b"a.md"}
    assert "index.lock" in (widgets.notice() or "")
    assert lock.exists()


def test_a_rebase_in_progress_is_waited_for_while_it_moves(repo: Repo) -> None:
    repo.put("a.md", "1\n")
    repo.commit("one")
    repo.git("checkout", "-q", "-b", "topic")
    repo.put("a.md", "topic\n")
    repo.commit("topic")
    repo.git("checkout", "-q", "main")
    repo.put("a.md", "main\n")
    repo.commit("main")
    widgets = source(repo.root)
    with pytest.raises(AssertionError):
        repo.git("rebase", "-q", "main", "topic")
    assert "rebase" in (widgets.busy() or "")
    found = layout.find(widgets.root)
    assert layout.busy(found, time.time() + layout.QUIET + 1) is None
    repo.git("rebase", "--abort")
    assert widgets.busy() is None
    assert texts(widgets) == {"a.md": "topic\n"}


def test_200_passes_leave_no_process_and_no_descriptor(repo: Repo, tmp_path: Path) -> None:
    repo.put("a.md")
    repo.put("b.md")
    repo.commit()
    bare = repo.clone(tmp_path / "bare", "--bare")
    widgets, other = source(repo.root), source(bare.root)
    gc.disable()
    try:
        everything(widgets)
        before, children = _descriptors(), _children()
        for number in range(100):
            for each in (widgets, other):
                paths = [one.path for one in each.scan()]
                reading = each.read_many(paths)
                next(reading)
                if number % 2:
                    reading.close()  # a pass that was stopped in the middle
                else:
                    list(reading)
            del reading
        assert _descriptors() == before
        assert _children() == children
    finally:
        gc.enable()


def _descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def _children() -> list[int]:
    found = []
    for task in os.listdir("/proc/self/task"):
        found += [int(pid) for pid in Path(f"/proc/self/task/{task}/children").read_text().split()]
    return found


# -- who may, and who is asked -------------------------------------------------------------------


@pytest.mark.parametrize("how", ["switch", "owner"])
def test_case_46_dubious_ownership_is_one_clear_sentence(
    repo: Repo, own_git: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    repo.put("a.md")
    repo.commit()
    widgets = source(repo.root)
    list(widgets.scan())
    before = own_git.read_bytes()
    if how == "switch":
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    elif os.geteuid() == 0:
        os.chown(repo.root, 65534, 65534)
    else:
        pytest.skip("only root can give a directory away")
    for repository in (widgets, source(repo.root)):
        with pytest.raises(SourceUnavailable) as refused:
            repository.probe()
        assert refused.value.reason == (
            f"git refuses {repo.root}, which belongs to another user; if you trust it: "
            f"git config --global --add safe.directory {repo.root}"
        )
        with pytest.raises(SourceUnavailable):
            list(repository.scan())
    assert own_git.read_bytes() == before
    if how == "switch":
        monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    else:
        os.chown(repo.root, 0, 0)
    assert files(widgets) == {b"a.md"}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.write_text("x"), "is not a folder"),
        (lambda path: path.mkdir(), "is no git repository"),
        (lambda path: (path.mkdir(), (path / ".git").write_text("x")), "any more"),
        (lambda path: (path / ".git").mkdir(parents=True), "is damaged"),
    ],
)
def test_what_is_no_repository_is_said(tmp_path: Path, make: object, reason: str) -> None:
    assert callable(make)
    make(tmp_path / "x")
    with pytest.raises(SourceUnavailable, match=reason):
        source(tmp_path / "x").probe()


def test_a_folder_within_a_repository_is_none(repo: Repo) -> None:
    repo.put("d/a.md")
    repo.commit()
    with pytest.raises(SourceUnavailable, match="is no git repository"):
        source(repo.root / "d").probe()


class _Refusing(http.server.BaseHTTPRequestHandler):
    """A server that asks everybody for a password."""

    heard: list[str | None]

    def do_GET(self) -> None:
        self.heard.append(self.headers.get("Authorization"))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[tuple[int, list[str | None]]]:
    heard: list[str | None] = []
    handler = type("Handler", (_Refusing,), {"heard": heard})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield server.server_address[1], heard
    server.shutdown()
    serving.join()
    server.server_close()


def test_case_54_a_server_that_asks_gets_no_answer(
    refusing: tuple[int, list[str | None]], tmp_path: Path
) -> None:
    port, heard = refusing
    widgets = source(f"http://127.0.0.1:{port}/x.git", tmp_path / "m")
    with pytest.raises(SourceUnavailable, match="asks for a name and a password"):
        widgets.fetch(60)
    assert heard
    assert set(heard) == {None}


def test_case_54_a_server_that_never_answers_is_left(tmp_path: Path) -> None:
    children = _children()  # of the suite's own, such as multiprocessing's tracker
    with socket.create_server(("127.0.0.1", 0)) as silent:
        widgets = source(f"http://127.0.0.1:{silent.getsockname()[1]}/x.git", tmp_path / "m")
        with pytest.raises(SourceUnavailable, match="was not done after"):
            widgets.fetch(1)
        with pytest.raises(Stopped):
            widgets.fetch(600, lambda: True)
    assert _children() == children


def test_case_70_credentials_reach_the_server_and_nothing_else(
    refusing: tuple[int, list[str | None]], tmp_path: Path
) -> None:
    port, heard = refusing
    url = f"http://bot:CANARYTOKEN1@127.0.0.1:{port}/team/project.git?key=CANARYTOKEN2"
    mirrors = tmp_path / "m"
    widgets = source(url, mirrors)
    with pytest.raises(SourceUnavailable) as refused:
        widgets.fetch(60)
    assert any(header is not None for header in heard)
    shown = (refused.value.reason, widgets.root, repr(widgets.__dict__["_settings"]))
    assert "CANARY" not in "".join(shown)
    written = [path.read_bytes() for path in mirrors.rglob("*") if path.is_file()]
    assert written
    assert all(b"CANARY" not in content for content in written)
    assert widgets.is_remote


def test_case_70_no_credential_is_on_a_command_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"http://bot:CANARYTOKEN1@127.0.0.1:{port}/x.git"
        widgets = source(url, tmp_path / "m")
        lines: list[bytes] = []

        def look() -> bool:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    line = Path(f"/proc/{pid}/cmdline").read_bytes()
                except OSError:
                    continue  # it has ended
                if str(port).encode() in line and b"git" in line:
                    lines.append(line)
            return any(b"remote-http" in line for line in lines)

        with pytest.raises(Stopped):
            widgets.fetch(60, look)
        assert not any(b"CANARY" in line for line in lines)


def test_case_70_the_origin_of_a_working_copy_shows_no_credential(repo: Repo) -> None:
    repo.put("a.md")
    repo.commit()
    url = "https://bot:CANARYTOKEN1@example.invalid/team/project.git"
    repo.git("remote", "add", "origin", url)
    repo.git("config", "http.https://example.invalid/.extraheader", "Authorization: Basic CANARY")
    widgets = source(repo.root)
    everything(widgets)
    for path, became in outcomes(widgets).items():
        assert isinstance(became, Reading)
        assert "CANARY" not in became.items[0].wire(), path
    list(widgets.scan())
    assert "CANARY" not in str(widgets.mark())
    assert items(widgets)["a.md"].meta.repo == "team/project"


@pytest.mark.parametrize(
    ("url", "name", "page"),
    [
        ("https://github.com/o/n.git", "o/n", "https://github.com/o/n/commit/H"),
        ("https://u:p@GitHub.com/o/n/", "o/n", "https://github.com/o/n/commit/H"),
        ("git@github.com:o/n.git", "o/n", "https://github.com/o/n/commit/H"),
        ("ssh://git@ssh.github.com:443/o/n.git", "o/n", "https://github.com/o/n/commit/H"),
        ("git@gitlab.com:g/sub/n.git", "g/sub/n", "https://gitlab.com/g/sub/n/-/commit/H"),
        ("https://bitbucket.org/o/n", "o/n", "https://bitbucket.org/o/n/commits/H"),
        ("https://codeberg.org/o/n.git", "o/n", "https://codeberg.org/o/n/commit/H"),
        ("https://u:p@example.invalid/team/project.git", "team/project", None),
        ("https://u:p@example.invalid/p.git", "https://example.invalid/p.git", None),
        ("ssh://git:tok@example.invalid:22/p3.git", "ssh://git@example.invalid:22/p3.git", None),
        ("https://h.invalid/a/b/c?t=1#x", "https://h.invalid/a/b/c", None),
        ("/srv/git/p.git", "/srv/git/p.git", None),
        ("file:///srv/git/p.git", "file:///srv/git/p.git", None),
        ("git:tok@host.invalid:p", "git@host.invalid:p", None),
    ],
)
def test_addresses(url: str, name: str, page: str | None) -> None:
    found = remote(url)
    assert found.name == name
    assert found.page("H") == page


def test_which_names_are_addresses() -> None:
    assert is_address("https://h/x")
    assert is_address("git@github.com:o/n")
    assert not is_address("/home/u/r")
    assert not is_address("C:x")


def test_access_parts_an_address_from_its_credentials() -> None:
    reached = access("https://me%40x:p%2Fw@h.invalid/r?token=1")
    assert reached.address == "https://h.invalid/r"
    assert reached.header == "Authorization: Basic bWVAeDpwL3c="
    assert {"p%2Fw", "p/w"} <= set(reached.secrets)
    assert access("https://h.invalid/r").header is None


@pytest.mark.parametrize(
    "text",
    [
        "unable to access 'https://u:SECRET@h/x/': no",
        "https://SECRET@h/x",
        "fatal: https://h/x?token=SECRET is bad",
        "ssh://git:SECRET@h:22/x",
    ],
)
def test_messages_lose_credentials(text: str) -> None:
    assert "SECRET" not in without_credentials(text)


def test_git_that_is_not_there_is_said(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.put("a.md")
    repo.commit()
    widgets = source(repo.root)
    list(widgets.scan())
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SourceUnavailable, match="git is not installed"):
        widgets.probe()


def test_every_git_is_told_to_leave_locks_and_the_network_alone() -> None:
    environment = reading_environment()
    assert environment["GIT_OPTIONAL_LOCKS"] == "0"
    assert environment["GIT_NO_LAZY_FETCH"] == "1"
    assert environment["GIT_ALLOW_PROTOCOL"] == "none"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


def test_a_command_that_fails_has_a_reason(repo: Repo) -> None:
    with pytest.raises(GitFailed) as failed:
        Git(str(repo.root)).run("cat-file", "-p", "nothing")
    assert failed.value.reason == "Not a valid object name nothing"
    assert failed.value.code == 128
