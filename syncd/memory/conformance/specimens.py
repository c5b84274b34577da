"""The items that the checks store: each carries the run's workspace, whatever else it is for.

Every text holds `WORD`, so that a query for it finds them all in any fetch mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from syncd.memory.filters import MetaFilter
from syncd.memory.instant import Instant
from syncd.memory.items import Conversation, Document, Item, Learning, LearningKind, Role, Turn
from syncd.memory.meta import ItemKind, MemoryMeta, SourceKind, SourceRef, ToolCallRef, TurnRange
from syncd.memory.namespace import Namespace

WORD = "harbour"

ONE = Namespace.parse("agent:conformance-one")
TWO = Namespace.parse("agent:conformance-two")
BELOW_ONE = Namespace.parse("agent:conformance-one/agent:conformance-below")
ROOT = Namespace.root()


def document(workspace: str, text: str, **meta: Any) -> Document:
    """A document about `text` in the run's workspace."""
    return Document(f"{WORD} {text}", meta=MemoryMeta(workspace=workspace, **meta))


def trio(workspace: str) -> tuple[Item, ...]:
    """One item of each kind, with every field that an item can have."""
    call = ToolCallRef("shell", "call-1")
    full = MemoryMeta(
        workspace=workspace,
        folder="/conformance/ein Ordner",
        file_path="/conformance/ein Ordner/naïve \U0001f40b\n%_'\".md",
        language="markdown",
        repo="owner/name",
        commit="0" * 40,
        url="https://example.com/?q=a%20b&c",
        thread_id="trio",
        turns=TurnRange(0, 2**32 - 1),
        agent_id="trio-agent",
        tool_call=call,
        source=SourceRef(SourceKind.FOLDER, "trio-source"),
        tags=("zebra", "ant", "zebra crossing"),
        observed_at=Instant.parse("2026-01-02T03:04:05.000000006Z"),
    )
    text = f"{WORD} text \x00\x1f\x7f\u2028 \U0001f40b  with\r\nits spaces \n"
    turns = (
        Turn(Role.USER, f"which {WORD}?", at=Instant.parse("2026-01-02T03:04:05.5Z")),
        Turn(Role.ASSISTANT, "this one", tool_calls=(call, ToolCallRef("read"))),
    )
    plain = MemoryMeta(workspace=workspace, thread_id="trio")
    return (
        Document(text, title="Trio", mime="text/markdown", meta=full),
        Conversation(turns, plain),
        Learning(f"prefers the {WORD}", LearningKind.PREFERENCE, 0.8, "said so", plain),
    )


def nodes(workspace: str) -> tuple[Item, ...]:
    """The same text at the root, at two siblings and below the first of them."""
    return tuple(
        document(workspace, "at a node", namespace=node, tags=("nodes",))
        for node in (ROOT, ONE, TWO, BELOW_ONE)
    )


class Case(NamedTuple):
    """A filter field: the items that carry a value, look-alikes, and filters for the former."""

    field: str
    carriers: tuple[Item, ...]
    others: tuple[Item, ...]
    filters: tuple[MetaFilter, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return self.carriers + self.others


def cases(workspace: str) -> list[Case]:
    """One case for each field of a filter but workspace and reach, which have their own checks."""
    return [
        *(_exact(workspace, name) for name in _EXACT),
        *(_prefix(workspace, name) for name in ("folder", "file_path")),
        *_compound(workspace),
        *_observed(workspace),
        _kinds(workspace),
    ]


_EXACT = ("language", "repo", "commit", "url", "thread_id", "agent_id")


def _case(
    workspace: str, field: str, key: str, wanted: Any, carried: list[Any], others: list[Any]
) -> Case:
    """Documents with the values `carried` or `others` as metadata `key`, and `field=wanted`."""
    return Case(
        field,
        tuple(document(workspace, f"{field} {n}", **{key: v}) for n, v in enumerate(carried)),
        tuple(document(workspace, f"{field} not {n}", **{key: v}) for n, v in enumerate(others)),
        (MetaFilter(workspace=workspace, **{field: wanted}),),
    )


def _exact(workspace: str, name: str) -> Case:
    value = f"{name}_a%b"
    alike = [f"{name}xa%b", value + "/below", value.upper()]
    return _case(workspace, name, name, value, [value], alike)


def _prefix(workspace: str, name: str) -> Case:
    top = f"/conformance/{name}_a%"
    alike = [top + "b", top + ".md", f"/conformance/{name}xa%/c", top.upper() + "/c"]
    case = _case(workspace, name, name, top, [top, top + "/b", top + "/b/c"], alike)
    slashed = MetaFilter(workspace=workspace, **{name: top + "/"})  # type: ignore[arg-type]
    return case._replace(filters=(*case.filters, slashed))


def _compound(workspace: str) -> list[Case]:
    turns = [TurnRange(3, 6), TurnRange(2, 5), TurnRange(4, 4)]
    calls = [ToolCallRef("grep"), ToolCallRef("grep", "call-2")]
    other_calls = [ToolCallRef("egrep", "grep")]
    ids = [SourceRef(id="source_a")]
    rss, link = SourceRef(SourceKind.RSS), SourceRef(SourceKind.LINK)
    kinds = (SourceKind.RSS, SourceKind.IMPORT)
    tags = [("red", "blue"), ("blue",)]
    return [
        _case(workspace, "turns", "turns", TurnRange(3, 5), [TurnRange(3, 5)], turns),
        _case(workspace, "tool_call", "tool_call", "grep", calls, other_calls),
        _case(workspace, "source_id", "source", "source_a", ids, [SourceRef(id="sourcexa")]),
        _case(workspace, "sources", "source", kinds, [rss], [link]),
        _case(workspace, "tags_any", "tags", ("no tag", "blue"), tags, [("bluer",), ("red",)]),
    ]


def _observed(workspace: str) -> list[Case]:
    late, early = Instant.parse("2099-01-01T00:00:00Z"), Instant.parse("1999-01-01T00:00:00Z")
    just_before = [Instant(late.ns - 1)], [Instant(early.ns - 1)]
    return [
        _case(workspace, "observed_after", "observed_at", late, [late], just_before[0]),
        _case(workspace, "observed_before", "observed_at", early, just_before[1], [early]),
    ]


def _kinds(workspace: str) -> Case:
    # The trio holds the same kinds, so that a tag keeps these apart.
    meta = MemoryMeta(workspace=workspace, tags=("kinds",))
    learning = Learning(f"{WORD} kinds 0", LearningKind.FACT, 0.5, meta=meta)
    other = document(workspace, "kinds not 0", tags=("kinds",))
    wanted = MetaFilter(workspace=workspace, kinds=(ItemKind.LEARNING,), tags_any=("kinds",))
    return Case("kinds", (learning,), (other,), (wanted,))
