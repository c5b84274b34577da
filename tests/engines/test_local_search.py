"""Keyword search: what is found, in which order, and over how many pages."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.engines.local import search
from syncd.engines.local.engine import LocalEngine
from syncd.memory import (
    FetchPage,
    FetchRequest,
    ForgetTarget,
    Hit,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
)
from tests.engines.making import document, store, titles

SNAKE = "def parse_http_header(line):\n    return line\n"
CAMEL = "function parseHTTPHeader(line) { return line }\n"
USES = "import re\n\n\ndef other():\n    return parse_http_header('x') or parse_http_header('y')\n"
PROSE = "We parse the\nhttp request and then its header.\n"


@pytest.fixture
def code(engine: LocalEngine) -> LocalEngine:
    filler = [document(f"unrelated text number {n}", f"/f/filler{n}.md") for n in range(30)]
    store(engine, filler)
    texts = {"uses.py": USES, "snake.py": SNAKE, "camel.js": CAMEL, "prose.md": PROSE}
    store(engine, (document(text, f"/code/{name}") for name, text in texts.items()))
    return engine


@pytest.mark.parametrize(
    "query", ["parse http header", "parse_http_header", "parseHTTPHeader", "ParseHttpHeader"]
)
def test_code_is_found_by_its_words_however_it_is_spelt(code: LocalEngine, query: str) -> None:
    found = titles(code, query)
    assert set(found[:2]) == {"snake.py", "camel.js"}, "definitions come first"
    assert "uses.py" in found


def test_the_spelling_that_was_asked_for_leads(code: LocalEngine) -> None:
    assert titles(code, "parse_http_header")[0] == "snake.py"
    assert titles(code, "parseHTTPHeader")[0] == "camel.js"


def test_all_words_come_before_some_of_them(code: LocalEngine) -> None:
    found = titles(code, "http request header")
    assert found[0] == "prose.md"
    assert {"uses.py", "snake.py", "camel.js"} <= set(found)


def test_words_are_found_in_their_other_forms(code: LocalEngine) -> None:
    assert "prose.md" in titles(code, "parsing requests")
    assert titles(code, "UNRELATED")[0].startswith("filler")


def test_a_title_is_found_and_outranks_a_mention(engine: LocalEngine) -> None:
    store(engine, [document("see budget in the budget of budgets", "/a/notes.md")])
    store(engine, [document("numbers", "/a/budget.md"), document("more", "/a/other.md")])
    assert titles(engine, "budget") == ["budget.md", "notes.md"]


ODD = {
    "cpp.md": "Written in C++ by hand",
    "c.md": "Written in C by hand",
    "call.py": "x = foo.bar()",
    "words.md": "the foo has a bar",
    "quote.md": 'she said "hello there" twice',
    "there.md": "there he said hello",
    "party.md": "a party 🎉 tonight",
    "nul.md": "before\0after",
    "cafe.md": "un café noir",
    "japan.md": "Python入門 と 日本語処理",
    "star.md": "glob * and [a-z]",
    "op.md": "this AND that NOT those",
    "math.md": "x^2 - y:z + {w}",
}


@pytest.fixture
def odd(engine: LocalEngine) -> LocalEngine:
    store(engine, (document(text, f"/odd/{name}") for name, text in ODD.items()))
    return engine


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("C++", "cpp.md"),
        ("foo.bar()", "call.py"),
        ('"hello there"', "quote.md"),
        ("🎉", "party.md"),
        ("*", "star.md"),
        ("[a-z]", "star.md"),
        ("cafe", "cafe.md"),
        ("CAFÉ", "cafe.md"),
        ("cafe\u0301", "cafe.md"),
        ("日本語", "japan.md"),
        ("本語", "japan.md"),
        ("語", "japan.md"),
        ("入門", "japan.md"),
        ("python", "japan.md"),
        ("after", "nul.md"),
        ("before\0after", "nul.md"),
        ("\0", "nul.md"),
        ("this AND that", "op.md"),
        ("NOT those", "op.md"),
        ("x^2", "math.md"),
        ("y:z", "math.md"),
        ("{w}", "math.md"),
        ("japan.md", "japan.md"),
    ],
)
def test_anything_that_is_typed_finds_what_it_says(
    odd: LocalEngine, query: str, first: str
) -> None:
    assert titles(odd, query)[0] == first


_ODD = """ " ' "open NEAR(a,b,3) -x + ^ col: ( ) AND \\ % title:x x* ** \u200b \ud7ff"""
LONG = ["a OR", "* *", "\0\0", "a" * 70_000, "(" * 5000, "OR " * 5000]


@pytest.mark.parametrize("query", [*_ODD.split(), *LONG])
def test_no_text_is_an_error(odd: LocalEngine, query: str) -> None:
    page = odd.fetch(FetchRequest(query, limit=3))
    assert len(page.hits) <= 3


def test_a_paste_of_five_megabytes_is_taken(code: LocalEngine) -> None:
    paste = PROSE + "lorem ipsum dolor " * 300_000
    assert titles(code, paste)[0] == "prose.md"


def test_nothing_is_found_where_nothing_is(engine: LocalEngine) -> None:
    assert engine.fetch(FetchRequest("anything")) == FetchPage(())
    engine.store(document("something"))
    assert engine.fetch(FetchRequest("anything")) == FetchPage(())


def test_old_words_are_gone_with_the_item(engine: LocalEngine) -> None:
    old = document("the marmalade recipe parseHTTPHeader 日本", "/a/x.md")
    engine.store(old)
    engine.store(document("the jam recipe", "/a/x.md"))
    engine.forget(ForgetTarget(ids=(old.fingerprint(),)))
    for word in ("marmalade", "parse", "header", "日本"):
        assert titles(engine, word) == []
    assert titles(engine, "jam recipe") == ["x.md"]


FILTERS = {
    "folder": "/deep/3",
    "source_id": "other",
    "tags_any": ("odd",),
    "reach": Reach.exact(Namespace.parse("agent:a")),
    "language": "python",
}


@pytest.mark.parametrize("selective", [0, 10_000])
@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_holds_whichever_way_it_is_applied(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, name: str, selective: int
) -> None:
    monkeypatch.setattr(search, "_SELECTIVE", selective or 10_000)
    if selective:
        monkeypatch.setattr(search.Search, "_count", lambda *_: selective)
    items = [
        document(
            f"common word{n}",
            f"/deep/{n % 7}/{n}.{'py' if n % 5 else 'md'}",
            tags=("odd",) if n % 2 else (),
            namespace=Namespace.parse("agent:a" if n % 3 else "root"),
            source=SourceRef(SourceKind.FOLDER, "other" if n % 4 else "notes"),
        )
        for n in range(60)
    ]
    store(engine, items)
    filter = MetaFilter(**{name: FILTERS[name]})  # type: ignore[arg-type]
    page = engine.fetch(FetchRequest("common", filter=filter, limit=100))
    admitted = {i.fingerprint() for i in items if filter.matches(i.kind, i.meta)}
    assert {hit.id for hit in page.hits} == admitted
    assert 0 < len(admitted) < 60


def walk(engine: LocalEngine, query: str, limit: int) -> list[Hit]:
    hits: list[Hit] = []
    cursor: str | None = None
    while True:
        page = engine.fetch(FetchRequest(query, limit=limit, cursor=cursor))
        assert len(page.hits) <= limit
        hits += page.hits
        cursor = page.next_cursor
        if cursor is None:
            return hits


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
@pytest.mark.parametrize("small", [False, True])
def test_pages_hold_every_match_once_with_falling_scores(
    code: LocalEngine, monkeypatch: pytest.MonkeyPatch, limit: int, small: bool
) -> None:
    """Small windows and "common" words at five rows, so that each way of ranking is walked."""
    if small:
        for name in ("WINDOW", "_COMMON_WINDOW", "COMMON", "_LITERAL_WINDOW"):
            monkeypatch.setattr(search, name, 5)
    hits = walk(code, "unrelated parse header number", limit)
    assert len({hit.id for hit in hits}) == len(hits) == 34
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert walk(code, "🎉", limit) == []
    assert len(walk(code, "'unrelated text'", limit)) == 30


def test_a_common_word_is_ranked_by_how_much_of_the_text_it_is(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "COMMON", 3)
    store(engine, (document(f"cheese and {'much else ' * n}", f"/{n}.md") for n in range(1, 9)))
    store(engine, [document("cheese cheese cheese", "/most.md"), document("cheese " + "x " * 99)])
    assert titles(engine, "cheese")[0] == "most.md"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_writes_between_pages_neither_repeat_nor_lose(
    engine: LocalEngine, data: st.DataObject
) -> None:
    engine.forget(ForgetTarget(filter=MetaFilter(source_id="notes")))
    numbers = data.draw(st.lists(st.integers(0, 40), min_size=1, unique=True))
    items = {n: document(f"apple {'pear ' * (n % 4)} {n}") for n in numbers}
    store(engine, items.values())
    shown: list[str] = []
    gone: set[str] = set()
    cursor: str | None = None
    for turn in range(100):
        page = engine.fetch(FetchRequest("apple pear", limit=3, cursor=cursor))
        shown += [hit.text for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
        engine.store(document(f"apple pear pear new {turn} {data.draw(st.integers(0, 9))}"))
        victim = items[data.draw(st.sampled_from(numbers))]
        gone.add(victim.text)
        engine.forget(ForgetTarget(ids=(victim.fingerprint(),)))
    assert cursor is None
    assert len(shown) == len(set(shown))
    assert {item.text for item in items.values()} - gone <= set(shown)
    assert not [text for text in shown if "new" in text]


def test_a_hit_shows_the_passage_that_matched(engine: LocalEngine) -> None:
    text = "intro\n" * 200 + "the needle lies here\n" + "outro\n" * 200
    engine.store(document(text, "/a/hay.md"))
    (hit,) = engine.fetch(FetchRequest("needles")).hits
    assert hit.passage is not None
    assert "the needle lies here" in hit.passage
    assert hit.passage in hit.text
    assert len(hit.passage) <= 480
