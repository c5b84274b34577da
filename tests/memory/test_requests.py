"""Every request knows what makes it invalid, and every answer its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from syncd.memory import (
    MAX_GET_IDS,
    MAX_STORE_MANY,
    Bucket,
    Citation,
    Document,
    EngineDescriptor,
    EngineHealth,
    ExplorePage,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ItemKind,
    ListPage,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    StoreReceipt,
    errors,
    validate_many,
)

BLANKS = ["", " ", "\n\t", "\u3000"]
META = {"source": {"kind": "agent"}}


def ids(count: int) -> tuple[str, ...]:
    return tuple(f"id-{number}" for number in range(count))


INVALID: list[Any] = [
    *(FetchRequest(blank) for blank in BLANKS),
    *(RecallRequest(blank) for blank in BLANKS),
    *(GetRequest(("id", blank)) for blank in BLANKS),
    *(kind("word", limit=limit) for kind in (FetchRequest, RecallRequest) for limit in (0, -1)),
    *(ListRequest(limit=limit) for limit in (0, -1)),
    *(ExploreRequest(Facet.TAG, limit=limit) for limit in (0, -1, 501)),
    *(ExploreRequest(Facet.TAG, scan_limit=limit) for limit in (0, -1, 50_001)),
    GetRequest(()),
    GetRequest(ids(201)),
    ForgetTarget(),
    ForgetTarget(ids=()),
    ForgetTarget(filter=MetaFilter()),
    ForgetTarget(ids=("id",), filter=MetaFilter(workspace="w")),
]
VALID: list[Any] = [
    FetchRequest("\x1f"),
    FetchRequest("word", limit=1),
    RecallRequest("word", limit=1_000_000),
    ListRequest(limit=1),
    ExploreRequest(Facet.TAG, limit=1, scan_limit=1),
    ExploreRequest(Facet.TAG, limit=500, scan_limit=50_000),
    GetRequest(ids(1)),
    GetRequest(ids(200)),
    ForgetTarget(ids=("id",)),
    ForgetTarget(filter=MetaFilter(workspace="")),
]


@pytest.mark.parametrize("request_", INVALID, ids=repr)
def test_an_invalid_request_is_refused(request_: Any) -> None:
    with pytest.raises(errors.InvalidRequest):
        request_.validate()


@pytest.mark.parametrize("request_", VALID, ids=range(len(VALID)))
def test_the_bounds_themselves_are_valid(request_: Any) -> None:
    request_.validate()
    assert hash(request_) is not None


def test_the_limits_are_those_of_the_contract() -> None:
    assert (MAX_STORE_MANY, MAX_GET_IDS) == (100, 200)
    request = ExploreRequest(Facet.TAG)
    assert (request.limit, request.scan_limit) == (50, 5000)


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_has_1_to_100_items(count: int) -> None:
    with pytest.raises(errors.InvalidRequest, match=f"not {count}"):
        validate_many([Document("text")] * count)


def test_a_batch_is_as_valid_as_its_items() -> None:
    validate_many([Document("text")])
    validate_many([Document("text")] * 100)
    with pytest.raises(errors.InvalidRequest, match="body"):
        validate_many([Document("text"), Document(" ")])


@pytest.mark.parametrize(
    ("kind", "fields"),
    [(FetchRequest, {"query": "a", "mode": "fuzzy"}), (ExploreRequest, {"facet": "colour"})],
)
def test_unknown_words_are_refused(kind: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest, match="is none of"):
        kind(**fields)


def test_words_and_lists_are_taken_as_they_come() -> None:
    assert FetchRequest("a", "hybrid").mode is FetchMode.HYBRID  # type: ignore[arg-type]
    assert ExploreRequest("tag").facet is Facet.TAG  # type: ignore[arg-type]
    assert GetRequest(["a"]).ids == ("a",)  # type: ignore[arg-type]
    assert ForgetTarget(ids=["a"]).ids == ("a",)  # type: ignore[arg-type]


def hit(**fields: Any) -> Hit:
    return Hit("id", ItemKind.DOCUMENT, "text", MemoryMeta(), **fields)


PLAIN_HIT = {"id": "id", "kind": "document", "text": "text", "meta": META, "score": 0.0}
CITATION = Citation("id", ItemKind.LEARNING, "snippet", MemoryMeta())
PLAIN_CITATION = {"id": "id", "kind": "learning", "snippet": "snippet", "meta": META}


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (hit(), PLAIN_HIT),
        (hit(confidence=0.8), {**PLAIN_HIT, "confidence": 0.8}),
        (hit(score=1.5, passage="p"), {**PLAIN_HIT, "score": 1.5, "passage": "p"}),
        (CITATION, PLAIN_CITATION),
        (
            Citation("id", ItemKind.LEARNING, "snippet", MemoryMeta(), 0.0),
            {**PLAIN_CITATION, "score": 0.0},
        ),
        (StoreReceipt("id", True), {"id": "id", "replayed": True}),
        (FetchPage((hit(),)), {"hits": [PLAIN_HIT]}),
        (FetchPage((), "more"), {"hits": [], "next_cursor": "more"}),
        (ListPage((hit(),)), {"items": [PLAIN_HIT]}),
        (ListPage((), "more"), {"items": [], "next_cursor": "more"}),
        (RecallAnswer("a", (CITATION,)), {"answer": "a", "citations": [PLAIN_CITATION]}),
        (RecallAnswer("a", (), "m"), {"answer": "a", "citations": [], "model": "m"}),
        (ForgetReport(3), {"forgotten": 3}),
        (
            ExplorePage(Facet.TAG, (Bucket("a", 2),), 3, 1, 0, False),
            {
                "facet": "tag",
                "buckets": [{"value": "a", "count": 2}],
                "total": 3,
                "missing": 1,
                "more_buckets": 0,
                "truncated": False,
            },
        ),
        (ForgetTarget(ids=("a",)), {"ids": ["a"]}),
        (ForgetTarget(filter=MetaFilter(repo="r")), {"filter": {"repo": "r"}}),
        (EngineHealth.ok(), {"state": "ok"}),
        (EngineHealth.degraded("slow"), {"state": "degraded", "reason": "slow"}),
        (EngineHealth.down("gone"), {"state": "down", "reason": "gone"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_answers_are_the_contracts_json(answer: Any, wanted: dict[str, Any]) -> None:
    assert answer.as_json() == wanted
    assert list(answer.as_json()) == list(wanted)
    assert json.loads(json.dumps(answer.as_json())) == wanted
    hash(answer)


def test_only_down_does_not_serve() -> None:
    serving = [EngineHealth.ok(), EngineHealth.degraded("slow"), EngineHealth.down("gone")]
    assert [health.is_serving() for health in serving] == [True, True, False]


def test_a_descriptor_knows_its_modes() -> None:
    descriptor = EngineDescriptor(
        "id", "Label", "what it is", False, True, True, None, (FetchMode.HYBRID,)
    )
    assert descriptor.supports(FetchMode.HYBRID)
    descriptor.ensure_mode(FetchMode.HYBRID)
    with pytest.raises(errors.Unsupported, match=r"^engine does not offer keyword fetch$"):
        descriptor.ensure_mode(FetchMode.KEYWORD)
    assert descriptor.as_json() == {
        "id": "id",
        "label": "Label",
        "description": "what it is",
        "hosted": False,
        "needs_endpoint": True,
        "needs_key": True,
        "fetch_modes": ["hybrid"],
    }
