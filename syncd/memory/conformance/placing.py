"""Checks of namespaces and reach: whoever asks sees what they may, and nothing of a sibling."""

from __future__ import annotations

from collections.abc import Iterator

from syncd.memory.conformance import specimens
from syncd.memory.conformance.specimens import BELOW_ONE, ONE, ROOT, TWO
from syncd.memory.conformance.trial import Trial, require_same
from syncd.memory.facets import Facet
from syncd.memory.filters import MetaFilter
from syncd.memory.namespace import Reach
from syncd.memory.requests import Bucket, ExploreRequest, GetRequest

_SEEN = {
    Reach.of(ROOT): (ROOT,),
    Reach.of(ONE): (ROOT, ONE),
    Reach.of(TWO): (ROOT, TWO),
    Reach.of(BELOW_ONE): (ROOT, ONE, BELOW_ONE),
    Reach.exact(ROOT): (ROOT,),
    Reach.exact(ONE): (ONE,),
    Reach.exact(BELOW_ONE): (BELOW_ONE,),
    Reach.subtree(ONE): (ONE, BELOW_ONE),
    Reach.subtree(TWO): (TWO,),
    Reach.subtree(ROOT): (ROOT, ONE, TWO, BELOW_ONE),
    Reach(ONE, inherit=True, descendants=True): (ROOT, ONE, BELOW_ONE),
    None: (ROOT, ONE, TWO, BELOW_ONE),
}


def _sights(trial: Trial) -> Iterator[tuple[Reach | None, set[str]]]:
    """Each reach, and the ids of the items that it admits."""
    for reach, admitted in _SEEN.items():
        yield reach, {trial.nodes[str(node)] for node in admitted}


def _at_nodes(trial: Trial, reach: Reach | None) -> MetaFilter:
    return trial.only(reach=reach, tags_any=("nodes",))


def twins(trial: Trial) -> None:
    """The same text at two nodes is two items."""
    require_same("ids of one text at four nodes", len(set(trial.nodes.values())), 4)
    trial.require_listed(_at_nodes(trial, None), set(trial.nodes.values()), "one text at 4 nodes")


def reach_list(trial: Trial) -> None:
    """list shows a node its own, what it inherits, and below it only what it asks for."""
    for reach, ids in _sights(trial):
        trial.require_listed(_at_nodes(trial, reach), ids, _named(reach))


def reach_get(trial: Trial) -> None:
    """get leaves out what lies outside the reach, as if it did not exist."""
    asked = tuple(trial.nodes.values())
    for reach, ids in _sights(trial):
        hits = trial.engine.get(GetRequest(asked, reach))
        wanted = [id for id in asked if id in ids]
        require_same(f"{_named(reach)} gets", [hit.id for hit in hits], wanted)


def reach_fetch(trial: Trial) -> None:
    """Every declared fetch mode sees what list sees."""
    for mode in trial.modes:
        for reach, ids in _sights(trial):
            filter, wanted = _at_nodes(trial, reach), sorted(ids)
            got = trial.settled(
                lambda mode=mode, filter=filter: sorted(  # type: ignore[misc]
                    hit.id for hit in trial.fetched(specimens.WORD, mode, filter, 10)
                ),
                wanted,
            )
            require_same(f"{_named(reach)} fetches by {mode}", got, wanted)


def namespace_facet(trial: Trial) -> None:
    """explore names each node by its path, the root as `root`, within the reach."""
    for reach, _ in _sights(trial):
        request = ExploreRequest(Facet.NAMESPACE, _at_nodes(trial, reach))
        wanted = tuple(Bucket(name, 1) for name in sorted(str(node) for node in _SEEN[reach]))
        buckets = trial.engine.explore(request).buckets
        require_same(f"{_named(reach)} explores", buckets, wanted)


def forget_at_node(trial: Trial) -> None:
    """A forget at one node removes only what lies there."""
    left = dict(trial.nodes)
    gone = trial.forgotten(filter=_at_nodes(trial, Reach.exact(ONE)))
    require_same("items forgotten at one node", gone, 1)
    del left[str(ONE)]
    trial.require_listed(_at_nodes(trial, None), set(left.values()), "after a forget at one node")
    require_same("items forgotten by id", trial.forgotten(left.pop(str(TWO))), 1)
    trial.require_listed(_at_nodes(trial, None), set(left.values()), "after a forget of a twin")


def _named(reach: Reach | None) -> str:
    if reach is None:
        return "no reach"
    return f"reach at {reach.at}, inherit {reach.inherit}, descendants {reach.descendants},"
