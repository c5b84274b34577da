"""Watches one folder and turns the kernel's events into hints.

Invariant: a directory is watched before its hint is given, so that whoever lists it on that hint
misses nothing; where a watch or an event is lost, that is counted or hinted as LOST.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from syncd.daemon.directories import NO_WATCH, Directories, Directory
from syncd.daemon.hints import Hint, Kind
from syncd.daemon.inotify import InotifyConstants as Bits
from syncd.daemon.inotify import InotifyEvent, Reader

# files whose presence or content decides what is looked at in their directory and below it
RULE_FILES = frozenset({".gitignore", ".syncdignore", "pyvenv.cfg", "CACHEDIR.TAG"})

_VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_SELF_ENDED = Bits.IN_DELETE_SELF | Bits.IN_MOVE_SELF | Bits.IN_UNMOUNT | Bits.IN_IGNORED
_WENT = Bits.IN_DELETE | Bits.IN_MOVED_FROM
_CAME = Bits.IN_CREATE | Bits.IN_MOVED_TO
_WHOLE = Bits.IN_CLOSE_WRITE | Bits.IN_MOVED_TO


class Watch:
    """One folder under watch.

    `is_pruned` is asked for every directory (OS path) before it is watched and again when a rule
    file changes, after `on_rules` has been told the directory of that file; `on_hint` gets the
    hints. All are called on the watch's own thread, but for `is_pruned` in `start` and `renew`.
    """

    def __init__(
        self,
        root: str,
        is_pruned: Callable[[str], bool],
        on_hint: Callable[[Hint], None],
        on_rules: Callable[[str], None] = lambda directory: None,
        rule_files: frozenset[str] = RULE_FILES,
    ) -> None:
        self._root = root
        self._is_pruned = is_pruned
        self._on_hint = on_hint
        self._on_rules = on_rules
        self._rule_files = rule_files
        self._lock = threading.Lock()  # guards all below
        self._directories = Directories(root)
        self._reader: Reader | None = None
        self._failure: str | None = None
        self._errno = 0

    @property
    def alive(self) -> bool:
        """Whether changes are seen."""
        reader = self._reader
        return reader is not None and reader.is_alive() and self._failure is None

    @property
    def watched(self) -> int:
        """How many directories have a watch."""
        return len(self._directories.by_number)

    @property
    def unwatched(self) -> int:
        """How many directories should have a watch and could not get one."""
        return len(self._directories.unwatched)

    @property
    def reason(self) -> str | None:
        """What is wrong, with the line that mends it; None when all is watched."""
        if self._failure is not None or not self.unwatched:
            return self._failure
        count = self.unwatched
        folders = "1 folder is" if count == 1 else f"{count} folders are"
        return f"{folders} not watched: {_explain(self._errno)}"

    def start(self) -> None:
        """Watch the folder and all below it. Never raises OSError: see `alive` and `reason`."""
        try:
            self._reader = Reader(self._on_events, self._on_end)
            self._reader.start()
            with self._lock:
                self._survey(self._directories.root, again=True)
        except OSError as error:
            self._failure = f"{self._root} is not watched: {_explain(error.errno or 0)}"
            self.stop()

    def renew(self) -> None:
        """Try again what could not be watched; to be called before a scan of the source."""
        with self._lock:
            if self.alive:
                try:
                    self._survey(self._directories.root, again=True)
                except OSError as error:
                    self._lose(error)

    def stop(self) -> None:
        """End the thread and all watches; no hint comes after this."""
        with self._lock:
            reader, self._reader = self._reader, None
            self._directories = Directories(self._root)
            if reader is not None:
                reader.stop()
        if reader is not None and reader is not threading.current_thread():
            reader.join()

    # --- on the reading thread

    def _on_events(self, events: Sequence[InotifyEvent]) -> None:
        hints: dict[Hint, None] = {}
        with self._lock:
            for event in events:
                if self._reader is None or self._failure is not None:
                    break
                try:
                    hints.update(dict.fromkeys(self._take(event)))
                except OSError as error:
                    hints[self._lose(error)] = None
        # without the lock, so that a hint's receiver may ask or stop this watch
        for hint in hints:
            self._on_hint(hint)

    def _on_end(self) -> None:
        with self._lock:
            stopped = self._reader is None
            if not stopped and self._failure is None:
                self._failure = f"{self._root} is not watched any more: its watcher ended"
        if not stopped:
            self._on_hint(Hint(Kind.LOST, self._root))

    def _lose(self, error: OSError) -> Hint:
        """The root itself gets no watch any more."""
        self._failure = f"{self._root} is not watched any more: {_explain(error.errno or 0)}"
        return Hint(Kind.LOST, self._root)

    def _take(self, event: InotifyEvent) -> Iterator[Hint]:
        """Follow one event with the watches; the hints it gives. OSError: the root is lost."""
        if event.mask & Bits.IN_Q_OVERFLOW:
            self._survey(self._directories.root, again=True)
            yield Hint(Kind.LOST, self._root)
            return
        directory = self._directories.by_number.get(event.wd)
        if directory is None:
            return  # an event from before its watch was ended
        if event.mask & _SELF_ENDED:
            yield from self._take_end(directory, event.mask)
        elif not event.name:
            yield from self._take_own_attributes(directory)
        elif event.mask & Bits.IN_ISDIR:
            yield from self._take_directory(directory, os.fsdecode(event.name), event.mask)
        else:
            yield from self._take_file(directory, os.fsdecode(event.name), event.mask)

    def _take_file(self, above: Directory, name: str, mask: int) -> Iterator[Hint]:
        kind = Kind.GONE if mask & _WENT else Kind.SAVED if mask & _WHOLE else Kind.TOUCHED
        path = above.path
        if name in self._rule_files and not mask & Bits.IN_MODIFY:
            self._on_rules(path)
            if above.above is not None and self._is_pruned(path):
                self._drop(above)
            else:
                self._survey(above, again=True)
            yield Hint(Kind.TREE, path)
        yield Hint(kind, _join(path, name))

    def _take_directory(self, above: Directory, name: str, mask: int) -> Iterator[Hint]:
        path = _join(above.path, name)
        known = above.child(name)
        if mask & _WENT:
            self._drop(known)
        if self._is_pruned(path):
            self._drop(known)
        elif mask & _WENT:
            yield Hint(Kind.GONE, path)
        else:
            directory = self._directories.add(above, name)
            self._survey(directory, again=not mask & _CAME)
            yield Hint(Kind.TREE, path)

    def _take_own_attributes(self, directory: Directory) -> Iterator[Hint]:
        """A changed mode: the parent's watch tells the same, where there is one."""
        if not _is_seen_from_above(directory):
            self._survey(directory, again=True)
            yield Hint(Kind.TREE, directory.path)

    def _take_end(self, directory: Directory, mask: int) -> Iterator[Hint]:
        """A watched directory was itself deleted, moved or unmounted."""
        path, above = directory.path, directory.above
        if above is None:
            self._failure = _ended(self._root, mask)
            yield Hint(Kind.LOST, self._root)
        elif mask & Bits.IN_UNMOUNT:
            # what lay on the file system was not removed: no GONE, and the mount point may stay
            self._drop(directory)
            self._survey(above, again=True)
            yield Hint(Kind.TREE, path)
        elif mask & Bits.IN_IGNORED:
            self._drop(directory)
        elif not _is_seen_from_above(directory):
            self._drop(directory)
            self._survey(above, again=True)
            yield from (Hint(Kind.GONE, path), Hint(Kind.TREE, above.path))

    # --- watches

    def _survey(self, top: Directory, *, again: bool) -> None:
        """Watch a directory and all below it, and end watches on what is not there any more.

        What is watched already is listed again only when `again`: its own watch told what came.
        Raises OSError only when the root gets no watch.
        """
        stack = [top]
        while stack:
            directory = stack.pop()
            if self._watch(directory, again=again):
                stack.extend(self._list(directory))

    def _watch(self, directory: Directory, *, again: bool) -> bool:
        """Watch one directory; whether it is to be listed."""
        assert self._reader is not None
        try:
            number = self._reader.watch(directory.path)
        except OSError as error:
            if directory.above is None:
                raise
            return self._refuse(directory, error.errno or 0)
        other = self._directories.by_number.get(number)
        if other is directory:
            return again
        if directory.above is None and directory.number != NO_WATCH:
            raise OSError(errno.ESTALE, "another folder took its place")
        if other is not None and _is_same(other.path, directory.path):
            # mounted a second time: one watch cannot tell two paths
            return self._refuse(directory, errno.EEXIST)
        if other is not None and other in directory.ancestors():
            # moved about faster than its events are read: they lead here again
            self._drop(other)
            return False
        if other is not None:
            self._end(self._directories.drop(other), but=number)
        self._forget(directory)
        self._directories.bind(directory, number)
        return True

    def _refuse(self, directory: Directory, code: int) -> bool:
        """A directory that gets no watch; whether it is to be listed all the same."""
        if code == errno.EACCES:
            # its mode is told by the watch above it; a watch from before still works
            if directory.number == NO_WATCH:
                self._drop(directory)
            return False
        if code in _VANISHED:
            self._drop(directory)
            return False
        self._forget(directory)
        self._errno = code
        self._directories.unwatched.add(directory)
        return code != errno.EEXIST

    def _list(self, directory: Directory) -> list[Directory]:
        """The directories to watch below this one; what is known and not there is dropped."""
        path = directory.path
        try:
            with os.scandir(path) as entries:
                found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            if error.errno in _VANISHED:
                self._drop(directory)
            return []  # not readable: the scan says so, and a change of its mode leads here again
        names = {name for name in found if not self._is_pruned(_join(path, name))}
        for name in (directory.below or {}).keys() - names:
            self._drop(directory.child(name))
        return [self._directories.add(directory, name) for name in names]

    def _drop(self, directory: Directory | None) -> None:
        """End the watches on a directory and all below it."""
        if directory is not None:
            self._end(self._directories.drop(directory))

    def _forget(self, directory: Directory) -> None:
        """End the watches of another directory that had this path before."""
        self._end(self._directories.empty(directory))

    def _end(self, numbers: list[int], but: int = NO_WATCH) -> None:
        assert self._reader is not None
        for number in numbers:
            if number != but:
                self._reader.unwatch(number)


