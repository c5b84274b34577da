"""The plan against a slow formulation that is obviously right; holds; and the fewest forgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd.memory import ItemKind, MemoryMeta, SourceKind, SourceRef
from syncd.sources import Blind, FolderSettings, FolderSource, LeftOut, Look, Seen, Sighting
from syncd.sync.plan import (
    Action,
    Doom,
    Examine,
    Gone,
    Hold,
    LeaveOut,
    Unseen,
    at_or_below,
    collapse,
    decide,
    plan,
)
from syncd.sync.rows import NO_LOOK, Row, State
from syncd.sync.scope import Scope, covered

T = TypeVar("T")
LOOKS = [Look(1, 1, 1, 1), Look(1, 1, 2, 1), Look(1, 2, 1, 1), Look(2, 1, 1, 1), Look(1, 1, 1, 2)]
# Names that share beginnings, and characters that sort around "/" (which is 0x2f).
NAMES = ["a", "a-", "a.b", "a0", "b", "é", "\uef80", "\U0001f600"]

names = st.sampled_from(NAMES)
files = st.lists(names, min_size=1, max_size=3).map("/".join)
absolute = files.map("/old/{}".format)
places = st.one_of(files, files.map("{}/".format))
looks = st.sampled_from(LOOKS)
recipes = st.sampled_from([7, 8])
sightings = st.builds(Sighting, files, looks, recipes)
left_outs = st.builds(LeftOut, places, st.sampled_from(["ignored", "link"]))
blinds = st.builds(Blind, st.one_of(places, st.just("")), st.just("permission denied"))
states = st.sampled_from([State.HELD, State.LEFT_OUT, State.SET_ASIDE, State.UNREADABLE])


def row(path: str, look: Look, recipe: int, trusted: bool, state: State) -> Row:
    return Row(path, *look, recipe, int(trusted), state)


rows_of = st.builds(row, st.one_of(files, places, absolute), looks, recipes, st.booleans(), states)


def in_order(things: Iterable[T]) -> list[T]:
    """Each path once, in ascending order, as a scan and the ledger give them."""
    by_path = {thing[0]: thing for thing in things}  # type: ignore[index]
    return [by_path[path] for path in sorted(by_path)]


def as_scanned(seen: Iterable[Seen]) -> list[Seen]:
    """Without what lies below a directory that was not looked into: a scan never goes there."""
    ordered = in_order(seen)
    closed = [s.path for s in ordered if not isinstance(s, Sighting) and s.path[-1:] in ("/", "")]
    return [s for s in ordered if not any(below(s.path, top) for top in closed)]


def below(path: str, top: str) -> bool:
    return path != top and (top == "" or path.startswith(top.rstrip("/") + "/"))


scans = st.lists(st.one_of(sightings, sightings, left_outs, blinds), max_size=12).map(as_scanned)
ledgers = st.lists(rows_of, max_size=12).map(in_order)


def judge(sighting: Sighting) -> str | None:
    return "not included" if sighting.path.endswith("-") else None


def slow_plan(seen: list[Seen], rows: list[Row]) -> list[Action]:
    """What `plan` has to say, with everything in memory and every pair compared."""
    out: list[Action] = []
    known = {row.path: row for row in rows}
    for sight in seen:
        old = known.get(sight.path)
        if isinstance(sight, Blind):
            out.append(Unseen(sight.path, sight.reason))
        elif isinstance(sight, LeftOut):
            if old is None or old.state != State.LEFT_OUT:
                out.append(LeaveOut(sight.path, sight.reason, NO_LOOK, 0, old is not None))
        elif old is None or not unchanged(sight, old):
            reason = judge(sight)
            if reason is None:
                out.append(Examine(sight, old is not None))
            else:
                out.append(LeaveOut(sight.path, reason, sight.look, sight.recipe, old is not None))
    there = {sight.path for sight in seen}
    for old in rows:
        hidden = any(isinstance(s, Blind) and below(old.path, s.path) for s in seen)
        if old.path in there or hidden:
            continue
        excluded = any(
            isinstance(s, LeftOut) and s.path.endswith("/") and below(old.path, s.path)
            for s in seen
        )
        out.append(Gone(old.path, old.state, excluded, (old.inode, old.size, old.mtime_ns)))
    return out


def unchanged(sight: Sighting, old: Row) -> bool:
    then = Look(old.size, old.mtime_ns, old.ctime_ns, old.inode)
    return bool(old.trusted) and then == sight.look and old.recipe == sight.recipe


@given(scans, ledgers)
@settings(max_examples=250)
def test_the_plan_is_what_the_slow_formulation_says(seen: list[Seen], rows: list[Row]) -> None:
    actions = list(plan(iter(seen), iter(rows), judge))
    assert len(actions) == len(set(actions))
    assert set(actions) == set(slow_plan(seen, rows))


@given(scans)
def test_an_unchanged_tree_needs_nothing(seen: list[Seen]) -> None:
    rows = [
        row(s.path, s.look, s.recipe, True, State.HELD)
        if isinstance(s, Sighting)
        else row(s.path, NO_LOOK, 0, True, State.LEFT_OUT)
        for s in seen
    ]
    done = [action for action in plan(seen, rows, judge) if not isinstance(action, Unseen)]
    assert done == []


@given(scans.filter(lambda seen: not any(s.path == "" for s in seen)), ledgers)
def test_a_tree_planned_in_chunks_gives_the_same_actions(seen: list[Seen], rows: list[Row]) -> None:
    tops = sorted({thing[0].split("/")[0] for thing in [*seen, *rows]}, reverse=True)
    actions: list[Action] = []
    for top in tops:
        here = [s for s in seen if s.path.split("/")[0] == top]
        known = [r for r in rows if r.path.split("/")[0] == top]
        actions += plan(here, known, judge)
    assert set(actions) == set(plan(seen, rows, judge))


@given(scans, ledgers)
def test_the_plan_takes_no_more_of_its_input_than_it_needs(
    seen: list[Seen], rows: list[Row]
) -> None:
    taken: dict[str, list[str]] = {"seen": [], "rows": []}

    def fed(name: str, things: Iterable[T]) -> Iterator[T]:
        for thing in things:
            taken[name].append(thing[0])  # type: ignore[index]
            yield thing

    last_row = rows[-1].path if rows else ""
    for action in plan(fed("seen", seen), fed("rows", rows), judge):
        path = action.sighting.path if isinstance(action, Examine) else action.path
        ahead = [p for p in taken["seen"] if p > path]
        assert len(ahead) <= 1
        # One row of look-ahead, and at the end of the scan the rest one by one.
        assert len([p for p in taken["rows"] if p > path]) <= 1 or path > last_row


def test_looks_that_differ_anywhere_are_read_again() -> None:
    same = LOOKS[0]
    for look in LOOKS[1:]:
        actions = list(plan([Sighting("f", look, 7)], [row("f", same, 7, True, State.HELD)], judge))
        assert actions == [Examine(Sighting("f", look, 7), True)]
    assert list(plan([Sighting("f", same, 7)], [row("f", same, 7, True, State.HELD)], judge)) == []


@pytest.mark.parametrize("change", [{"inode": 2**64 - 1}, {"mtime_ns": 2**63 + 5}, {"size": 2**63}])
def test_numbers_wider_than_sqlites_still_mean_unchanged(change: dict[str, int]) -> None:
    look = LOOKS[0]._replace(**change)
    wrapped = Look(*((value + 2**63) % 2**64 - 2**63 for value in look))
    old = row("f", wrapped, 7, True, State.HELD)
    assert list(plan([Sighting("f", look, 7)], [old], judge)) == []


def test_a_directory_that_cannot_be_read_hides_only_what_is_below_it() -> None:
    rows = [row(p, LOOKS[0], 7, True, State.HELD) for p in ["d", "d-", "d/x", "d/y/z", "d0", "e"]]
    actions = list(plan([Blind("d/", "permission denied")], rows, judge))
    assert [a.path for a in actions if isinstance(a, Gone)] == ["d", "d-", "d0", "e"]
    assert Unseen("d/", "permission denied") in actions


def test_a_root_that_cannot_be_read_hides_everything() -> None:
    rows = [row(p, LOOKS[0], 7, True, State.HELD) for p in ["/old/x", "a", "b/c"]]
    assert list(plan([Blind("", "input/output error")], rows, judge)) == [
        Unseen("", "input/output error")
    ]


@pytest.mark.parametrize(
    ("path", "top", "answer"),
    [
        ("a", "", True),
        ("a", "a", True),
        ("a/b", "a", True),
        ("a/b", "a/", True),
        ("a-", "a", False),
        ("a0", "a/", False),
        ("ab/c", "a", False),
    ],
)
def test_below_means_whole_names(path: str, top: str, answer: bool) -> None:
    assert at_or_below(path, top) is answer


@given(st.lists(st.one_of(files, st.just("")), max_size=8))
def test_covered_paths_cover_all_and_none_covers_another(paths: list[str]) -> None:
    tops = covered(paths)
    assert all(any(at_or_below(path, top) for top in tops) for path in paths)
    assert not any(at_or_below(x, y) for x in tops for y in tops if x != y)
    assert set(tops) <= set(paths)


# -- holds -----------------------------------------------------------------------------------


def absent(count: int, **fields: object) -> list[Gone]:
    base = Gone("", State.HELD, False, (0, 0, 0))
    return [base._replace(path=f"f{n}", trace=(n, 1, 1), **fields) for n in range(count)]  # type: ignore[arg-type]


def verdict(gone: list[Gone], known: int, **options: object) -> tuple[int, int]:
    """How many go and how many are held."""
    given: dict[str, object] = {
        "hold": Hold(),
        "accepted": False,
        "witnessed": lambda path: False,
        "moved": lambda trace: False,
    }
    go, held = decide(gone, known=known, **{**given, **options})  # type: ignore[arg-type]
    assert sorted([*go, *held]) == sorted(gone)
    return len(go), len(held)


@pytest.mark.parametrize(
    ("gone", "known", "held"),
    [
        (10, 10, 0),  # not more than ten, though all
        (11, 44, 0),  # exactly a quarter
        (11, 43, 11),  # more than both
        (11, 45, 0),
        (25, 100, 0),
        (26, 100, 26),
        (11, 11, 11),
        (0, 0, 0),
    ],
)
def test_absence_is_held_above_both_bounds_only(gone: int, known: int, held: int) -> None:
    assert verdict(absent(gone), known) == (gone - held, held)


def test_the_bounds_can_be_set() -> None:
    assert verdict(absent(3), 4, hold=Hold(2, 0.5)) == (0, 3)
    assert verdict(absent(2), 4, hold=Hold(2, 0.5)) == (2, 0)
    assert verdict(absent(1), 1, hold=Hold(0, 0.0)) == (0, 1)


def test_a_person_can_accept_what_is_held() -> None:
    assert verdict(absent(40), 40, accepted=True) == (40, 0)


def test_certain_absence_goes_at_once_and_does_not_count_against_the_rest() -> None:
    for certain in ({"excluded": True}, {"state": State.LEFT_OUT}, {"state": State.SET_ASIDE}):
        assert verdict(absent(40, **certain), 40) == (40, 0)
    assert verdict(absent(40), 40, witnessed=lambda path: True) == (40, 0)
    assert verdict(absent(40), 40, moved=lambda trace: True) == (40, 0)
    # Thirty witnessed and ten inferred: neither is held. Twenty-nine and eleven: the eleven are.
    assert verdict(absent(40), 40, witnessed=lambda path: int(path[1:]) < 30) == (40, 0)
    assert verdict(absent(40), 40, witnessed=lambda path: int(path[1:]) < 29) == (29, 11)


def test_rows_whose_file_could_not_be_read_are_inferred_like_the_others() -> None:
    assert verdict(absent(40, state=State.UNREADABLE), 40) == (0, 40)


def test_rows_of_which_memory_holds_nothing_go_freely() -> None:
    assert verdict(absent(40, state=State.LOST), 40) == (40, 0)


@pytest.mark.parametrize(
    ("witnessed", "path", "answer"),
    [
        ({"d"}, "d", True),
        ({"d"}, "d/x/y", True),
        ({"d/x"}, "d/x/y", True),
        ({"d"}, "d-/x", False),
        ({"d/x"}, "d", False),
        (set(), "d", False),
    ],
)
def test_a_witnessed_directory_takes_along_what_was_in_it(
    witnessed: set[str], path: str, answer: bool
) -> None:
    assert Scope(("d",), frozenset(witnessed)).saw_removed(path) is answer


# -- the fewest forgets ----------------------------------------------------------------------

ROOT = "/home/u/docs"
FOLDER = FolderSource(FolderSettings("notes", Path(ROOT)))
earlier = st.sampled_from(
    [
        "/home/u",
        "/home/u/docs-old/a",
        "/home/u/docs.md",
        "/home/u/notes/a",
        "/home/u/notes/a/b",
        "/home/u/notes/a-",
        "/home/v/a",
        "/etc/a",
    ]
)
trees = st.dictionaries(st.one_of(files, files, earlier), st.booleans(), max_size=14)


def forgets(kept: set[str], vanished: set[str]) -> list[Doom]:
    def occupied(path: str) -> bool:
        return any(at_or_below(key, path) for key in kept)

    return list(collapse(vanished, occupied, ROOT))


def hits(doom: Doom, key: str) -> bool:
    """Whether a forget removes the item of a key, by the engine's own reading of filters."""
    if doom.by_id:
        return doom.path == key
    path = key if key.startswith("/") else f"{ROOT}/{key}"
    meta = MemoryMeta(file_path=path, source=SourceRef(SourceKind.FOLDER, "notes"))
    return FOLDER.filter(doom.path).matches(ItemKind.DOCUMENT, meta)


