"""The pusher: batches, refusals, an engine that goes away, and a death between any two steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.memory import Document, MemoryMeta, SourceKind, SourceRef
from syncd.memory.errors import Conflict, InvalidRequest, MemoryError, Unauthorized, Unavailable
from syncd.memory.reference import ReferenceEngine
from syncd.sources import Look, Reading
from syncd.sync.ledger import Ledger
from syncd.sync.plan import at_or_below
from syncd.sync.push import MAX_BATCH_BYTES, Parcel, Pusher, digest, parcel
from syncd.sync.rows import State
from syncd.sync.scope import Scope
from syncd.sync.tally import Tally
from tests.sync.scene import Scene, Watched, swift_directory

LOOK = Look(1, 2, 3, 4)


def document(text: str, path: str = "f") -> Document:
    meta = MemoryMeta(file_path=f"/r/{path}", source=SourceRef(SourceKind.FOLDER, "notes"))
    return Document(text, title=path, meta=meta)


def parcel_of(path: str, *texts: str, supersedes: tuple[str, ...] = ()) -> Parcel:
    items = tuple(document(text, path) for text in texts)
    return parcel(path, Reading(items, LOOK, True, "utf-8"), 7, supersedes)


class Stage:
    """A pusher with a real ledger and a watched engine."""

    def __init__(self, top: Path) -> None:
        self.ledger = Ledger.open(top)
        self.engine = Watched(ReferenceEngine())
        self.tally = Tally("notes")
        self.pusher = Pusher("notes", self.ledger, self.engine, self.tally, lambda path: None)  # type: ignore[arg-type, return-value]

    def refuse(self, bad: Callable[[Document], bool], error: type[MemoryError]) -> None:
        """Let the engine refuse every batch that holds a bad item, and store nothing of it."""

        def before(name: str, argument: Any) -> None:
            if name == "store_many" and any(map(bad, argument)):
                raise error("poison")

        self.engine.before = before

    def batches(self) -> list[list[Document]]:
        return [list(items) for items in self.engine.named("store_many")]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.ledger.close()


# -- batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, []), (1, [1]), (100, [100]), (250, [100, 100, 50])]
)
def test_a_batch_has_at_most_a_hundred_items(stage: Stage, count: int, sizes: list[int]) -> None:
    for n in range(count):
        stage.pusher.add(parcel_of(f"{n:03}", "text"))
    stage.pusher.flush()
    assert [len(batch) for batch in stage.batches()] == sizes
    assert stage.ledger.count("notes") == (count, count)


def size_of(batch: list[Document]) -> int:
    return sum(len(item.text.encode()) for item in batch)


@pytest.mark.parametrize("letter", ["a", "é", "字", "\U0001f600"])
def test_a_batch_has_at_most_four_mebibytes_of_utf8(stage: Stage, letter: str) -> None:
    text = letter * (300 * 1024)
    for n in range(20):
        stage.pusher.add(parcel_of(f"{n}", text))
    stage.pusher.flush()
    sizes = [size_of(batch) for batch in stage.batches()]
    assert max(sizes) <= MAX_BATCH_BYTES
    assert sum(sizes) == 20 * len(text.encode())
    assert max(sizes) > MAX_BATCH_BYTES // 2  # and not needlessly small


def test_one_item_that_is_larger_than_a_batch_goes_alone(stage: Stage) -> None:
    stage.pusher.add(parcel_of("small", "a"))
    stage.pusher.add(parcel_of("large", "b" * (MAX_BATCH_BYTES + 1)))
    stage.pusher.add(parcel_of("other", "c"))
    stage.pusher.flush()
    assert [[d.title for d in batch] for batch in stage.batches()] == [
        ["small"],
        ["large"],
        ["other"],
    ]


def test_a_file_of_many_parts_goes_in_several_batches(stage: Stage) -> None:
    stage.pusher.add(parcel_of("f", *(f"part {n}" for n in range(230))))
    stage.pusher.add(parcel_of("g", *(str(n) + "x" * 1024 * 1024 for n in range(6))))
    stage.pusher.flush()
    assert all(len(batch) <= 100 for batch in stage.batches())
    assert all(size_of(batch) <= MAX_BATCH_BYTES for batch in stage.batches())
    assert stage.ledger.count("notes") == (2, 236)


@given(
    st.lists(
        st.tuples(st.integers(1, 130), st.sampled_from([1, 50_000, 900_000])),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=20, deadline=None)
def test_whatever_comes_every_batch_is_within_bounds(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[tuple[int, int]]
) -> None:
    stage = Stage(tmp_path_factory.mktemp("stage"))
    for number, (parts, size) in enumerate(shapes):
        parts = min(parts, 6_000_000 // size + 1)
        texts = (f"{n} {'x' * size}" for n in range(parts))
        stage.pusher.add(parcel_of(f"f{number}", *texts))
    stage.pusher.flush()
    for batch in stage.batches():
        assert len(batch) <= 100
        assert size_of(batch) <= MAX_BATCH_BYTES
    held = dict(stage.ledger.claims("notes"))
    sent = [item.fingerprint() for batch in stage.batches() for item in batch]
    assert sorted(id for ids in held.values() for id in ids) == sorted(sent)
    stage.ledger.close()


def test_receipts_are_written_down_in_the_order_of_the_parts(stage: Stage) -> None:
    sent = parcel_of("f", *(f"part {n}" for n in range(150)))
    stage.pusher.add(sent)
    claim = stage.ledger.claim("notes", "f")
    assert claim is not None
    assert claim.ids == tuple(item.fingerprint() for item in sent.items)
    assert claim.digest == digest(sent.items)


def test_a_digest_tells_one_item_from_two_and_their_order() -> None:
    a, b = document("a"), document("b")
    assert len({digest([a]), digest([b]), digest([a, b]), digest([b, a]), digest([a, a])}) == 5
    assert all(len(digest(items)) == 20 for items in ([a], [a, b]))


# -- what is superseded ------------------------------------------------------------------------


def test_the_old_item_is_forgotten_by_id_after_the_new_one_is_stored(stage: Stage) -> None:
    old = stage.engine.inner.store(document("old")).id
    stage.pusher.add(parcel_of("f", "new", supersedes=(old,)))
    stage.pusher.flush()
    assert [name for name, _ in stage.engine.calls] == ["store_many", "forget"]
    assert stage.engine.named("forget")[0].ids == (old,)
    assert stage.ledger.doomed("notes") == []
    assert (stage.tally.stored, stage.tally.forgotten) == (1, 1)


def test_an_id_that_the_new_items_have_too_is_not_forgotten(stage: Stage) -> None:
    ids = tuple(stage.engine.inner.store(document(text)).id for text in ("a", "b"))
    stage.pusher.add(parcel_of("f", "b", "c", supersedes=ids))
    stage.pusher.flush()
    assert stage.engine.named("forget")[0].ids == ids[:1]
    assert (stage.tally.stored, stage.tally.replayed) == (1, 1)


def test_ids_are_forgotten_a_hundred_at_a_time(stage: Stage) -> None:
    with stage.ledger.transaction():
        stage.ledger.doom_ids("notes", [f"{n:040}" for n in range(250)])
    stage.pusher.forget_doomed()
    assert [len(target.ids) for target in stage.engine.named("forget")] == [100, 100, 50]
    assert stage.ledger.doomed("notes") == []


def test_a_forget_that_fails_stays_written_down(stage: Stage) -> None:
    old = stage.engine.inner.store(document("old")).id
    fail_on(stage.engine, "forget", 1)
    stage.pusher.add(parcel_of("f", "new", supersedes=(old,)))
    with pytest.raises(Unavailable):
        stage.pusher.flush()
    assert [doomed.id for doomed in stage.ledger.doomed("notes")] == [old]
    stage.pusher.forget_doomed()
    assert stage.ledger.doomed("notes") == []
    assert len(stage.engine.inner._items) == 1  # type: ignore[attr-defined]


def fail_on(engine: Watched, name: str, nth: int, error: MemoryError | None = None) -> None:
    """Let the n-th call of a name fail, once."""
    left = [nth]

    def before(called: str, argument: Any) -> None:
        if called == name:
            left[0] -= 1
            if left[0] == 0:
                raise error or Unavailable("away")

    engine.before = before


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [InvalidRequest, Conflict])
@pytest.mark.parametrize("bad", [0, 1, 57, 99])
def test_one_bad_item_is_found_by_halving(stage: Stage, bad: int, error: type[MemoryError]) -> None:
    asked = []
    stage.refuse(lambda item: item.title == f"{bad:03}", error)
    refuse = stage.engine.before

    def count(name: str, argument: Any) -> None:
        asked.append(name)
        refuse(name, argument)

    stage.engine.before = count
    for n in range(100):
        stage.pusher.add(parcel_of(f"{n:03}", "text"))
    assert asked.count("store_many") <= 1 + 2 * math.ceil(math.log2(100))
    assert stage.ledger.count("notes") == (99, 99)
    assert stage.ledger.explained("notes", State.SET_ASIDE) == [(f"{bad:03}", "poison")]
    assert stage.tally.set_aside == [(f"{bad:03}", "poison")]
    assert stage.tally.stored == 99


def test_if_all_are_bad_all_are_set_aside(stage: Stage) -> None:
    stage.refuse(lambda item: True, InvalidRequest)
    for n in range(8):
        stage.pusher.add(parcel_of(f"{n}", "text"))
    stage.pusher.flush()
    assert len(stage.tally.set_aside) == 8
    assert stage.ledger.count("notes") == (0, 0)


def test_what_a_refused_file_said_before_is_forgotten(stage: Stage) -> None:
    old = stage.engine.inner.store(document("small text")).id
    stage.refuse(lambda item: True, InvalidRequest)
    stage.pusher.add(parcel_of("f", "grown", supersedes=(old,)))
    stage.pusher.flush()
    assert stage.engine.named("forget")[0].ids == (old,)


def test_no_part_of_a_refused_file_stays(stage: Stage) -> None:
    stage.refuse(lambda item: item.text == "part 120", InvalidRequest)
    stage.pusher.add(parcel_of("f", *(f"part {n}" for n in range(150))))
    stage.pusher.flush()
    assert stage.tally.set_aside == [("f", "poison")]
    assert stage.engine.inner._items == {}  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", [Unavailable, Unauthorized])
def test_an_engine_that_fails_ends_the_push_and_sets_nothing_aside(
    stage: Stage, error: type[MemoryError]
) -> None:
    fail_on(stage.engine, "store_many", 2, error("away"))
    for n in range(100):
        stage.pusher.add(parcel_of(f"a{n}", "text"))
    for n in range(99):
        stage.pusher.add(parcel_of(f"b{n}", "text"))
    with pytest.raises(error):
        stage.pusher.flush()
    assert stage.ledger.count("notes") == (100, 100)
    assert stage.ledger.explained("notes", State.SET_ASIDE) == []


# -- an engine that goes away in the middle -----------------------------------------------------


@pytest.fixture(params=["reference", "local"])
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(tmp_path / "scene", request.param)
    yield made
    made.close()


def test_after_the_engine_came_back_the_next_pass_completes_it(scene: Scene) -> None:
    scene.many(230)
    fail_on(scene.engine, "store_many", 3)
    with pytest.raises(Unavailable):
        scene.sync()
    assert scene.ledger.count("notes")[0] == 200
    tally = scene.sync()
    assert (tally.stored, tally.replayed) == (30, 0)
    scene.assert_equal()


def test_while_halving_too(scene: Scene) -> None:
    scene.many(60)
    scene.put("n/0031.md", "POISON")
    seen = [0]

    def before(name: str, argument: Any) -> None:
        if name == "store_many":
            seen[0] += 1
            if seen[0] == 6:
                raise Unavailable("away")
            if any("POISON" in item.text for item in argument):
                raise InvalidRequest("poison")

    scene.engine.before = before
    with pytest.raises(Unavailable):
        scene.sync()
    tally = scene.sync()
    assert tally.set_aside == [("n/0031.md", "poison")]
    expected = scene.disk()
    del expected["n/0031.md"]
    assert scene.memory() == expected


def test_a_healed_file_arrives_and_a_removed_one_leaves_the_list(scene: Scene) -> None:
    scene.many(20)
    scene.put("n/0005.md", "POISON")
    scene.put("n/0006.md", "POISON too")

    def before(name: str, argument: Any) -> None:
        if name == "store_many" and any("POISON" in item.text for item in argument):
            raise InvalidRequest("poison")

    scene.engine.before = before
    scene.settle()
    assert len(scene.sync().set_aside) == 2
    scene.reopen()
    tally = scene.sync()  # nothing changed: neither is tried again, both are still told
    assert (len(tally.set_aside), scene.engine.named("store_many")) == (2, [])
    scene.put("n/0005.md", "healed")
    scene.remove("n/0006.md")
    tally = scene.sync()
    assert tally.set_aside == []
    assert scene.engine.named("forget") == []
    scene.assert_equal()


# -- a death between any two steps ---------------------------------------------------------------


@pytest.fixture
def swift() -> Iterator[Path]:
    with swift_directory() as path:
        yield path


def before_the_death(scene: Scene) -> None:
    """Memory as of an earlier pass."""
    for name in ("same", "edited", "removed", "refused", "d/x", "d/y", "becomes-dir", "dir/f"):
        scene.put(name, f"old {name}")
    scene.put("hidden/a", "soon ignored")
    scene.put("blanked", "soon blank")
    scene.sync()


def changes(scene: Scene) -> None:
    """Edited, new, removed, refused, blank and ignored files, and shapes that change."""
    scene.put("edited", "new edited")
    scene.put("added", "brand new")
    scene.remove("removed")
    scene.remove("d")
    scene.put("d-", "looks like d")
    scene.put("refused", "POISON")
    scene.remove("becomes-dir")
    scene.put("becomes-dir/f", "below it")
    scene.remove("dir")
    scene.put("dir", "was a directory")
    scene.put(".syncdignore", "hidden/\n")
    scene.put("blanked", " \n")


def wanted(scene: Scene) -> dict[str, list[str]]:
    out = scene.disk()
    for path in ("refused", "hidden/a"):
        out.pop(path)
    return out


def refuse_poison(name: str, argument: Any) -> None:
    if name == "store_many" and any("POISON" in item.text for item in argument):
        raise InvalidRequest("poison")


HINTS = Scope(
    (
        *("edited", "added", "removed", "d", "d-", "refused", "becomes-dir", "dir", "hidden"),
        *(".syncdignore", "blanked"),
    ),
    frozenset({"removed", "d"}),
)


@pytest.mark.parametrize("scope", [Scope(), HINTS], ids=["whole", "hints"])
def test_after_a_death_at_any_step_a_pass_mends_everything(swift: Path, scope: Scope) -> None:
    at, blown = 0, True
    while blown:
        at += 1
        scene = Scene(swift / f"{at}")
        before_the_death(scene)
        changes(scene)
        blown = scene.sync_killed(at, scope, before=refuse_poison).blown
        scene.engine.before = refuse_poison
        scene.reopen()
        tally = scene.sync()
        assert scene.memory() == wanted(scene), f"killed at step {at}"
        assert tally.set_aside == [("refused", "poison")]
        assert scene.ledger.doomed("notes") == []
        assert scene.ids() == {p: i for p, i in scene.fresh_ids().items() if p in wanted(scene)}
        assert len(scene.ids()) == scene.ledger.count("notes")[1]
        scene.close()
    assert at > 40  # the steps of such a pass were really met one by one


def test_after_two_deaths_in_a_row_too(swift: Path) -> None:
    steps = 60
    for first in range(1, steps, 7):
        for second in range(2, steps, 11):
            scene = Scene(swift / f"{first}-{second}")
            before_the_death(scene)
            changes(scene)
            scene.sync_killed(first, before=refuse_poison)
            scene.put("edited", "a third text")
            scene.sync_killed(second, before=refuse_poison)
            scene.engine.before = refuse_poison
            scene.sync()
            assert scene.memory() == wanted(scene), f"killed at {first}, then at {second}"
            scene.close()


def test_never_is_a_file_without_its_text_while_it_is_replaced(swift: Path) -> None:
    """Rule 2: at every moment memory holds the old text or the new one, or both."""
    at, blown = 0, True
    while blown:
        at += 1
        scene = Scene(swift / f"{at}")
        scene.put("f", "old")
        scene.sync()
        scene.put("f", "new text")
        blown = scene.sync_killed(at).blown
        texts = scene.memory()["f"]
        assert set(texts) <= {"# f\n\nold", "# f\n\nnew text"}
        assert texts
        scene.close()
    assert at > 15


def test_after_a_death_a_pass_of_hints_alone_doubles_nothing_that_it_looks_at(
    swift: Path,
) -> None:
    at, blown = 0, True
    while blown:
        at += 1
        scene = Scene(swift / f"{at}")
        for name in "abc":
            scene.put(name, f"old {name}")
        scene.sync()
        for name in "abc":
            scene.put(name, f"new text of {name}")
        blown = scene.sync_killed(at, Scope(("a", "b", "c"))).blown
        scene.hint("a", "b", "c")
        scene.assert_equal()
        scene.close()


def test_what_is_to_be_forgotten_is_known_at_every_moment(swift: Path) -> None:
    """Whatever memory holds is claimed by a row or written down to be forgotten, or both."""
    at, blown = 0, True
    while blown:
        at += 1
        scene = Scene(swift / f"{at}")
        scene.many(12, "d")
        scene.put("edited", "old")
        scene.put("becomes", "a directory")
        scene.put("becomes-", "stays")
        scene.sync()
        scene.remove("d")
        scene.remove("becomes")
        blown = scene.sync_killed(at, Scope(("d", "becomes"), frozenset({"d", "becomes"}))).blown
        claimed = {id for _, ids in scene.ledger.claims("notes") for id in ids}
        doomed = scene.ledger.doomed("notes")
        by_path = [one.path for one in doomed if one.path is not None]
        by_id = {one.id for one in doomed}
        for path, id in scene.ids().items():
            below = any(at_or_below(path, top) for top in by_path)
            assert id in claimed or id in by_id or below, f"{path}, killed at step {at}"
        scene.close()
    assert at > 15
