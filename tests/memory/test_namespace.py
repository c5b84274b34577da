"""Where items live and who sees them, compared with the definition over whole trees."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.memory import Namespace, Reach, Segment, errors
from syncd.memory.namespace import SEGMENT_KINDS
from tests.memory import strategies

# The whole tree of two kinds and two ids down to three levels below the root.
STEPS = ["agent:a", "agent:b", "team:a"]
TREE = [
    Namespace.parse("/".join(path))
    for depth in range(4)
    for path in itertools.product(STEPS, repeat=depth)
]


@pytest.mark.parametrize("text", ["", "root"])
def test_the_root_has_two_names(text: str) -> None:
    assert Namespace.parse(text) == Namespace.root() == Namespace()
    assert Namespace.root().is_root
    assert str(Namespace.root()) == "root"
    assert Namespace.root().path == ""


@pytest.mark.parametrize("kind", SEGMENT_KINDS)
@pytest.mark.parametrize("id", ["a", "_", "-", "A-z_09", "a" * 128])
def test_a_path_survives_its_text(kind: str, id: str) -> None:
    text = f"{kind}:{id}/user:x"
    namespace = Namespace.parse(text)
    assert str(namespace) == namespace.path == text
    assert namespace.segments == (Segment(kind, id), Segment("user", "x"))
    assert not namespace.is_root


@given(strategies.namespaces)
def test_every_namespace_survives_its_text(namespace: Namespace) -> None:
    assert Namespace.parse(str(namespace)) == Namespace.parse(namespace.path) == namespace
    assert hash(Namespace.parse(str(namespace))) == hash(namespace)


@pytest.mark.parametrize(
    "text",
    [
        "agent",
        "agent:",
        ":a",
        "Agent:a",
        "robot:a",
        "agent:a b",
        "agent:a:b",
        "agent:é",
        "agent:a\n",
        "agent:" + "a" * 129,
        "/agent:a",
        "agent:a/",
        "agent:a//agent:b",
        "root/agent:a",
        "ROOT",
        " ",
        "/".join(["agent:a"] * 9),
    ],
)
def test_what_is_no_namespace_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        Namespace.parse(text)


def test_eight_segments_are_the_deepest() -> None:
    deepest = Namespace.parse("/".join(["agent:a"] * 8))
    assert len(deepest.segments) == 8
    with pytest.raises(errors.InvalidRequest, match="at most 8"):
        Namespace((*deepest.segments, Segment("agent", "b")))


def test_ancestors_come_nearest_first_and_end_at_the_root() -> None:
    namespace = Namespace.parse("team:a/agent:b/ws:c")
    above = [str(ancestor) for ancestor in namespace.ancestors()]
    assert above == ["team:a/agent:b", "team:a", "root"]
    assert list(Namespace.root().ancestors()) == []


def fnv1a(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value ^= byte
        value = value * 16777619 % 2**32
    return value


@pytest.mark.parametrize(
    ("data", "digest"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)]
)
def test_the_tests_hash_is_fnv_1a(data: bytes, digest: int) -> None:
    assert fnv1a(data) == digest


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("", "_"),
        ("a", "a-e40c292c"),
        ("foobar", "foobar-bf9cf968"),
        ("a b/c", f"a-b-c-{fnv1a(b'a b/c'):08x}"),
        ("é", f"--{fnv1a('é'.encode()):08x}"),
        ("x" * 300, "x" * 119 + f"-{fnv1a(b'x' * 300):08x}"),
    ],
)
def test_any_text_becomes_an_id(text: str, id: str) -> None:
    assert Segment.sanitised("agent", text).id == id


@given(st.text(max_size=200), st.text(max_size=200))
def test_sanitised_ids_are_legal_and_tell_texts_apart(left: str, right: str) -> None:
    ids = [Segment.sanitised("user", text).id for text in (left, right)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", id) for id in ids)
    assert (ids[0] == ids[1]) == (left == right)


def admits(reach: Reach, namespace: Namespace) -> bool:
    """The definition, on texts."""
    at, there = ([*map(str, node.segments)] for node in (reach.at, namespace))
    if at == there:
        return True
    is_above = len(there) < len(at) and at[: len(there)] == there
    is_below = len(there) > len(at) and there[: len(at)] == at
    return (reach.inherit and is_above) or (reach.descendants and is_below)


@pytest.mark.parametrize("inherit", [False, True])
@pytest.mark.parametrize("descendants", [False, True])
def test_reach_is_its_definition_over_a_whole_tree(inherit: bool, descendants: bool) -> None:
    for at, there in itertools.product(TREE, repeat=2):
        reach = Reach(at, inherit, descendants)
        assert reach.admits(there) == admits(reach, there), (str(at), str(there))


@given(strategies.reaches, strategies.namespaces)
def test_reach_is_its_definition(reach: Reach, namespace: Namespace) -> None:
    assert reach.admits(namespace) == admits(reach, namespace)


def test_contains_is_what_ancestors_say() -> None:
    for above, below in itertools.product(TREE, repeat=2):
        assert above.contains(below) == (above in set(below.ancestors()))


def test_a_sibling_is_never_admitted() -> None:
    one, two, longer = map(Namespace.parse, ("agent:a", "agent:b", "agent:ab"))
    for inherit, descendants in itertools.product([False, True], repeat=2):
        reach = Reach(one, inherit, descendants)
        assert not reach.admits(two)
        assert not reach.admits(longer)


def test_the_ways_to_make_a_reach() -> None:
    node = Namespace.parse("agent:a")
    assert Reach.of(node) == Reach(node, inherit=True, descendants=False)
    assert Reach.exact(node) == Reach(node, inherit=False, descendants=False)
    assert Reach.subtree(node) == Reach(node, inherit=False, descendants=True)
    assert Reach() == Reach.of(Namespace.root())
    assert [node for node in TREE if Reach().admits(node)] == [Namespace.root()]
    assert Reach.of(node).as_json() == {"at": "agent:a", "inherit": True, "descendants": False}
