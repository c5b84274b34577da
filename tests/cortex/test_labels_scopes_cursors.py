"""Labels, scopes and cursors: exact texts, and what is refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from syncd.engines.cortex import cursors
from syncd.engines.cortex.cursors import Place
from syncd.engines.cortex.labels import item_label, kinds_of, label, of_event, of_filter
from syncd.engines.cortex.scopes import (
    APP,
    Scope,
    admitted,
    discovery_prefix,
    known,
    ordered,
    parse_scope,
)
from syncd.memory import (
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
)
from syncd.memory.errors import InvalidRequest
from tests.cortex.rig import node

ROOT = Namespace.root()
DOCUMENTS = Scope(ItemKind.DOCUMENT, ROOT)


def test_a_label_is_a_tag_and_16_digits() -> None:
    assert label("w", "röad") == "tm:w:" + hashlib.sha256("röad".encode()).hexdigest()[:16]
    assert item_label("abc") == "tm:i:ba7816bf8f01cfea"


def test_an_event_is_labelled_by_everything_that_can_be_asked_for() -> None:
    source = SourceRef(SourceKind.FOLDER, "notes")
    meta = MemoryMeta(
        workspace="w", folder="/f", file_path="/f/p", language="python", repo="o/r",
        thread_id="t", agent_id="a", source=source,
    )  # fmt: skip
    assert of_event("id", meta) == (
        label("i", "id"), label("t", "t"), label("s", "notes"), label("r", "o/r"), label("w", "w"),
        label("a", "a"), label("l", "python"), label("k", "folder"),
    )  # fmt: skip
    assert of_event("id", MemoryMeta()) == (label("i", "id"), label("k", "agent"))


FIELDS: dict[str, Any] = {
    "thread_id": "t", "source_id": "s", "repo": "r", "workspace": "w", "agent_id": "a",
    "language": "l",
}  # fmt: skip


def test_a_read_sends_labels_of_the_first_field_alone() -> None:
    names = list(FIELDS)
    for number, name in enumerate(names):
        fields = {each: FIELDS[each] for each in names[number:]}
        sent = of_filter(MetaFilter(**fields, sources=(SourceKind.RSS,)))
        assert sent == (label(FIELDS[name], fields[name]),)


def test_source_kinds_are_labels_when_nothing_else_is() -> None:
    both = (SourceKind.RSS, SourceKind.LINK, SourceKind.RSS)
    assert of_filter(MetaFilter(sources=both)) == (label("k", "rss"), label("k", "link"))
    assert of_filter(MetaFilter(folder="/f", file_path="/p", url="u", tags_any=("x",))) == ()
    assert of_filter(MetaFilter(workspace="")) == (label("w", ""),)


def test_no_text_is_too_odd_for_a_label() -> None:
    assert len(item_label("\ud800")) == len(item_label("x"))


def test_kinds_come_in_the_contract_s_order() -> None:
    assert kinds_of(MetaFilter()) == tuple(ItemKind)
    asked = (ItemKind.LEARNING, ItemKind.DOCUMENT)
    assert kinds_of(MetaFilter(kinds=asked)) == (ItemKind.DOCUMENT, ItemKind.LEARNING)


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        (DOCUMENTS, "app:tinymemory/app:documents"),
        (Scope(ItemKind.CONVERSATION, node("user:u")), "app:tinymemory/user:u/app:conversations"),
        (
            Scope(ItemKind.LEARNING, node("team:a/agent:b")),
            "app:tinymemory/team:a/agent:b/app:learnings",
        ),
    ],
)
def test_a_scope_has_one_path_and_reads_back(scope: Scope, path: str) -> None:
    assert scope.path == path
    for tenant in ("", "tenant:t1/", "app:x/y/", "app:tinymemory/"):
        assert parse_scope(tenant + path) == scope


@pytest.mark.parametrize(
    "path",
    [
        "", "app:tinymemory", "app:tinymemory/", "app:documents", "app:other/app:documents",
        "app:tinymemory/app:memos", "app:tinymemory/app:documents/",
        "xapp:tinymemory/app:documents", "app:tinymemory/root/app:documents",
        "app:tinymemory/agent:/app:documents", "app:tinymemory/a/app:documents",
        "app:tinymemory//app:documents", "app:tinymemory2/app:documents",
        "app:tinymemory/" + "/".join(["ws:x"] * 9) + "/app:documents",
        "app:documents/app:tinymemory",
        "app:tinymemory/root/app:documents/app:facts",
    ],
)  # fmt: skip
def test_a_path_that_is_no_scope_of_ours(path: str) -> None:
    assert parse_scope(path) is None


def test_what_a_reach_names_itself_needs_no_discovery() -> None:
    below = node("agent:a/agent:b")
    kinds = (ItemKind.DOCUMENT,)

    def nodes(reach: Reach | None) -> list[str]:
        return [str(scope.namespace) for scope in known(reach, kinds)]

    assert nodes(Reach.of(below)) == ["root", "agent:a", "agent:a/agent:b"]
    assert nodes(Reach.exact(below)) == ["agent:a/agent:b"]
    assert nodes(Reach.subtree(below)) == ["agent:a/agent:b"]
    assert nodes(None) == ["root"]
    assert discovery_prefix(Reach.of(below)) is None
    assert discovery_prefix(Reach.exact(ROOT)) is None
    assert discovery_prefix(Reach.subtree(below)) == "app:tinymemory/agent:a/agent:b"
    assert discovery_prefix(Reach.subtree(ROOT)) == discovery_prefix(None) == APP


def test_discovered_scopes_pass_reach_and_kinds() -> None:
    paths = [
        "t/app:tinymemory/agent:a/app:documents", "app:tinymemory/agent:ab/app:documents",
        "app:tinymemory/agent:a/agent:b/app:documents", "app:tinymemory/agent:a/app:learnings",
        "app:tinymemory/agent:a", "junk",
    ]  # fmt: skip
    reach = Reach.subtree(node("agent:a"))
    found = list(admitted(paths, reach, (ItemKind.DOCUMENT,)))
    assert [str(scope.namespace) for scope in found] == ["agent:a", "agent:a/agent:b"]
    assert len(list(admitted(paths, None, tuple(ItemKind)))) == 4


def test_scopes_are_read_by_kind_and_then_by_namespace() -> None:
    nodes = [ROOT, node("agent:a"), node("agent:a/agent:b"), node("agent:a-b")]
    scopes = [Scope(kind, at) for kind in reversed(ItemKind) for at in nodes]
    assert [(s.kind, str(s.namespace)) for s in ordered([*scopes, *scopes])] == [
        (kind, name)
        for kind in ItemKind
        for name in ("root", "agent:a", "agent:a/agent:b", "agent:a-b")
    ]


def test_a_list_cursor_is_l_and_hex_of_json() -> None:
    place = Place("c1", 3, "ev")
    cursor = cursors.write_list(DOCUMENTS, place)
    assert cursor[0] == "l"
    assert json.loads(bytes.fromhex(cursor[1:])) == {
        "scope": "app:tinymemory/app:documents", "page": "c1", "offset": 3, "last": "ev",
    }  # fmt: skip
    assert cursors.read_list(cursor) == (DOCUMENTS, place)
    assert cursors.read_list(cursors.write_list(DOCUMENTS, Place())) == (DOCUMENTS, Place())


def test_a_fetch_cursor_is_f_and_hex_of_json() -> None:
    assert cursors.write_fetch(20) == "f" + b'{"offset":20}'.hex()
    assert cursors.read_fetch(cursors.write_fetch(0)) == 0


def hexed(tag: str, value: Any) -> str:
    return tag + json.dumps(value).encode().hex()


GOOD = {"scope": DOCUMENTS.path, "page": None, "offset": 0, "last": None}


@pytest.mark.parametrize(
    "cursor",
    [
        "", "l", "f", "l0", "lzz", "L7b7d", "l7b7d ", "l7B7D", "x7b7d", " l7b7d", "l7b7d\n",
        hexed("l", []), hexed("l", {}), hexed("l", {"offset": 0}), hexed("f", GOOD),
        hexed("l", {**GOOD, "offset": -1}), hexed("l", {**GOOD, "offset": True}),
        hexed("l", {**GOOD, "offset": 1.0}), hexed("l", {**GOOD, "offset": 2**60}),
        hexed("l", {**GOOD, "page": 7}), hexed("l", {**GOOD, "last": []}),
        hexed("l", {**GOOD, "scope": "t/" + DOCUMENTS.path}), hexed("l", {**GOOD, "scope": 3}),
        hexed("l", {**GOOD, "scope": "app:tinymemory"}), "lff", "l" + "5b" * 100_000,
    ],
)  # fmt: skip
def test_a_malformed_list_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest, match="does not belong"):
        cursors.read_list(cursor)


@pytest.mark.parametrize(
    "cursor",
    [
        "", "f", "f7b7d", hexed("f", {"offset": -1}), hexed("f", {"offset": "0"}),
        hexed("f", {"offset": None}), hexed("f", [0]), hexed("l", GOOD), "f7b", "junk",
    ],
)  # fmt: skip
def test_a_malformed_fetch_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest, match="does not belong"):
        cursors.read_fetch(cursor)
