"""The ledger's tables. A ledger of another version is begun anew: it is only an opinion."""

from __future__ import annotations

APPLICATION_ID = 0x73796E63
VERSION = 2

SCHEMA = f"""
CREATE TABLE sources (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL DEFAULT 'folder',
    place TEXT NOT NULL DEFAULT '',
    device INTEGER,
    inode INTEGER,
    complete INTEGER NOT NULL DEFAULT 0,
    strangers INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'idle',
    reason TEXT,
    pending INTEGER NOT NULL DEFAULT 0,
    finish REAL,
    held INTEGER NOT NULL DEFAULT 0,
    last_pass REAL,
    last_change REAL,
    mark TEXT
) STRICT;
CREATE TABLE rows (
    source INTEGER NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    recipe INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    state INTEGER NOT NULL,
    reason TEXT,
    digest BLOB NOT NULL,
    ids TEXT NOT NULL,
    PRIMARY KEY (source, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX rows_by_state ON rows (source, state, reason) WHERE state <> 0;
CREATE TABLE doomed (
    number INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    id TEXT,
    path TEXT
) STRICT;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""
