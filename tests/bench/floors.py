"""The least that a job can cost here: what a short script would take that does only that."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path


def walk(root: Path) -> int:
    """A bare scandir + lstat of everything; the number of files."""
    count = 0
    stack = [os.fspath(root)]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def insert(root: Path, database: Path) -> int:
    """Walk, read, hash and insert into one FTS5 table, a hundred files a transaction."""
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE VIRTUAL TABLE files USING fts5(path, digest UNINDEXED, body)")
    count = 0
    for batch in _batches(_files(root), 100):
        db.execute("BEGIN")
        for path in batch:
            data = path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            row = (os.fspath(path), digest, data.decode())
            db.execute("INSERT INTO files VALUES (?, ?, ?)", row)
        db.execute("COMMIT")
        count += len(batch)
    db.close()
    return count


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def _batches(paths: Iterator[Path], size: int) -> Iterator[list[Path]]:
    while batch := list(islice(paths, size)):
        yield batch