@given(trees)
@settings(max_examples=300)
@example({"a": False, "/home/u/notes/a": True})
@example({"a": True, "/home/u": False})
@example({"a": True, "a/b": False, "a/b/a": True})
def test_forgets_hit_all_that_vanished_and_nothing_else(tree: dict[str, bool]) -> None:
    kept = {key for key, stays in tree.items() if stays}
    vanished = tree.keys() - kept
    dooms = forgets(kept, set(vanished))
    for key in vanished:
        assert any(hits(doom, key) for doom in dooms)
    for key in kept:
        assert not any(hits(doom, key) for doom in dooms)
    assert len(dooms) == len(set(dooms)) <= len(vanished)


@given(st.dictionaries(files, st.booleans(), max_size=14))
def test_no_forget_could_have_been_a_wider_one(tree: dict[str, bool]) -> None:
    kept = {key for key, stays in tree.items() if stays}
    for doom in forgets(kept, set(tree.keys() - kept)):
        above = doom.path
        while above:
            above = above.rpartition("/")[0]
            assert any(at_or_below(key, above) for key in kept)
        by_need = any(at_or_below(key, doom.path) for key in kept)
        assert doom.by_id is by_need


def test_a_removed_directory_is_one_forget() -> None:
    gone = {f"d/{n}/{m}.md" for n in range(10) for m in range(10)}
    assert forgets({"d-/x", "d.md", "d0"}, gone) == [Doom("d", False)]


