"""Generated items, metadata and filters; the pools are small so that values meet by chance."""

from __future__ import annotations

from hypothesis import strategies as st

from syncd.memory import (
    Conversation,
    Document,
    Instant,
    Item,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    Segment,
    SourceKind,
    SourceRef,
    ToolCallRef,
    Turn,
    TurnRange,
    Uri,
)
from syncd.memory.namespace import SEGMENT_KINDS
from syncd.memory.wire import is_blank

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
spoken = texts.filter(lambda text: not is_blank(text))
instants = st.integers(Instant.MIN.ns, Instant.MAX.ns).map(Instant)
words = st.sampled_from(["", "a", "A", "a/b", "naïve", "%", "_", "it's", '"'])
paths = st.sampled_from(["/", "/a", "/a/", "/a/b", "/a/bc", "/a/b/c", "/A/b", "/a%", "a", ".", ""])
moments = st.integers(-2, 2).map(lambda day: Instant(day * 86_400_000_000_000))
calls = st.builds(ToolCallRef, words, st.none() | words)
turn_ranges = st.builds(TurnRange, st.integers(0, 2), st.integers(0, 2))
segments = st.builds(Segment, st.sampled_from(SEGMENT_KINDS[:2]), st.sampled_from("ab"))
namespaces = st.lists(segments, max_size=3).map(lambda some: Namespace(tuple(some)))
reaches = st.builds(Reach, namespaces, st.booleans(), st.booleans())
kinds = st.sampled_from(ItemKind)
tags = st.lists(words, max_size=3).map(tuple)


def metas(
    words: st.SearchStrategy[str] = words, moments: st.SearchStrategy[Instant] = moments
) -> st.SearchStrategy[MemoryMeta]:
    word = st.none() | words
    return st.builds(
        MemoryMeta,
        namespace=namespaces,
        workspace=word,
        folder=st.none() | paths,
        file_path=st.none() | paths,
        language=word,
        repo=word,
        commit=word,
        url=word,
        thread_id=word,
        turns=st.none() | turn_ranges,
        agent_id=word,
        tool_call=st.none() | calls,
        source=st.builds(SourceRef, st.sampled_from(SourceKind), word),
        tags=tags,
        observed_at=st.none() | moments,
    )


def filters() -> st.SearchStrategy[MetaFilter]:
    word = st.none() | words
    return st.builds(
        MetaFilter,
        reach=st.none() | reaches,
        workspace=word,
        folder=st.none() | paths,
        file_path=st.none() | paths,
        language=word,
        repo=word,
        commit=word,
        url=word,
        thread_id=word,
        turns=st.none() | turn_ranges,
        agent_id=word,
        tool_call=word,
        source_id=word,
        kinds=st.lists(kinds, max_size=2).map(tuple),
        sources=st.lists(st.sampled_from(SourceKind), max_size=2).map(tuple),
        tags_any=tags,
        observed_after=st.none() | moments,
        observed_before=st.none() | moments,
    )


def turns() -> st.SearchStrategy[Turn]:
    made = st.lists(st.builds(ToolCallRef, texts, st.none() | texts), max_size=2)
    return st.builds(Turn, st.sampled_from(Role), spoken, st.none() | instants, made.map(tuple))


def documents() -> st.SearchStrategy[Document]:
    maybe = st.none() | texts
    return st.builds(Document, spoken, maybe, maybe, metas(texts, instants))


def items() -> st.SearchStrategy[Item]:
    """Valid items of every kind."""
    meta = metas(texts, instants)
    maybe = st.none() | texts
    confidence = st.floats(0, 1, width=32)
    return st.one_of(
        documents(),
        st.builds(Conversation, st.lists(turns(), min_size=1, max_size=3).map(tuple), meta),
        st.builds(Learning, spoken, st.sampled_from(LearningKind), confidence, maybe, meta),
    )


unresolved = st.builds(Document, st.builds(Uri, texts), st.none() | texts)
