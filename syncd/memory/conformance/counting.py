"""Checks of explore: its counts are what list shows, and each bucket leads there."""

from __future__ import annotations

from collections import Counter

from syncd.memory.conformance.trial import Trial, refused, require, require_same
from syncd.memory.facets import Facet
from syncd.memory.requests import Bucket, ExplorePage, ExploreRequest, Hit

_PREFIXES = (Facet.FOLDER, Facet.FILE_PATH)


def _explored(trial: Trial, facet: Facet, limit: int = 500) -> ExplorePage:
    return trial.engine.explore(ExploreRequest(facet, trial.base, limit))


def _counted(hits: list[Hit], facet: Facet) -> ExplorePage:
    values = [facet.values(hit.kind, hit.meta) for hit in hits]
    counts = Counter(value for some in values for value in some)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    buckets = tuple(Bucket(value, count) for value, count in ordered)
    return ExplorePage(facet, buckets, len(hits), values.count(()), 0, False)


def explore_counts(trial: Trial) -> None:
    """For all 14 facets, counts agree with list; largest bucket first, ties by value."""
    require(trial.specimens and trial.trio, "nothing is stored to be counted")
    hits = trial.listed(trial.base)
    for facet in Facet:
        page, wanted = _explored(trial, facet), _counted(hits, facet)
        require_same(f"{facet} buckets", page.buckets, wanted.buckets)
        require_same(f"{facet} page", page, wanted)


def explore_narrow(trial: Trial) -> None:
    """Each bucket narrows to its count; a path narrows to what lies below it, too."""
    hits = trial.listed(trial.base)
    for facet in Facet:
        for bucket in _explored(trial, facet).buckets:
            narrowed = facet.narrow(trial.base, bucket.value)
            admitted = {hit.id for hit in hits if narrowed.matches(hit.kind, hit.meta)}
            what = f"{facet} narrowed to {bucket.value!r}"
            trial.require_listed(narrowed, admitted, what)
            as_counted = facet in _PREFIXES or len(admitted) == bucket.count
            require(as_counted, f"{what} lists {len(admitted)} items instead of {bucket.count}")


def explore_limit(trial: Trial) -> None:
    """A page is cut to its limit and says how many values were cut; wrong limits are refused."""
    whole = _explored(trial, Facet.FILE_PATH)
    for limit in (1, 3, len(whole.buckets)):
        page = _explored(trial, Facet.FILE_PATH, limit)
        require_same(f"{limit} buckets", page.buckets, whole.buckets[:limit])
        require_same("buckets cut", page.more_buckets, len(whole.buckets) - limit)
        counts = (page.total, page.missing, page.truncated)
        require_same("counts of a cut page", counts, (whole.total, whole.missing, False))
    for limit, scan_limit in ((0, 5000), (501, 5000), (50, 0), (50, 50_001)):
        with refused(f"an explore with limit {limit} and scan_limit {scan_limit}"):
            trial.engine.explore(ExploreRequest(Facet.KIND, trial.base, limit, scan_limit))