def test_many_scattered_files_go_by_id_and_directories_do_not() -> None:
    scattered = {f"d{n}/go" for n in range(101)}
    kept = {f"d{n}/keep" for n in range(101)}
    whole = {"d", "d/x", "d/y/z", *(f"e/{n}" for n in range(200))}
    dooms = forgets(kept, scattered | whole)
    assert {doom.path for doom in dooms if doom.by_id} == scattered
    assert {doom.path for doom in dooms if not doom.by_id} == {"d", "e"}
    few = forgets(kept, scattered - {"d0/go"})
    assert not any(doom.by_id for doom in few)
    alone = forgets({"keep"}, {f"d{n}/a/b" for n in range(101)})
    assert {doom.path for doom in alone if doom.by_id} == {f"d{n}/a/b" for n in range(101)}


def test_a_source_that_lost_everything_is_one_forget() -> None:
    assert forgets(set(), {"a", "b/c"}) == [Doom("", False)]


def test_a_file_that_became_a_directory_goes_by_id() -> None:
    assert forgets({"d/x"}, {"d"}) == [Doom("d", True)]


def test_a_directory_that_became_a_file_goes_file_by_file() -> None:
    assert set(forgets({"d"}, {"d/x", "d/y/z"})) == {Doom("d/x", False), Doom("d/y", False)}


def test_an_earlier_root_never_takes_the_one_of_now_along() -> None:
    assert forgets({"a"}, {"/home/u/notes/a", "/home/u/notes/b"}) == [Doom("/home/u/notes", False)]
    assert forgets({"a"}, {"/home/u"}) == [Doom("/home/u", True)]
