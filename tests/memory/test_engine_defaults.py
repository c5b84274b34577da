"""What a listing alone can give: get, explore and store_many of the base class."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.memory import (
    Bucket,
    Document,
    ExploreRequest,
    Facet,
    GetRequest,
    Item,
    ListPage,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    StoreReceipt,
    errors,
)
from syncd.memory.engine import explore_page
from syncd.memory.reference import ReferenceEngine


class Paged(ReferenceEngine):
    """Counts its listings and can be made to misbehave."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ListRequest] = []

    def list(self, request: ListRequest) -> ListPage:
        self.requests.append(request)
        return super().list(request)


class Circling(ReferenceEngine):
    """Hands out the same cursors again and again, `round_` of them."""

    def __init__(self, round_: int) -> None:
        super().__init__()
        self.round = round_
        self.calls = 0

    def list(self, request: ListRequest) -> ListPage:
        self.calls += 1
        assert self.calls < 100, "the listing goes on for ever"
        return ListPage((), f"cursor-{self.calls % self.round}")


@pytest.fixture
def engine() -> Paged:
    paged = Paged()
    for number in range(450):
        tags = (f"tag-{number % 3}", "all")
        paged.store(Document(f"text {number}", meta=MemoryMeta(tags=tags, repo=f"r{number % 7}")))
    return paged


def all_ids(engine: ReferenceEngine) -> list[str]:
    return [hit.id for hit in engine.list(ListRequest(limit=1000)).items]


def test_get_pages_200_at_a_time_until_all_are_found(engine: Paged) -> None:
    ids = all_ids(engine)
    engine.requests.clear()
    wanted = (ids[210], ids[3], "unknown", ids[210], ids[0])
    assert [hit.id for hit in engine.get(GetRequest(wanted))] == [ids[210], ids[3], ids[0]]
    assert [request.limit for request in engine.requests] == [200, 200, 200]
    engine.requests.clear()
    engine.get(GetRequest((ids[3], ids[199])))
    assert len(engine.requests) == 1


def test_get_lists_under_the_reach(engine: Paged) -> None:
    node = Namespace.parse("agent:a")
    hidden = engine.store(Document("hidden", meta=MemoryMeta(namespace=node))).id
    assert engine.get(GetRequest((hidden,), Reach())) == []
    assert [hit.id for hit in engine.get(GetRequest((hidden,), Reach.of(node)))] == [hidden]
    assert [hit.id for hit in engine.get(GetRequest((hidden,)))] == [hidden]


@pytest.mark.parametrize("round_", [1, 2, 3])
def test_a_cursor_that_comes_again_is_an_engine_error(round_: int) -> None:
    with pytest.raises(errors.Engine, match="repeated a cursor"):
        Circling(round_).get(GetRequest(("id",)))
    with pytest.raises(errors.Engine, match="repeated a cursor"):
        Circling(round_).explore(ExploreRequest(Facet.TAG))


@pytest.mark.parametrize("ids", [(), ("",), tuple(map(str, range(201)))], ids=len)
def test_an_invalid_get_asks_nothing(engine: Paged, ids: tuple[str, ...]) -> None:
    engine.requests.clear()
    with pytest.raises(errors.InvalidRequest):
        engine.get(GetRequest(ids))
    with pytest.raises(errors.InvalidRequest):
        engine.explore(ExploreRequest(Facet.TAG, limit=0))
    assert engine.requests == []


def test_explore_counts_once_per_tag_largest_first(engine: Paged) -> None:
    page = engine.explore(ExploreRequest(Facet.TAG))
    wanted = [("all", 450), ("tag-0", 150), ("tag-1", 150), ("tag-2", 150)]
    assert page.buckets == tuple(Bucket(value, count) for value, count in wanted)
    assert (page.total, page.missing, page.more_buckets, page.truncated) == (450, 0, 0, False)
    assert {request.limit for request in engine.requests} == {200}


def test_explore_honours_its_filter_and_counts_what_is_missing(engine: Paged) -> None:
    filter = MetaFilter(tags_any=("tag-1",))
    page = engine.explore(ExploreRequest(Facet.REPO, filter, limit=2))
    assert (page.total, page.missing, page.more_buckets) == (150, 0, 5)
    assert [bucket.value for bucket in page.buckets] == ["r0", "r1"]
    assert engine.explore(ExploreRequest(Facet.URL)).missing == 450


@pytest.mark.parametrize(
    ("scan_limit", "total", "truncated"),
    [(1, 1, True), (200, 200, True), (449, 449, True), (450, 450, False), (451, 450, False)],
)
def test_explore_is_truncated_only_when_more_remain(
    engine: Paged, scan_limit: int, total: int, truncated: bool
) -> None:
    page = engine.explore(ExploreRequest(Facet.KIND, scan_limit=scan_limit))
    assert (page.total, page.truncated) == (total, truncated)
    assert page.buckets == (Bucket("document", total),)


@given(
    st.dictionaries(st.text(max_size=3), st.integers(1, 5), max_size=8),
    st.integers(1, 9),
    st.booleans(),
)
def test_a_page_is_the_head_of_the_order(
    counts: dict[str, int], limit: int, truncated: bool
) -> None:
    request = ExploreRequest(Facet.TAG, limit=limit)
    page = explore_page(request, Counter(counts), 99, 7, truncated=truncated)
    assert len(page.buckets) == min(limit, len(counts))
    assert len(page.buckets) + page.more_buckets == len(counts)
    keys = [(-bucket.count, bucket.value) for bucket in page.buckets]
    assert keys == sorted(keys)
    left = counts.keys() - {bucket.value for bucket in page.buckets}
    assert all((-counts[value], value) > keys[-1] for value in left)
    assert (page.total, page.missing, page.truncated) == (99, 7, truncated)


def test_store_many_is_store_for_each_in_order() -> None:
    stored: list[Item] = []

    class Recording(ReferenceEngine):
        def store(self, item: Item) -> StoreReceipt:
            stored.append(item)
            return super().store(item)

    a, b = Document("a"), Document("b")
    receipts = Recording().store_many([b, a, b])
    assert stored == [b, a, b]
    assert [receipt.replayed for receipt in receipts] == [False, False, True]
    assert [receipt.id for receipt in receipts] == [i.fingerprint() for i in (b, a, b)]


def test_one_invalid_item_refuses_the_batch_before_anything_is_stored() -> None:
    engine = ReferenceEngine()
    with pytest.raises(errors.InvalidRequest):
        engine.store_many([Document("a"), Document(" ")])
    assert all_ids(engine) == []


def test_what_comes_before_a_failing_item_is_stored() -> None:
    class Failing(ReferenceEngine):
        def store(self, item: Item) -> StoreReceipt:
            if item == Document("c"):
                raise errors.Unavailable("the network is away")
            return super().store(item)

    engine = Failing()
    with pytest.raises(errors.Unavailable):
        engine.store_many([Document("a"), Document("b"), Document("c"), Document("d")])
    assert all_ids(engine) == [Document("a").fingerprint(), Document("b").fingerprint()]


def test_an_engine_closes_when_its_block_ends() -> None:
    closed: list[bool] = []

    class Closing(ReferenceEngine):
        def close(self) -> None:
            closed.append(True)

    with Closing() as engine, pytest.raises(errors.InvalidRequest):
        engine.store(Document(""))
    assert closed == [True]
    with ReferenceEngine() as plain:
        assert plain.health().is_serving()


def test_the_base_class_is_abstract() -> None:
    missing = MemoryEngine.__abstractmethods__
    assert missing == {"descriptor", "health", "store", "fetch", "recall", "list", "forget"}
