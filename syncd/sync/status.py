"""What is known of the sources without asking anybody: read from the ledger (contract 6)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from syncd.sync.ledger import Ledger, SourceRecord
from syncd.sync.rows import State


def source_status(ledger: Ledger | None, source: str, kind: str) -> dict[str, Any]:
    """One entry of `sources` in `status --json`; a source never met has nothing yet."""
    record = _record(ledger, source)
    if ledger is None or record is None:
        return _entry(source, kind, "idle", "never synced", 0, 0, 0)
    files, items = ledger.count(source)
    out = _entry(source, kind, record.state, record.reason, files, items, record.pending)
    waiting = ledger.explained(source, State.SET_ASIDE) + ledger.explained(source, State.UNREADABLE)
    out["set_aside"] = [{"path": path, "reason": reason} for path, reason in waiting]
    out["skipped"] = ledger.reasons(source, State.LEFT_OUT)
    if record.state == "syncing" and record.finish is not None:
        out["estimate"] = max(1, round(record.finish - time.time()))
    for name, at in (("last_pass", record.last_pass), ("last_change", record.last_change)):
        if at is not None:
            out[name] = _time(at)
    return out


def orphaned_sources(ledger: Ledger | None, configured: Sequence[str]) -> list[str]:
    """Sources that memory has items of although the configuration does not name them."""
    if ledger is None:
        return []
    return [
        record.id
        for record in ledger.sources()
        if record.id not in configured and ledger.count(record.id)[0]
    ]


def _record(ledger: Ledger | None, source: str) -> SourceRecord | None:
    records = ledger.sources() if ledger else []
    return next((record for record in records if record.id == source), None)


def _entry(
    source: str, kind: str, state: str, reason: str | None, files: int, items: int, pending: int
) -> dict[str, Any]:
    out: dict[str, Any] = {"id": source, "kind": kind, "state": state}
    if reason is not None:
        out["reason"] = reason
    counts = {"files": files, "items": items, "pending": pending}
    return {**out, **counts, "set_aside": [], "skipped": {}}


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
