"""The double serves what the documents say of the server: listing, recall, keys, claims, scopes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.cortex.double import Double, label
from tests.cortex.double.raw import CONVERSATIONS, DOCUMENTS, LEARNINGS, Raw, data, said

WIRES = ("direct", "hosted")


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def raw(wire: str) -> Iterator[Raw]:
    """A well-behaved client of a double; what it did must break no rule unless a test clears it."""
    with Double(wire) as double, Raw(double) as client:
        yield client


def test_an_event_is_listed_as_it_was_stored(raw: Raw) -> None:
    event = raw.event("hello", workspace="w", observed_at="2026-01-02T03:04:05Z")
    answer = raw.append(event)
    assert answer.status_code == (202 if raw.direct else 200)
    assert answer.json().get("success") == (None if raw.direct else True)
    shown = data(raw.page())["items"][0]
    assert shown["id"] == data(answer)["event_id"]
    assert (shown["scope"], shown["content"]) == (event["scope"], event["content"])
    assert shown["context"] == event["context"]
    assert raw.double.log[0].text == event["content"]["text"]
    assert raw.double.violations == []


def test_every_event_is_listed_twice_newest_first(raw: Raw) -> None:
    first, second = raw.stored("a"), raw.stored("b")
    assert raw.listed() == [second, second, first, first]
    assert raw.double.violations == []


def test_limit_counts_the_copies_and_pages_may_split_a_pair(raw: Raw) -> None:
    ids = [raw.stored(name) for name in "abcd"]
    raw.double.service.page_cap = 3
    seen, cursor, pages = [], None, 0
    while True:
        page = data(raw.page(cursor=cursor))
        seen += [item["id"] for item in page["items"]]
        pages, cursor = pages + 1, page["next_cursor"]
        if not page["has_more"]:
            break
    assert pages == 3
    assert seen == [event for event in reversed(ids) for _ in range(2)]
    assert cursor, "the last page names a cursor too: only has_more says whether to follow"


def test_a_cursor_survives_new_events_and_forgotten_ones(raw: Raw) -> None:
    ids = [raw.stored(name) for name in "abc"]
    page = data(raw.page(limit=2))
    raw.stored("d")
    raw.forget([ids[2], ids[1]])
    assert raw.listed(cursor=page["next_cursor"]) == [ids[0]] * 2


def test_a_misspelt_cursor_serves_page_one_for_ever(raw: Raw) -> None:
    for name in "abc":
        raw.stored(name)
    page = data(raw.page(limit=2))
    again = data(raw.page(limit=2, curser=page["next_cursor"]))
    assert again == page
    assert raw.double.violations == ["list: unknown parameter curser"]


@pytest.mark.parametrize("cursor", ["rubbish", "", "c1x0"])
def test_a_cursor_of_no_listing_of_the_scope_is_refused(raw: Raw, cursor: str) -> None:
    raw.stored()
    assert raw.page(cursor=cursor).status_code == 400


def test_labels_narrow_to_events_with_any_of_them(raw: Raw) -> None:
    one, two = raw.stored("a", repo="x/y"), raw.stored("b", repo="x/z")
    raw.stored("c")
    both = f"{label('r', 'x/y')},{label('r', 'x/z')}"
    assert raw.listed(labels=both) == [two, two, one, one]
    assert raw.listed(labels=label("r", "nothing")) == []
    assert raw.double.violations == []


def test_only_the_first_labels_parameter_counts(raw: Raw) -> None:
    one = raw.stored("a", repo="x/y")
    raw.stored("b", repo="x/z")
    repeated = "&".join(f"labels={label('r', repo)}" for repo in ("x/y", "x/z"))
    page = data(raw.client.get(f"{raw.prefix}/events?scope={DOCUMENTS}&limit=200&{repeated}"))
    assert [item["id"] for item in page["items"]] == [one, one]
    assert raw.double.violations == ["list: repeated parameter labels"]


def test_fifty_labels_are_taken_and_one_more_is_refused(raw: Raw) -> None:
    labels = [label("i", str(number)) for number in range(51)]
    assert raw.page(labels=",".join(labels[:50])).status_code == 200
    assert raw.double.violations == []
    assert raw.page(labels=",".join(labels)).status_code == 400
    filters = {"metadata": {"labels": labels}}
    assert raw.recall(filters=filters).status_code == 400
    over = "51 labels, 50 at most"
    assert raw.double.violations == [f"list: {over}", f"recall: {over}"]


def test_scopes_are_exact_in_listing_and_recall(raw: Raw) -> None:
    here, below = raw.stored("a"), raw.stored("b", namespace="agent:x")
    raw.stored("c", "learning")
    node = "app:tinymemory/agent:x/app:documents"
    assert (raw.listed(), raw.listed(node)) == ([here] * 2, [below] * 2)
    assert (raw.recalled(), raw.recalled(scope=node)) == ([here], [below])
    assert raw.listed("app:tinymemory") == []
    assert raw.double.violations == []


def test_view_descend_recalls_everything_below(raw: Raw) -> None:
    ids = {raw.stored("a"), raw.stored("b", namespace="agent:x"), raw.stored("c", "learning")}
    assert raw.recalled(scope="app:tinymemory") == []
    assert set(raw.recalled(scope="app:tinymemory", view="descend")) == ids
    assert raw.double.violations == []


def test_recall_renders_text_differently_and_names_no_event_twice(raw: Raw) -> None:
    event = raw.event()
    raw.append(event)
    events = data(raw.recall())["layers"]["events"]
    assert [item["content"]["text"] for item in events] == ["[user] " + event["content"]["text"]]


def test_recall_puts_the_best_first_within_its_budget(raw: Raw) -> None:
    wanted = raw.stored("rare grapefruit words")
    for name in ("common words", "more common words"):
        raw.stored(name)
    assert raw.recalled("words of grapefruit", events=1) == [wanted]
    assert len(raw.recalled("words of grapefruit", events=2)) == 2
    labelled = {"metadata": {"labels": [label("r", "none")]}}
    assert raw.recalled("grapefruit", filters=labelled) == []


def test_derived_layers_come_within_their_limits(raw: Raw) -> None:
    limits = {"events": 2, "facts": 1, "beliefs": 0}
    answer = raw.recall(budgets={"per_layer_limits": limits})
    layers = data(answer)["layers"]
    assert [len(layers[name]) for name in ("events", "facts", "beliefs")] == [0, 1, 0]


def test_lag_in_polls_delays_the_listing_of_that_scope_alone(wire: str) -> None:
    with Double(wire, lag=2) as double, Raw(double) as raw:
        event = raw.stored()
        assert raw.listed(CONVERSATIONS) == raw.listed(LEARNINGS) == []
        assert [raw.listed() for _ in range(4)] == [[], [], [event] * 2, [event] * 2]


def test_recall_is_later_still(wire: str) -> None:
    with Double(wire, lag=1) as double, Raw(double) as raw:
        event = raw.stored()
        assert [raw.recalled(), raw.recalled()] == [[], []], "not even listed"
        assert [raw.listed(), raw.listed()] == [[], [event] * 2]
        assert [raw.recalled(), raw.recalled()] == [[], [event]]


def test_recall_never_has_what_is_not_listed(wire: str) -> None:
    with Double(wire, lag=1, recall_lag=0) as double, Raw(double) as raw:
        event = raw.stored()
        assert raw.recalled() == raw.listed() == []
        assert raw.recalled() == [event]


def test_reading_on_is_no_poll(wire: str) -> None:
    with Double(wire, lag=1) as double, Raw(double) as raw:
        double.add_foreign(DOCUMENTS, "old")
        cursor = data(raw.page())["next_cursor"]
        event = raw.stored()
        assert raw.listed(cursor=cursor) == []
        assert event not in raw.listed()
        assert event in raw.listed()


def test_earlier_events_of_a_scope_are_never_listed_later(wire: str) -> None:
    with Double(wire, lag=3) as double, Raw(double) as raw:
        ids = []
        for name in "abcdef":
            ids.append(raw.stored(name))
            seen = raw.listed()[::-2]
            assert seen == ids[: len(seen)]


def test_lag_in_seconds_of_the_given_clock(wire: str) -> None:
    clock = Clock()
    with Double(wire, lag=5.0, clock=clock) as double, Raw(double) as raw:
        event = raw.stored()
        seen = []
        for _ in range(3):
            seen.append((raw.listed(), raw.recalled()))
            clock.now += 5
        assert seen == [([], []), ([event] * 2, []), ([event] * 2, [event])]


def test_a_key_is_never_released_not_even_by_forgetting(raw: Raw) -> None:
    event = raw.event()
    first = data(raw.append(event, "claim-1"))["event_id"]
    assert data(raw.append(event, "claim-2"))["event_id"] == first
    assert len(raw.double.log) == 1
    raw.forget([first])
    assert data(raw.append(event, "claim-3"))["event_id"] == first
    assert raw.double.log == []
    assert raw.double.repeated_keys == [event["idempotency_key"]] * 2


def test_a_replayed_claim_is_a_conflict_and_is_not_forwarded() -> None:
    with Double("hosted") as double, Raw(double) as raw:
        raw.append(raw.event("a"), "claim")
        assert said(raw.append(raw.event("b"), "claim")) == (409, "CONFLICT")
        double.service.conflict_status = 400
        refused = raw.append(raw.event("b"), "claim")
        assert refused.status_code == 400
        assert len(double.log) == 1


def test_a_write_without_a_claim_is_refused() -> None:
    with Double("hosted") as double, Raw(double) as raw:
        assert raw.append(raw.event(), None).status_code == 400
        assert double.violations == ["append: no Idempotency-Key header"]
        assert double.log == []


def test_forget_removes_the_named_events_of_the_scope_only(raw: Raw) -> None:
    ids = [raw.stored(name) for name in "abc"]
    other = raw.stored("d", "learning")
    assert raw.forget([ids[0], ids[2], other, "evt_unknown"]).status_code == 200
    assert (raw.listed(), raw.listed(LEARNINGS)) == ([ids[1]] * 2, [other] * 2)
    assert raw.forget([ids[0]]).status_code == 404, "nothing of that is here any more"
    assert raw.double.violations == []


@pytest.mark.parametrize("selector", [{}, {"memory_ids": []}])
def test_an_empty_selector_means_the_whole_scope(raw: Raw, selector: dict[str, list[str]]) -> None:
    raw.stored("a"), raw.stored("b")
    kept = raw.stored("c", "learning")
    raw.forget([], selector=selector)
    assert [event.id for event in raw.double.log] == [kept]
    assert raw.double.violations == ["forget: empty selector"]


def test_confirm_all_is_honoured_down_to_the_last_scope_below(raw: Raw) -> None:
    one = raw.stored("a")
    raw.stored("b", namespace="agent:x")
    raw.forget([one], scope="app:tinymemory", confirm_all=True)
    assert raw.double.log == []
    assert raw.double.violations == ["forget: confirm_all"]


def test_a_hundred_ids_are_taken_and_one_more_is_refused(raw: Raw) -> None:
    ids = [raw.stored(), *(f"evt_{number}" for number in range(100))]
    assert raw.forget(ids).status_code == 400
    assert raw.double.violations == ["forget: 101 ids, 100 at most"]
    assert raw.forget(ids[:100]).status_code == 200


def test_scopes_come_by_text_prefix_in_every_shape(raw: Raw) -> None:
    raw.stored("a", namespace="agent:x")
    raw.stored("b", namespace="agent:xy")
    answers = [data(raw.scopes("app:tinymemory/agent:x")) for _ in range(4)]
    paths = [f"app:tinymemory/agent:{name}" for name in ("xy/app:documents", "xy")]
    paths += [f"app:tinymemory/agent:{name}" for name in ("x/app:documents", "x")]
    assert [next(iter(answer)) for answer in answers] == ["items", "scopes", "items", "scopes"]
    for answer in answers:
        (entries,) = answer.values()
        assert [e if isinstance(e, str) else e["path"] for e in entries] == paths
    assert raw.double.violations == []
    assert len(data(raw.scopes(limit=1)).popitem()[1]) == 1


def test_a_scope_appears_late_and_goes_with_its_last_event(wire: str) -> None:
    with Double(wire, lag=1) as double, Raw(double) as raw:
        event = raw.stored()
        assert data(raw.scopes()) == {"items": []}
        raw.listed()
        assert data(raw.scopes())["scopes"] == [DOCUMENTS, "app:tinymemory"]
        raw.forget([event])
        assert data(raw.scopes())["items"] == []


def test_a_tenant_is_put_in_front_of_what_is_listed_back(wire: str) -> None:
    with Double(wire, tenant="tenant:acme") as double, Raw(double) as raw:
        raw.stored()
        listed = f"tenant:acme/{DOCUMENTS}"
        assert data(raw.scopes())["items"][0]["path"] == listed
        assert data(raw.page())["items"][0]["scope"] == listed
        assert data(raw.recall())["layers"]["events"][0]["scope"] == listed
        assert raw.listed(listed) == [], "asked for, it is a scope of that very name below it"
        assert double.log[0].scope == DOCUMENTS


def test_foreign_events_lie_in_the_same_scope(wire: str) -> None:
    with Double(wire, lag=9) as double, Raw(double) as raw:
        labels = [label("i", "x")]
        foreign = double.add_foreign(DOCUMENTS, "hello, no envelope", labels)
        assert raw.listed() == raw.listed(labels=labels[0]) == [foreign] * 2
        assert raw.recalled() == [foreign]
        assert [(event.text, event.foreign) for event in double.log] == [
            ("hello, no envelope", True)
        ]
        assert raw.forget([foreign]).status_code == 200


def test_an_answer_needs_a_pack_of_its_scope(raw: Raw) -> None:
    pack = data(raw.recall())["pack_id"]
    answer = data(raw.answer(pack))
    assert answer["answer"] == f"answer from {pack}: why?"
    assert answer["diagnostics"] == {"answer_model": "double-1"}
    assert raw.double.violations == []
    assert raw.answer("pack_unknown").status_code == 404
    assert raw.answer(pack, scope=LEARNINGS).status_code == 404
    assert set(raw.double.violations) == {"answer: a pack that this scope does not have"}


def test_bulk_keeps_order_and_answers_one_by_one() -> None:
    with Double() as double, Raw(double) as raw:
        turns = [raw.event("a", "conversation") for _ in range(3)]
        answer = raw.bulk(turns)
        ids = [result["event_id"] for result in data(answer)["results"]]
        assert answer.status_code == 202
        assert ids == [event.id for event in double.log]
        assert double.violations == []


@pytest.mark.parametrize(("style", "answers"), [("short", 1), ("errors", 3)])
def test_a_bulk_may_stop_part_way(style: str, answers: int) -> None:
    with Double() as double, Raw(double) as raw:
        double.stop_bulk_after(1, style)
        turns = [raw.event("a", "conversation") for _ in range(3)]
        results = data(raw.bulk(turns))["results"]
        assert [("event_id" in result) for result in results] == [True, False, False][:answers]
        assert len(double.log) == 1
        assert len(data(raw.bulk(turns))["results"]) == 3, "only that once"


def test_there_is_no_bulk_and_no_whoami_on_the_hosted_wire() -> None:
    with Double("hosted") as double, Raw(double) as raw:
        assert said(raw.bulk([raw.event()])) == (404, "NOT_FOUND")
        assert said(raw.whoami()) == (404, "NOT_FOUND")


def test_forget_everything_empties_the_log_and_keeps_the_keys(raw: Raw) -> None:
    event = raw.event()
    raw.append(event)
    raw.double.forget_everything()
    assert (raw.double.log, raw.listed()) == ([], [])
    raw.append(event, "another")
    assert raw.double.log == []


def test_many_clients_at_once_lose_and_double_nothing(wire: str) -> None:
    with Double(wire) as double, Raw(double) as raw:
        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(raw.stored, [f"text {number}" for number in range(64)]))
        assert sorted(event.id for event in double.log) == sorted(ids)
        assert len(double.requests) == 64


def test_it_ends_with_connections_open_and_leaves_no_thread(wire: str) -> None:
    before = set(threading.enumerate())
    with httpx.Client(trust_env=False) as client:
        with Double(wire) as double:
            client.get(double.url)
        assert set(threading.enumerate()) == before
        with pytest.raises(httpx.TransportError):
            client.get(double.url)
