"""Checks of filters, fetch, recall, cursors and what is refused of them."""

from __future__ import annotations

from collections.abc import Iterator

from syncd.memory.conformance import specimens
from syncd.memory.conformance.trial import Trial, refused, require, require_same
from syncd.memory.errors import Unsupported
from syncd.memory.filters import MetaFilter
from syncd.memory.requests import FetchMode, FetchRequest, Hit, ListRequest, RecallRequest

_MANY = 100
_FOREIGN = "a cursor of another engine"


def _selections(trial: Trial) -> Iterator[tuple[str, MetaFilter, set[str]]]:
    """Each filter on a single field, and the ids of the items that carry its value."""
    for case in specimens.cases(trial.workspace):
        carriers = {trial.specimens[item.render_text()] for item in case.carriers}
        for filter in case.filters:
            yield case.field, filter, carriers
    yield "workspace", trial.base, trial.ids() | set(trial.specimens.values())
    for alike in (trial.workspace + "x", trial.workspace[:-1], trial.workspace.upper()):
        yield "workspace", MetaFilter(workspace=alike), set()


def filters(trial: Trial) -> None:
    """A filter on each single field lists exactly the items that carry its value."""
    for field, filter, carriers in _selections(trial):
        trial.require_listed(filter, carriers, f"a filter on {field}")


def filters_fetch(trial: Trial) -> None:
    """In every declared mode, a filtered fetch finds what the same filter lists."""
    for mode in trial.modes:
        for field, filter, carriers in _selections(trial):
            wanted = sorted(carriers)

            def ask(mode: FetchMode = mode, filter: MetaFilter = filter) -> list[str]:
                hits = trial.fetched(specimens.WORD, mode, filter, _MANY)
                return sorted(hit.id for hit in hits)

            what = f"a filter on {field} fetches by {mode}"
            require_same(what, trial.settled(ask, wanted), wanted)


def fetch_pages(trial: Trial) -> None:
    """Hits are whole items, best first; pages repeat nothing and lose nothing."""
    listed = {hit.id: hit for hit in trial.listed(trial.base)}
    for mode in trial.modes:
        whole = trial.fetched(specimens.WORD, mode, trial.base, _MANY)
        paged = trial.fetched(specimens.WORD, mode, trial.base, 7)
        for what, hits in (("in one page", whole), ("seven a page", paged)):
            _require_ranked(hits, listed, f"{mode} fetch {what}")
        ids = sorted(hit.id for hit in paged)
        require_same(f"{mode} fetch by pages", ids, sorted(hit.id for hit in whole))


def _require_ranked(hits: list[Hit], listed: dict[str, Hit], what: str) -> None:
    require(hits, f"{what} finds nothing")
    ids = [hit.id for hit in hits]
    require(len(ids) == len(set(ids)), f"{what} repeats an item")
    scores = [hit.score for hit in hits]
    require(scores == sorted(scores, reverse=True), f"{what} is not best first: {scores}")
    for hit in hits:
        same = listed.get(hit.id)
        require(same is not None, f"{what} finds an item that list does not")
        require_same(f"{what}: {hit.id}", _content(hit), _content(same))


def _content(hit: Hit | None) -> tuple[object, ...]:
    return (hit.kind, hit.text, hit.meta, hit.confidence) if hit else ()


def modes(trial: Trial) -> None:
    """A mode that is not declared is Unsupported, before anything else is looked at."""
    for mode in FetchMode:
        if mode in trial.modes:
            continue
        for query, limit in ((specimens.WORD, 10), (" ", 10), (specimens.WORD, 0)):
            with refused(f"undeclared {mode} fetch of {query!r}, limit {limit},", Unsupported):
                trial.engine.fetch(FetchRequest(query, mode, trial.base, limit))


def reads_refused(trial: Trial) -> None:
    """A blank query or question, and a limit of 0, are refused."""
    with refused("a list with limit 0"):
        trial.engine.list(ListRequest(trial.base, 0))
    for query, limit in ((" \n\u2003", 10), ("", 10), (specimens.WORD, 0)):
        for mode in trial.modes:
            with refused(f"{mode} fetch of {query!r}, limit {limit},"):
                trial.engine.fetch(FetchRequest(query, mode, trial.base, limit))
        with refused(f"a recall of {query!r}, limit {limit},"):
            trial.engine.recall(RecallRequest(query, trial.base, limit))


def cursors(trial: Trial) -> None:
    """A cursor that the engine did not give out is refused."""
    for cursor in (_FOREIGN, ""):
        with refused(f"a list with cursor {cursor!r}"):
            trial.engine.list(ListRequest(trial.base, 2, cursor))
        for mode in trial.modes:
            with refused(f"{mode} fetch with cursor {cursor!r}"):
                trial.engine.fetch(FetchRequest(specimens.WORD, mode, trial.base, 2, cursor))


def recall(trial: Trial) -> None:
    """At most `limit` citations, each of an item inside the filter that list and get resolve."""
    one_field = next(iter(specimens.cases(trial.workspace))).filters[0]
    for filter, limit in ((trial.base, 2), (trial.base, 1), (one_field, 5)):
        answer = trial.engine.recall(RecallRequest(f"which {specimens.WORD}?", filter, limit))
        require(len(answer.citations) <= limit, f"recall cites more than {limit} items")
        listed = {hit.id: hit for hit in trial.listed(filter)}
        for citation in answer.citations:
            hit = listed.get(citation.id)
            require(hit is not None, f"recall cites {citation.id}, which the filter does not list")
            got = [found.id for found in trial.got(citation.id)]
            require_same("items got by a cited id", got, [citation.id])
            same = hit and (citation.kind, citation.meta) == (hit.kind, hit.meta)
            require(same, f"the citation of {citation.id} differs from the item")
