"""Checks of health, store, store_many, list and get."""

from __future__ import annotations

from dataclasses import replace

from syncd.memory.conformance import specimens
from syncd.memory.conformance.trial import (
    Trial,
    refused,
    require,
    require_hit,
    require_same,
)
from syncd.memory.instant import Instant
from syncd.memory.items import Conversation, Document, Item, Learning, LearningKind, Role, Turn, Uri
from syncd.memory.meta import MemoryMeta
from syncd.memory.requests import MAX_GET_IDS, MAX_STORE_MANY, GetRequest, StoreReceipt

_LATER = Instant.parse("2026-02-03T04:05:06Z")
_UNKNOWN = "0" * 40


def health(trial: Trial) -> None:
    """The engine reports that it serves."""
    answer = trial.engine.health()
    require(answer.is_serving(), f"the engine is {answer.state}: {answer.reason}")


def paging(trial: Trial) -> None:
    """Two a page, a listing ends, repeats no cursor, and names every item once."""
    wanted = sorted(trial.trio)
    require_same("two a page", sorted({hit.id for hit in trial.listed(trial.base, 2)}), wanted)


def kinds(trial: Trial) -> None:
    """One item of each kind lists once, with the kind, meta, text and confidence it had."""
    require_same("ids of three items", len(trial.trio), 3)
    hits = trial.listed(trial.base, 2)
    require_same("items listed", sorted(hit.id for hit in hits), sorted(trial.trio))
    for hit in hits:
        require_hit(hit, trial.trio[hit.id], f"the {trial.trio[hit.id].kind}")
        require_same("a listing's score", hit.score, 0.0)


def replay(trial: Trial) -> None:
    """An identical item is a replay, whenever observed; a change to anything else is a new item."""
    for id, item in trial.trio.items():
        again = replace(item, meta=replace(item.meta, observed_at=_LATER))
        for copy in (item, again):
            receipt = trial.engine.store(copy)
            wanted = StoreReceipt(id, replayed=True)
            require_same(f"the {item.kind} stored again", receipt, wanted)
    trial.require_listed(trial.base, set(trial.trio), "after replays, the run")
    document = next(item for item in trial.trio.values() if isinstance(item, Document))
    edited = replace(document, meta=replace(document.meta, tags=document.meta.tags[:-1]))
    receipt = trial.engine.store(edited)
    require(not receipt.replayed, "an item with other tags is taken for a replay")
    trial.require_listed(trial.base, {*trial.trio, receipt.id}, "after an edit, the run")
    trial.forgotten(receipt.id)


def store_many(trial: Trial) -> None:
    """Receipts in item order, repeats are replays, and everything lists on return."""
    before = trial.ids()
    a, b, c = (specimens.document(trial.workspace, f"batch {n}") for n in range(3))
    a_later = replace(a, meta=replace(a.meta, observed_at=_LATER))
    batch: list[Item] = [b, a, a_later, c]
    receipts = trial.engine.store_many(batch)
    texts = {hit.id: hit.text for hit in trial.listed(trial.base)}
    replays = [receipt.replayed for receipt in receipts]
    require_same("replays in a batch", replays, [False, False, True, False])
    listed = [texts.get(receipt.id) for receipt in receipts]
    require_same("texts by receipt", listed, [item.render_text() for item in batch])
    require_same("items more than before", len(texts.keys() - before), 3)
    again = [StoreReceipt(receipt.id, replayed=True) for receipt in receipts]
    require_same("the batch stored again", trial.engine.store_many(batch), again)
    trial.require_listed(trial.base, set(texts), "after a repeated batch, the run")


def batches_refused(trial: Trial) -> None:
    """An empty batch, one of 101 and one with an invalid item are refused whole."""
    before = trial.ids()
    valid = [specimens.document(trial.workspace, f"refused {n}") for n in range(MAX_STORE_MANY + 1)]
    blank = replace(valid[1], body=" \n")
    with refused("an empty batch"):
        trial.engine.store_many([])
    with refused(f"a batch of {len(valid)}"):
        trial.engine.store_many(valid)
    with refused("a batch with an invalid item"):
        trial.engine.store_many([valid[0], blank, valid[2]])
    trial.require_listed(trial.base, before, "after refused batches, the run")


def items_refused(trial: Trial) -> None:
    """What `validate()` refuses, `store` refuses, and nothing is written."""
    before = trial.ids()
    meta = MemoryMeta(workspace=trial.workspace)
    fact = LearningKind.FACT
    invalid: dict[str, Item] = {
        "a blank document": Document(" \u2003\n", meta=meta),
        "a document whose body is a uri": Document(Uri("file:///a"), meta=meta),
        "a conversation without turns": Conversation((), meta),
        "a conversation with a blank turn": Conversation((Turn(Role.USER, "\t"),), meta),
        "a blank learning": Learning("", fact, 0.5, meta=meta),
        "a confidence over 1": Learning("text", fact, 1.5, meta=meta),
        "a confidence below 0": Learning("text", fact, -0.5, meta=meta),
        "a confidence that is no number": Learning("text", fact, float("nan"), meta=meta),
    }
    for what, item in invalid.items():
        with refused(what):
            trial.engine.store(item)
    trial.require_listed(trial.base, before, "after refused items, the run")


def get(trial: Trial) -> None:
    """Whole items in the order asked, each once; unknown ids left out without an error."""
    a, b, c = trial.trio
    hits = trial.got(c, _UNKNOWN, a, "no such id", c, b, a)
    require_same("ids read", [hit.id for hit in hits], [c, a, b])
    for hit in hits:
        require_hit(hit, trial.trio[hit.id], f"the {trial.trio[hit.id].kind}")
    require_same("items of unknown ids", trial.got(_UNKNOWN), [])


def gets_refused(trial: Trial) -> None:
    """No ids, over 200 and a blank one are refused."""
    too_many = tuple(f"id-{n}" for n in range(MAX_GET_IDS + 1))
    known = next(iter(trial.trio))
    for what, ids in {"no ids": (), "201 ids": too_many, "a blank id": (known, " ")}.items():
        with refused(f"a get of {what}"):
            trial.engine.get(GetRequest(ids))
