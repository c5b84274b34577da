"""Compares memory with the disk item by item, without trusting the ledger."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from syncd.memory import Document, Hit, MemoryEngine, MetaFilter
from syncd.memory.wire import compact
from syncd.sources import LeftOut, Outcome, Reading, Seen, Sighting, Unreadable
from syncd.sources.source import Source
from syncd.sync.ledger import Ledger
from syncd.sync.passes import Pass
from syncd.sync.reconcile import listed


@dataclass(slots=True)
class Findings:
    """Paths of one source by what is wrong with them; `strangers` are ids without a path."""

    source: str
    files: int = 0
    items: int = 0
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    orphaned: list[str] = field(default_factory=list)
    duplicate: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    @property
    def in_step(self) -> bool:
        return not (self.missing or self.stale or self.orphaned or self.duplicate or self.strangers)

    def as_json(self) -> dict[str, Any]:
        out = {name: getattr(self, name) for name in self.__slots__}
        return {**out, "in_step": self.in_step}


def verify(source: Source, engine: MemoryEngine) -> Findings:
    """What is wrong with memory, from a listing and a reading of every file.

    Raises SourceUnavailable and the engine's errors.
    """
    source.probe()
    findings = Findings(source.id)
    memory = _remembered(source, engine, findings)
    together: list[str] = []
    for seen in source.scan():
        if isinstance(seen, Sighting):
            if source.judge(seen) is not None:
                continue
            if source.defers(seen.path):
                together.append(seen.path)
            else:
                _check(seen.path, source.read(seen.path), memory, findings)
        elif not isinstance(seen, LeftOut):
            findings.unread.append(seen.path)
            _excuse(seen, memory)
    for path, became in source.read_many(together) if together else ():
        _check(path, became, memory, findings)
    findings.orphaned = sorted(memory)
    return findings


def repair(order: Pass, findings: Findings) -> None:
    """Mend what `verify` found, under the rules of every pass: holds still hold."""
    ledger: Ledger = order.ledger
    with ledger.transaction():
        ledger.distrust(findings.source, findings.missing + findings.stale)
        ledger.doom_ids(findings.source, findings.strangers)
        ledger.note(findings.source, complete=0)
    order.run()


def _remembered(source: Source, engine: MemoryEngine, findings: Findings) -> dict[str, list[bytes]]:
    memory: dict[str, list[bytes]] = defaultdict(list)
    for hit in listed(engine, MetaFilter(source_id=source.id)):
        findings.items += 1
        path = source.key_of(hit.meta)
        if path is None:
            findings.strangers.append(hit.id)
        else:
            memory[path].append(_of_hit(hit))
    return memory


def _check(
    path: str, became: Outcome | None, memory: dict[str, list[bytes]], findings: Findings
) -> None:
    if isinstance(became, Unreadable):
        findings.unread.append(path)
        memory.pop(path, None)
    if not isinstance(became, Reading):
        return
    findings.files += 1
    wanted = [_of_item(item) for item in became.items]
    there = memory.pop(path, [])
    if not there:
        findings.missing.append(path)
    elif not set(wanted) <= set(there):
        findings.stale.append(path)
    elif len(there) > len(wanted):
        findings.duplicate.append(path)


def _excuse(blind: Seen, memory: dict[str, list[bytes]]) -> None:
    """What lies below an unreadable directory is not judged."""
    top = blind.path.rstrip("/")
    for path in list(_below(memory, top)):
        del memory[path]


def _below(memory: dict[str, list[bytes]], top: str) -> Iterator[str]:
    return (p for p in memory if top == "" or p == top or p.startswith(top + "/"))


def _of_hit(hit: Hit) -> bytes:
    text = f"{hit.kind}\0{compact(hit.meta.as_json(observed=False))}\0{hit.text}"
    return hashlib.sha256(text.encode()).digest()[:16]


def _of_item(item: Document) -> bytes:
    meta = compact(item.meta.as_json(observed=False))
    text = f"{item.kind}\0{meta}\0{item.render_text()}"
    return hashlib.sha256(text.encode()).digest()[:16]
