"""Engines that fetch or recall wrongly."""

from __future__ import annotations

from dataclasses import replace

from syncd.memory import (
    Citation,
    FetchMode,
    FetchPage,
    FetchRequest,
    ListPage,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    errors,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken.table import (
    HYBRID,
    PLAIN_FIELDS,
    each,
    fault,
    without,
)


@fault("modes", "undeclared keyword", fetch_modes=HYBRID)
class ServesUndeclaredModes(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        return ReferenceEngine.fetch(_everything_of(self), request)


def _everything_of(engine: ReferenceEngine) -> ReferenceEngine:
    other = ReferenceEngine()
    other._items, other._places = engine._items, engine._places
    return other


@fault("modes", "InvalidRequest", fetch_modes=HYBRID)
class ValidatesBeforeTheMode(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        request.validate()
        return super().fetch(request)


@each("filters_fetch", "field", (*PLAIN_FIELDS, "workspace"))
class FetchIgnoresAField(ReferenceEngine):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def fetch(self, request: FetchRequest) -> FetchPage:
        return super().fetch(replace(request, filter=without(request.filter, self.field)))


@each("filters_fetch", "mode", [mode.value for mode in FetchMode])
class OneModeIgnoresFilters(ReferenceEngine):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def fetch(self, request: FetchRequest) -> FetchPage:
        if request.mode == self.mode:
            only = MetaFilter(workspace=request.filter.workspace)
            request = replace(request, filter=only)
        return super().fetch(request)


@fault("filters_fetch", "keyword")
class FindsNothing(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        super().fetch(request)
        return FetchPage(())


class Ranked(ReferenceEngine):
    """Base of engines that alter the pages of a fetch."""

    def rerank(self, request: FetchRequest, page: FetchPage) -> FetchPage:
        return page

    def fetch(self, request: FetchRequest) -> FetchPage:
        return self.rerank(request, super().fetch(request))


@fault("fetch_pages", "repeats an item")
class RepeatsAcrossPages(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        page = super().fetch(request)
        if request.cursor is None:
            self.first = page.hits[:1]
            return page
        return replace(page, hits=self.first + page.hits[1:])


@fault("fetch_pages", "repeats a cursor")
class FetchesPageOneForEver(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        return super().fetch(replace(request, cursor=None))


@fault("fetch_pages", "more than 7")
class FetchIgnoresTheLimit(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        return super().fetch(replace(request, limit=request.limit and 1000))


@fault("fetch_pages", "by pages")
class LosesAHitBetweenPages(Ranked):
    def rerank(self, request: FetchRequest, page: FetchPage) -> FetchPage:
        return replace(page, hits=page.hits[1:]) if request.cursor else page


@fault("fetch_pages", "not best first")
class WorstFirst(Ranked):
    def rerank(self, request: FetchRequest, page: FetchPage) -> FetchPage:
        return replace(page, hits=page.hits[::-1])


@fault("fetch_pages", "text")
class FetchesSnippets(Ranked):
    def rerank(self, request: FetchRequest, page: FetchPage) -> FetchPage:
        return replace(page, hits=tuple(replace(hit, text=hit.text[:9]) for hit in page.hits))


@fault("reads_refused", "a list with limit 0")
class ListsNothing(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        return super().list(request) if request.limit else ListPage(())


@fault("reads_refused", "keyword fetch of ' ")
class FetchesForBlanks(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        return super().fetch(request) if request.query.strip() else FetchPage(())


@fault("reads_refused", "limit 0")
class FetchesNothing(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        self.descriptor.ensure_mode(request.mode)
        return super().fetch(request) if request.limit else FetchPage(())


@fault("reads_refused", "a recall of ' ")
class RecallsForBlanks(ReferenceEngine):
    def recall(self, request: RecallRequest) -> RecallAnswer:
        return super().recall(request) if request.question.strip() else RecallAnswer("", ())


@fault("cursors", "a list with cursor")
class ListsWithAnyCursor(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        try:
            return super().list(request)
        except errors.InvalidRequest:
            return super().list(replace(request, cursor=None))


@fault("cursors", "fetch with cursor")
class FetchesWithAnyCursor(ReferenceEngine):
    def fetch(self, request: FetchRequest) -> FetchPage:
        known = request.cursor is None or ":" in request.cursor
        return super().fetch(request if known else replace(request, cursor=None))


@fault("cursors", "ValueError")
class CrashesOnACursor(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        if request.cursor is not None:
            int(request.cursor.rpartition(":")[2])
        return super().list(request)


class Recalled(ReferenceEngine):
    """Base of engines that alter what recall answers."""

    def cite(self, request: RecallRequest, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
        return cited

    def recall(self, request: RecallRequest) -> RecallAnswer:
        answer = super().recall(request)
        return replace(answer, citations=self.cite(request, answer.citations))


@fault("recall", "cites more than 2")
class CitesTooMany(Recalled):
    def cite(self, request: RecallRequest, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
        return cited + cited[:1]


@fault("recall", "does not list")
class CitesTheUnknown(Recalled):
    def cite(self, request: RecallRequest, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
        return tuple(replace(citation, id="unknown") for citation in cited)


@fault("recall", "does not list")
class CitesOutsideTheFilter(ReferenceEngine):
    def recall(self, request: RecallRequest) -> RecallAnswer:
        only = MetaFilter(workspace=request.filter.workspace)
        return super().recall(replace(request, filter=only))


@fault("recall", "differs from the item")
class CitesWithoutMetadata(Recalled):
    def cite(self, request: RecallRequest, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
        return tuple(replace(citation, meta=MemoryMeta()) for citation in cited)
