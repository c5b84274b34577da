"""Verify finds what is wrong with memory without trusting the ledger, and repair mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.memory import Document, MemoryMeta, SourceRef
from syncd.memory.requests import ForgetTarget
from syncd.sources import Blind, SourceUnavailable, Unreadable
from syncd.sync.reconcile import Correction, compare, listed
from syncd.sync.verify import Findings, repair, verify
from tests.sync.scene import EVERYTHING, SOURCE, Scene


@pytest.fixture(params=["reference", "local"])
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(tmp_path / "scene", request.param)
    made.many(12)
    made.put("left out.pyc", " ")
    made.put("blank", " ")
    made.settle()
    made.sync()
    yield made
    made.close()


def check(scene: Scene) -> Findings:
    return verify(scene.source, scene.engine)


def wrong(scene: Scene) -> dict[str, list[str]]:
    """The names of what is wrong, with the paths."""
    found = check(scene).as_json()
    names = ("missing", "stale", "orphaned", "duplicate", "strangers")
    return {name: found[name] for name in names if found[name]}


def mend(scene: Scene) -> None:
    """Repair, and then nothing is wrong and memory equals the disk."""
    repair(scene.order(), check(scene))
    assert wrong(scene) == {}
    scene.assert_equal()


def lose(scene: Scene, path: str) -> None:
    scene.inner.forget(ForgetTarget(ids=(scene.ids()[path],)))


def add(scene: Scene, path: str, text: str) -> None:
    """Another item of a path that a source could have made."""
    meta = MemoryMeta(file_path=f"{scene.root}/{path}", source=SourceRef("folder", SOURCE))
    scene.inner.store(Document(text, title=Path(path).name, meta=meta))


def test_nothing_is_wrong_after_a_pass(scene: Scene) -> None:
    found = check(scene)
    assert (found.in_step, found.files, found.items, found.unread) == (True, 12, 12, [])
    assert {name for name, _ in scene.engine.calls} <= {"list", "explore", "store_many", "forget"}
    assert found.as_json()["in_step"] is True


def test_verify_touches_nothing(scene: Scene) -> None:
    add(scene, "ghost", "of no file")
    lose(scene, "n/0001.md")
    memory, table = scene.memory(), scene.table()
    scene.engine.calls.clear()
    assert not check(scene).in_step
    assert {name for name, _ in scene.engine.calls} == {"list"}
    assert (scene.memory(), scene.table()) == (memory, table)


def test_what_is_missing(scene: Scene) -> None:
    lose(scene, "n/0001.md")
    assert wrong(scene) == {"missing": ["n/0001.md"]}
    mend(scene)


def test_what_is_stale_though_the_ledger_says_otherwise(scene: Scene) -> None:
    lose(scene, "n/0001.md")
    add(scene, "n/0001.md", "an older text")
    (id,) = (hit.id for hit in listed(scene.inner, EVERYTHING) if "older" in hit.text)
    scene.ledger._db.execute("UPDATE rows SET ids = ? WHERE path = 'n/0001.md'", (f'["{id}"]',))
    scene.engine.calls.clear()
    scene.sync()  # the ledger and memory agree, so a pass notices nothing
    assert wrong(scene) == {"stale": ["n/0001.md"]}
    mend(scene)


def test_what_was_edited_since_the_last_pass_is_stale(scene: Scene) -> None:
    scene.put("n/0001.md", "edited")
    assert wrong(scene) == {"stale": ["n/0001.md"]}
    mend(scene)


def test_another_title_or_tag_is_stale_too(scene: Scene) -> None:
    scene.settings = {"tags": ("new",)}
    assert len(wrong(scene)["stale"]) == 12
    mend(scene)


def test_what_has_no_file(scene: Scene) -> None:
    add(scene, "ghost", "of no file")
    assert wrong(scene) == {"orphaned": ["ghost"]}
    mend(scene)


@pytest.mark.parametrize("path", ["left out.pyc", "blank", "node_modules/x"])
def test_what_should_not_be_there_although_its_file_is(scene: Scene, path: str) -> None:
    scene.put(path, " ")
    add(scene, path, "from before it was left out")
    assert wrong(scene) == {"orphaned": [path]}
    mend(scene)


def test_what_is_there_twice(scene: Scene) -> None:
    add(scene, "n/0001.md", "another text")
    assert wrong(scene) == {"duplicate": ["n/0001.md"]}
    mend(scene)


def test_strangers_are_found_and_forgotten_by_repair_alone(scene: Scene) -> None:
    meta = MemoryMeta(source=SourceRef("folder", SOURCE))
    id = scene.inner.store(Document("by hand", meta=meta)).id
    assert wrong(scene) == {"strangers": [id]}
    scene.sync()
    assert wrong(scene) == {"strangers": [id]}
    mend(scene)
    scene.sync()
    assert [name for name, _ in scene.engine.calls] == ["explore"]


def test_items_of_other_sources_are_none_of_its_business(scene: Scene) -> None:
    path = f"{scene.root}/n/0001.md"
    meta = MemoryMeta(file_path=path, source=SourceRef("folder", "other"))
    scene.inner.store(Document("of another source", meta=meta))
    assert wrong(scene) == {}


def test_repair_respects_holds(scene: Scene) -> None:
    for n in range(20):
        add(scene, f"ghost/{n}", f"of no file {n}")
    lose(scene, "n/0001.md")
    repair(scene.order(), check(scene))
    assert len(wrong(scene)["orphaned"]) == 20
    assert "missing" not in wrong(scene)
    assert scene.ledger.source(SOURCE).state == "held"
    repair(scene.order(accept_deletions=True), check(scene))
    assert wrong(scene) == {}


def test_repair_with_a_lost_ledger(scene: Scene) -> None:
    lose(scene, "n/0001.md")
    add(scene, "n/0002.md", "another text")
    scene.lose_ledger()
    mend(scene)


def test_an_unavailable_source_proves_nothing(scene: Scene) -> None:
    scene.root.rename(scene.top / "away")
    with pytest.raises(SourceUnavailable):
        check(scene)


@pytest.mark.parametrize("blind", ["n/", "n/0001.md", ""])
def test_what_cannot_be_looked_at_is_not_judged(scene: Scene, blind: str) -> None:
    class Sick(type(scene.source)):  # type: ignore[misc]
        def scan(self, under: str = "", mark: str | None = None) -> Iterator[object]:
            yield Blind(blind, "input/output error")

    scene.put("added")
    found = verify(Sick(scene.source._settings), scene.engine)
    assert found.unread == [blind]
    assert len(found.orphaned) == {"n/": 0, "n/0001.md": 11, "": 0}[blind]


def test_what_cannot_be_read_is_not_judged(scene: Scene) -> None:
    class Sick(type(scene.source)):  # type: ignore[misc]
        def read(self, path: str) -> object:
            return Unreadable("input/output error")

    found = verify(Sick(scene.source._settings), scene.engine)
    assert (found.orphaned, found.missing, len(found.unread)) == ([], [], 13)


DAMAGES: dict[str, Callable[[Scene, str], None]] = {
    "lose": lambda scene, path: lose(scene, path) if path in scene.memory() else None,
    "add": lambda scene, path: add(scene, path, f"stray of {path}"),
    "ghost": lambda scene, path: add(scene, f"ghost/{path}", "of no file"),
    "edit": lambda scene, path: scene.put(path, f"edited {path}") and None,
    "remove": lambda scene, path: (scene.root / path).unlink(missing_ok=True),
    "forget row": lambda scene, path: (
        scene.ledger._db.execute("DELETE FROM rows WHERE path = ?", (path,)) and None
    ),
}


@given(
    st.lists(st.tuples(st.sampled_from(sorted(DAMAGES)), st.integers(0, 5)), min_size=1, max_size=6)
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_wrong_one_repair_mends_it(
    tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[str, int]]
) -> None:
    scene = Scene(tmp_path_factory.mktemp("verify") / "scene")
    scene.many(6)
    scene.put("keep")
    scene.sync()
    for name, number in damages:
        if name == "lose" and len(scene.memory().get(f"n/{number:04}.md", [])) != 1:
            continue
        if name == "lose" and any(len(texts) > 1 for texts in scene.memory().values()):
            continue
        DAMAGES[name](scene, f"n/{number:04}.md")
    mend(scene)
    scene.close()


# -- the ledger set right from memory -------------------------------------------------------------

ids = st.lists(st.sampled_from("uvwxyz"), max_size=3, unique=True).map(tuple)
sides = st.dictionaries(st.sampled_from("abcd"), ids.filter(bool))


@given(sides, sides)
def test_the_ledger_is_corrected_wherever_it_differs_from_memory(
    held: dict[str, tuple[str, ...]], claimed: dict[str, tuple[str, ...]]
) -> None:
    found = compare(held, claimed.items())
    same = {p for p in held if set(held[p]) == set(claimed.get(p, ()))}
    assert found.found == {path: ids for path, ids in held.items() if path not in same}
    assert sorted(found.lost) == sorted(claimed.keys() - held.keys())
    assert bool(found) is (found != Correction())
