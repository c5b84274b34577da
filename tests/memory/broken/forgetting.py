"""Engines that forget wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from syncd.memory import (
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    Item,
    MetaFilter,
    StoreReceipt,
    errors,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken.table import (
    PLAIN_FIELDS,
    each,
    fault,
    without,
)


class Forgetful(ReferenceEngine):
    """Base of engines that misunderstand what to forget."""

    def aim(self, target: ForgetTarget) -> ForgetTarget:
        return target

    def forget(self, target: ForgetTarget) -> ForgetReport:
        target.validate()
        return super().forget(self.aim(target))


@fault("forget_at_node", "at one node")
class ForgetIgnoresReach(Forgetful):
    def aim(self, target: ForgetTarget) -> ForgetTarget:
        filter = target.filter
        return replace(target, filter=without(filter, "reach")) if filter else target


@fault("forget_at_node", "at one node")
class ForgetsBelowTheNode(Forgetful):
    def aim(self, target: ForgetTarget) -> ForgetTarget:
        if target.filter is None or target.filter.reach is None:
            return target
        reach = replace(target.filter.reach, descendants=True)
        return replace(target, filter=replace(target.filter, reach=reach))


@fault("forget_at_node", "by id")
class ForgetsTwins(Forgetful):
    def aim(self, target: ForgetTarget) -> ForgetTarget:
        named = [self._items[id] for id in target.ids or () if id in self._items]
        texts = {item.render_text() for item in named if not item.meta.namespace.is_root}
        twins = [id for id, item in self._items.items() if item.render_text() in texts]
        return ForgetTarget(ids=(*(target.ids or ()), *twins)) if twins else target


class Lax(ReferenceEngine):
    """Base of engines that accept a forget which they should refuse."""

    def accepts(self, target: ForgetTarget) -> bool:
        return False

    def forget(self, target: ForgetTarget) -> ForgetReport:
        return ForgetReport(0) if self.accepts(target) else super().forget(target)


@fault("forgets_refused", "an empty filter")
class EmptyFilterForgetsAll(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        if target.filter is not None and target.filter.is_empty():
            target = ForgetTarget(ids=tuple(self._items))
        return super().forget(target)


@fault("forgets_refused", "no ids")
class AcceptsNoIds(Lax):
    def accepts(self, target: ForgetTarget) -> bool:
        return target.ids == ()


@fault("forgets_refused", "neither")
class AcceptsNeither(Lax):
    def accepts(self, target: ForgetTarget) -> bool:
        return target.ids is None and target.filter is None


@fault("forgets_refused", "both")
class AcceptsBoth(Lax):
    def accepts(self, target: ForgetTarget) -> bool:
        return target.ids is not None and target.filter is not None


@fault("forgets_refused", "the run lists")
class RefusesTooLate(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        if target.filter is not None and target.filter.is_empty():
            self._items.clear()
        return super().forget(target)


@fault("forget_ids", "known among 5")
class CountsUnknownIds(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        report = super().forget(target)
        return ForgetReport(len(set(target.ids))) if target.ids else report


@fault("forget_ids", "known among 5")
class CountsRepeatedIds(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        known = sum(id in self._items for id in target.ids or ())
        report = super().forget(target)
        return ForgetReport(known) if target.ids else report


@fault("forget_ids", "by id lists")
class ForgetsOnlyTheFirstId(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        if not target.ids or target.filter:
            return super().forget(target)
        known = {id for id in target.ids if id in self._items}
        super().forget(ForgetTarget(ids=target.ids[:1]))
        return ForgetReport(len(known))


@fault("forget_ids", "taken for a replay")
class RemembersWhatItForgot(ReferenceEngine):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def store(self, item: Item) -> StoreReceipt:
        receipt = super().store(item)
        replayed = receipt.id in self.seen
        self.seen.add(receipt.id)
        return replace(receipt, replayed=replayed)


@fault("forget_ids", "got after a forget")
class GetsWhatItForgot(ReferenceEngine):
    def __init__(self) -> None:
        super().__init__()
        self.read: dict[str, Hit] = {}

    def get(self, request: GetRequest) -> list[Hit]:
        for id in set(request.ids) & self._items.keys():
            self.read[id] = next(hit for hit in self._admitted(MetaFilter()) if hit.id == id)
        return super().get(request) if request.reach else self._kept(request)

    def _kept(self, request: GetRequest) -> list[Hit]:
        request.validate()
        return [self.read[id] for id in dict.fromkeys(request.ids) if id in self.read]

    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        receipts = super().store_many(items)
        self.get(GetRequest(tuple(receipt.id for receipt in receipts)))
        return receipts


@fault("forget_filter", "below a path that is none")
class ForgetsByBarePrefix(Forgetful):
    def aim(self, target: ForgetTarget) -> ForgetTarget:
        prefix = target.filter.file_path if target.filter else None
        if prefix is None or target.filter is None:
            return target
        rest = self._admitted(without(target.filter, "file_path"))
        near = [hit.id for hit in rest if (hit.meta.file_path or "").startswith(prefix.rstrip("/"))]
        return ForgetTarget(ids=tuple(near) or ("none",))


@fault("forget_filter", "below a path")
class ForgetsOnlyThePathItself(Forgetful):
    def aim(self, target: ForgetTarget) -> ForgetTarget:
        path = target.filter.file_path if target.filter else None
        if path is None or target.filter is None:
            return target
        hits = self._admitted(target.filter)
        exact = [hit.id for hit in hits if hit.meta.file_path == path.rstrip("/")]
        return ForgetTarget(ids=tuple(exact) or ("none",))


@fault("forget_filter", "below a path")
class CountsAFilterAsOne(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        report = super().forget(target)
        return ForgetReport(min(1, report.forgotten)) if target.filter else report


_FORGET_FIELDS = [name for name in PLAIN_FIELDS if name not in ("file_path", "thread_id")]


@each("forget_fields", "field", _FORGET_FIELDS)
class ForgetIgnoresAField(Forgetful):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def aim(self, target: ForgetTarget) -> ForgetTarget:
        # Where reach or path decide, other checks look.
        if target.filter is None or target.filter.reach or target.filter.file_path:
            return target
        return replace(target, filter=without(target.filter, self.field))


@fault("clean_up", "leaves")
class KeepsTheLastItem(Forgetful):
    def aim(self, target: ForgetTarget) -> ForgetTarget:
        filter = target.filter
        if filter is None or filter != MetaFilter(workspace=filter.workspace):
            return target
        return ForgetTarget(ids=tuple(hit.id for hit in self._admitted(filter)[:-1]))


@fault("clean_up", "Unavailable")
class CannotCleanUp(ReferenceEngine):
    def forget(self, target: ForgetTarget) -> ForgetReport:
        filter = target.filter
        alone = filter is not None and filter == MetaFilter(workspace=filter.workspace)
        if alone and not filter.is_empty() and target.ids is None:
            raise errors.Unavailable("the disk is full")
        return super().forget(target)