def _join(directory: str, name: str) -> str:
    return f"{directory.rstrip('/')}/{name}"


def _is_seen_from_above(directory: Directory) -> bool:
    return directory.above is not None and directory.above.number != NO_WATCH


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False  # not there any more, or not to be seen: not the same place


def _ended(root: str, mask: int) -> str:
    """The sentence for a root that is not there any more."""
    if mask & Bits.IN_UNMOUNT:
        return f"{root} was unmounted"
    return f"{root} was moved away" if mask & Bits.IN_MOVE_SELF else f"{root} was deleted"


def _explain(code: int) -> str:
    """What an error of the kernel means for a user, and the line that mends it."""
    if code == errno.ENOSPC:
        return _limit("max_user_watches", 524_288)
    if code == errno.EMFILE:
        return _limit("max_user_instances", 1_024)
    if code == errno.EEXIST:
        return "the same folder is mounted in two places"
    return os.strerror(code).lower()


def _limit(name: str, least: int) -> str:
    try:
        now = int(Path("/proc/sys/fs/inotify", name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        now = 0
    wanted = max(least, 2 * now)
    return (
        f"the limit fs.inotify.{name} ({now}) is used up; raise it with: "
        f"echo fs.inotify.{name}={wanted} | sudo tee -a /etc/sysctl.d/60-syncd.conf"
        " && sudo sysctl --system"
    )
