"""The tables of a memory file, as numbered migrations.

Metadata and text lie in two tables: a filter or a facet reads the slim rows only. `search` keeps
no text of its own (content=''), so a row is removed from it by naming the same words again.
"""

from __future__ import annotations

APPLICATION_ID = 0x73796E63  # "sync"

META_COLUMNS = (
    "kind",
    "namespace",
    "workspace",
    "folder",
    "file_path",
    "language",
    "repo",
    "commit_hash",
    "url",
    "thread_id",
    "turns_first",
    "turns_last",
    "agent_id",
    "tool_name",
    "tool_id",
    "source_kind",
    "source_id",
    "observed_s",
    "observed_ns",
    "tags",
)
SEARCH_COLUMNS = ("title", "names", "body", "parts")
RANK = "bm25(search, 6.0, 4.0, 1.0, 1.0)"

_ITEMS = """
CREATE TABLE items (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  workspace TEXT,
  folder TEXT,
  file_path TEXT,
  language TEXT,
  repo TEXT,
  commit_hash TEXT,
  url TEXT,
  thread_id TEXT,
  turns_first INTEGER,
  turns_last INTEGER,
  agent_id TEXT,
  tool_name TEXT,
  tool_id TEXT,
  source_kind TEXT NOT NULL,
  source_id TEXT,
  observed_s INTEGER,
  observed_ns INTEGER,
  tags TEXT
)
"""

_TEXTS = """
CREATE TABLE texts (
  seq INTEGER PRIMARY KEY,
  title TEXT,
  mime TEXT,
  extra TEXT,
  body TEXT NOT NULL
)
"""

# The stemmer lets `parsing` find `parse`; diacritics go, so that `cafe` finds `café`.
_SEARCH = f"""
CREATE VIRTUAL TABLE search USING fts5(
  {", ".join(SEARCH_COLUMNS)}, content='', tokenize='porter unicode61 remove_diacritics 2'
)
"""

# Nearly all items are of these, so that an index on them would be large and never of use.
USUAL_KINDS = frozenset({"document"})
USUAL_SOURCES = frozenset({"folder", "github"})
UNUSUAL_KIND = "items.kind <> 'document'"
UNUSUAL_SOURCE = "items.source_kind NOT IN ('folder', 'github')"

_PARTIAL = ("repo", "commit_hash", "url", "thread_id", "agent_id", "tool_name")

_FIRST = (
    _ITEMS,
    _TEXTS,
    "CREATE TABLE tags (tag TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (tag, seq))"
    " WITHOUT ROWID",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    _SEARCH,
    # Twice the segments to look into, a fifth less to write in a first pass.
    "INSERT INTO search(search, rank) VALUES ('automerge', 8)",
    "INSERT INTO facts VALUES ('memory_id', randomblob(16))",
    "CREATE INDEX items_source ON items(source_id)",
    # The source is in it so that a prefix of one source is decided without reading the rows.
    "CREATE INDEX items_path ON items(file_path, source_id)",
    "CREATE INDEX items_folder ON items(folder)",
    "CREATE INDEX items_workspace ON items(workspace)",
    "CREATE INDEX items_namespace ON items(namespace)",
    f"CREATE INDEX items_kind ON items(kind) WHERE {UNUSUAL_KIND.replace('items.', '')}",
    "CREATE INDEX items_source_kind ON items(source_kind)"
    f" WHERE {UNUSUAL_SOURCE.replace('items.', '')}",
    "CREATE INDEX items_observed ON items(observed_s, observed_ns)",
    *(f"CREATE INDEX items_{name} ON items({name}) WHERE {name} IS NOT NULL" for name in _PARTIAL),
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
VERSION = len(MIGRATIONS)
