"""The commands that read memory and forget, on the reference engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncd.cli import session
from syncd.cli.explore import FACETS
from syncd.memory import (
    EngineHealth,
    Facet,
    FetchMode,
    FetchPage,
    FetchRequest,
    Hit,
    ListPage,
    ListRequest,
    MemoryMeta,
)
from syncd.memory.errors import Engine, MemoryError, Unauthorized, Unavailable
from syncd.memory.reference import ReferenceEngine
from tests.cli.conftest import Cli, note


@pytest.fixture(autouse=True)
def _memory(memory: ReferenceEngine) -> None:
    """Every test here has the three notes."""


def id_of(memory: ReferenceEngine, path: str) -> str:
    return next(hit.id for hit in memory.list(ListRequest()).items if hit.meta.file_path == path)


def paths(page: dict[str, list[dict[str, dict[str, str]]]], key: str = "items") -> list[str]:
    return sorted(hit["meta"]["file_path"] for hit in page[key])


def test_search_shows_rank_path_line_and_passage(cli: Cli) -> None:
    result = cli("search", "http", "header")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == " 1. /n/http.md:4"
    assert lines[1] == "    parse the http header"


def test_search_shows_ids_on_request(cli: Cli, memory: ReferenceEngine) -> None:
    id = id_of(memory, "/n/http.md")
    assert id not in cli("search", "http").out
    assert id in cli("search", "http", "--ids").out


def test_search_json_is_the_contract_s_page(cli: Cli, memory: ReferenceEngine) -> None:
    page = memory.fetch(FetchRequest("road", FetchMode.KEYWORD))
    result = cli("search", "road", "--mode", "keyword", "--json")
    assert result.json == page.as_json()
    assert "röad" in result.out


def test_search_without_a_hit_says_so_on_stderr(cli: Cli) -> None:
    result = cli("search", "--mode", "keyword", "unheard-of")
    assert (result.code, result.out, result.err) == (0, "", "nothing found\n")
    assert cli("search", "--mode", "keyword", "unheard-of", "--json").json == {"hits": []}


def test_search_pages(cli: Cli) -> None:
    first = cli("search", "the", "--limit", "1", "--mode", "keyword", "--json").json
    token = first["next_cursor"]
    more = cli("search", "the", "--limit", "1", "--mode", "keyword", "--cursor", token, "--json")
    assert {paths(first, "hits")[0], paths(more.json, "hits")[0]} == {
        "/n/http.md",
        "/n/sub/röad.md",
    }
    assert f"--cursor {token}" in cli("search", "the", "--limit", "1", "--mode", "keyword").err


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ((FetchMode.KEYWORD, FetchMode.HYBRID), FetchMode.HYBRID),
        ((FetchMode.KEYWORD, FetchMode.VECTOR), FetchMode.KEYWORD),
    ],
)
def test_search_takes_hybrid_where_it_is_served(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    modes: tuple[FetchMode, ...],
    expected: FetchMode,
) -> None:
    asked: list[FetchMode] = []

    class Asked(ReferenceEngine):
        def fetch(self, request: FetchRequest) -> FetchPage:
            asked.append(request.mode)
            return super().fetch(request)

    monkeypatch.setattr(session, "open_engine", lambda config, read_only: Asked(modes))
    assert cli("search", "x").code == 0
    assert asked == [expected]
    result = cli("search", "x", "--mode", "vector" if expected is FetchMode.HYBRID else "hybrid")
    assert (result.code, "does not offer" in result.err) == (2, True)


def test_a_blank_query_is_wrong_use(cli: Cli) -> None:
    result = cli("search", " ")
    assert (result.code, result.err) == (2, "syncd: a fetch needs a query\n")
    assert cli("search").code == 2


@pytest.mark.parametrize(
    "query", ["C++", "foo.bar()", '"', "*", "\udce9", "\x1b[31m", "a\nb", "^("]
)
def test_any_text_can_be_searched_for(cli: Cli, query: str) -> None:
    result = cli("search", "--", query)
    assert result.code == 0
    assert "\x1b" not in result.out


def test_a_hit_cannot_send_escapes(cli: Cli, memory: ReferenceEngine) -> None:
    memory.store(note("/n/evil\x1b[2J\n.md", "needle \x1b]0;title\x07 \u202e needle"))
    for command in (
        ("search", "needle"),
        ("list",),
        ("recall", "needle"),
        ("explore", "file_path"),
    ):
        result = cli(*command)
        assert result.code == 0
        assert "evil" in result.out
        assert not set("\x1b\x07\u202e") & set(result.out)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--source", "notes"], 3),
        (["--source", "other"], 0),
        (["--folder", "/n"], 2),
        (["--folder", "/n/"], 2),
        (["--path", "/n/sub/röad.md"], 1),
        (["--language", "Python"], 1),
        (["--tag", "plan", "--tag", "x"], 1),
        (["--kind", "document"], 3),
        (["--kind", "learning"], 0),
        (["--namespace", "team:a"], 1),
        (["--namespace", "root"], 2),
        (["--since", "2024-04-30"], 3),
        (["--since", "2h"], 0),
        (["--until", "7d ago"], 3),
        (["--since", "2024-05-01T12:00:00Z", "--until", "2024-05-01T12:00:00.001Z"], 3),
        (["--since", "2024-05-01T14:00:01+02:00"], 0),
        (["--repo", "a/b"], 0),
        (["--commit", "abc"], 0),
        (["--folder", "/n", "--tag", "plan"], 1),
    ],
)
def test_filters(cli: Cli, options: list[str], expected: int) -> None:
    assert len(cli("list", *options, "--json").json["items"]) == expected
    assert cli("explore", "kind", *options, "--json").json["total"] == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--since", "yesterday"], "'yesterday' is not a date"),
        (["--until", "2024-13-01"], "'2024-13-01' is not a date"),
        (["--since", "99999999d"], "is not a date"),
        (["--namespace", "x"], "namespace"),
        (["--kind", "letter"], "letter"),
        (["--limit", "0"], "limit"),
        (["--cursor", "made-up"], "cursor"),
    ],
)
def test_filters_that_mean_nothing_are_wrong_use(cli: Cli, options: list[str], words: str) -> None:
    result = cli("list", *options)
    assert (result.code, result.out) == (2, "")
    assert words in result.err


def test_relative_paths_mean_what_is_on_disk(
    cli: Cli, memory: ReferenceEngine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = home / "real"
    real.mkdir()
    (real / "a.md").touch()
    (home / "alias").symlink_to(real)
    memory.store(note(f"{real}/a.md", "here"))
    memory.store(note("src/a.md", "in a repository", repo="o/r"))
    monkeypatch.chdir(home / "alias")
    for options in (["--path", "a.md"], ["--folder", "."], ["--path", f"{home}/alias/a.md"]):
        assert paths(cli("list", *options, "--json").json) == [f"{real}/a.md"]
    assert paths(cli("list", "--path", "./gone.md", "--json").json) == []
    assert paths(cli("list", "--path", "src/a.md", "--json").json) == ["src/a.md"]


def test_a_path_that_is_not_utf8_is_looked_for_as_items_spell_it(
    cli: Cli, memory: ReferenceEngine
) -> None:
    memory.store(note("/n/caf\uefe9.md", "coffee"))
    assert len(cli("list", "--path", "/n/caf\udce9.md", "--json").json["items"]) == 1
    assert "caf\\xe9.md" in cli("list", "--path", "/n/caf\udce9.md").out


def test_list_shows_id_date_and_path(cli: Cli, memory: ReferenceEngine) -> None:
    id = id_of(memory, "/n/http.md")
    assert f"{id}  2024-05-01  /n/http.md\n" in cli("list").out


def test_list_keeps_ids_whole_on_a_narrow_terminal(
    cli: Cli, memory: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = cli("list").out.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert id_of(memory, "/n/http.md") in {line.split()[0] for line in lines}


def test_list_visits_every_page(cli: Cli) -> None:
    found, options = [], ["list", "--limit", "2", "--json"]
    page = cli(*options).json
    found += paths(page)
    found += paths(cli(*options, "--cursor", page["next_cursor"]).json)
    assert sorted(found) == ["/n/http.md", "/n/sub/röad.md", "/n2/x.py"]


def test_list_json_is_the_contract_s_page(cli: Cli, memory: ReferenceEngine) -> None:
    assert cli("list", "--json").json == memory.list(ListRequest()).as_json()


def test_get_prints_the_text(cli: Cli, memory: ReferenceEngine) -> None:
    one, two = id_of(memory, "/n2/x.py"), id_of(memory, "/n/sub/röad.md")
    assert cli("get", one).out == "# x.py\n\nimport os\n"
    assert cli("get", one, two).out.startswith("==> /n2/x.py\n# x.py")
    assert [hit["id"] for hit in cli("get", two, one, two, "--json").json] == [two, one]


def test_get_says_what_is_not_there(cli: Cli, memory: ReferenceEngine) -> None:
    one = id_of(memory, "/n2/x.py")
    result = cli("get", "nope\x1b", one, "--json")
    assert (result.code, len(result.json)) == (1, 1)
    assert result.err == "memory holds no item nope\\x1b\n"
    assert cli("get", " ").code == 2


def test_recall_answers_with_citations(cli: Cli) -> None:
    result = cli("recall", "which", "header?")
    assert (result.code, "[1] /n/" in result.out) == (0, True)
    assert result.out.count("[1] /n/http.md") <= 1
    found = cli("recall", "header", "--limit", "1", "--json").json
    assert set(found) >= {"answer", "citations"}
    assert len(found["citations"]) == 1


def test_explore_offers_every_facet(cli: Cli) -> None:
    assert set(FACETS) == {facet.value for facet in Facet}
    for facet in FACETS:
        assert cli("explore", facet).code == 0
    result = cli("explore", "size")
    assert (result.code, "language" in result.err) == (2, True)


def test_explore_counts(cli: Cli) -> None:
    result = cli("explore", "language")
    assert result.out == "2  markdown\n1  python\n"
    assert result.err == "3 items\n"
    assert cli("explore", "tag").err == "3 items, 2 without a tag\n"
    assert "1 more value: --limit" in cli("explore", "language", "--limit", "1").err
    assert cli("explore", "language", "--json").json["buckets"][0] == {
        "value": "markdown",
        "count": 2,
    }


def test_forget_refuses_to_forget_everything(cli: Cli, memory: ReferenceEngine) -> None:
    for options in ([], ["--yes"], ["--yes", "--json"]):
        result = cli("forget", *options)
        assert (result.code, result.out) == (2, "")
        assert "everything" in result.err
    assert cli("forget", "some-id", "--source", "notes", "--yes").code == 2
    assert len(memory.list(ListRequest()).items) == 3


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_forget_asks_and_says_how_many(
    cli: Cli, memory: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "n\n")
    result = cli("forget", "--folder", "/n")
    assert (result.code, result.out) == (1, "")
    assert "forget 2 items?" in result.err
    assert "nothing was forgotten" in result.err
    assert len(memory.list(ListRequest()).items) == 3
    answer(monkeypatch, "y\n")
    assert cli("forget", "--folder", "/n").out == "forgot 2 items\n"
    assert len(memory.list(ListRequest()).items) == 1


def test_forget_without_an_answer_says_what_to_do(
    cli: Cli, memory: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "")
    result = cli("forget", "--folder", "/n")
    assert (result.code, "--yes" in result.err) == (2, True)
    assert len(memory.list(ListRequest()).items) == 3


def test_forget_by_id_for_scripts(cli: Cli, memory: ReferenceEngine) -> None:
    one = id_of(memory, "/n2/x.py")
    assert cli("forget", one, one, "unknown", "--yes", "--json").json == {"forgotten": 1}
    assert len(memory.list(ListRequest()).items) == 2


def test_forget_of_nothing_does_not_ask(cli: Cli) -> None:
    assert cli("forget", "--source", "gone").out == "forgot 0 items\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unavailable("no answer from the service"), 3),
        (Unauthorized("the key was refused"), 3),
        (Engine("the memory file /m.db is damaged: restore it"), 3),
    ],
)
def test_an_engine_that_does_not_serve_is_a_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: MemoryError, code: int
) -> None:
    class Broken(ReferenceEngine):
        def list(self, request: ListRequest) -> ListPage:
            raise error

        def health(self) -> EngineHealth:
            return EngineHealth.down(error.message)

    monkeypatch.setattr(session, "open_engine", lambda config, read_only: Broken())
    result = cli("list")
    assert (result.code, result.out, result.err) == (code, "", f"syncd: {error.message}\n")


def test_an_item_without_a_path_is_named_by_its_first_line() -> None:
    from syncd.cli.items import location, name_of

    meta = MemoryMeta(repo="o/r", commit="0123456789abcdef")
    assert name_of(meta, "# Fix the road\n\nbody") == "o/r@0123456789 Fix the road"
    assert name_of(MemoryMeta(repo="o/r", file_path="src/a.py"), "") == "o/r:src/a.py"
    assert name_of(MemoryMeta(), "\n\nuser: hello\n") == "user: hello"
    assert name_of(MemoryMeta(), "") == ""
    hit = Hit(id="i", kind="document", text="", meta=MemoryMeta())  # type: ignore[arg-type]
    assert location(hit, ["x"]) == ("", "")


def test_the_line_number_is_the_file_s_own_or_none() -> None:
    from dataclasses import replace

    from syncd.cli.items import location

    item = note("/n/a.md", "one\ntwo needle\nthree\n")
    text = item.render_text()
    hit = Hit("i", item.kind, text, item.meta, passage="two needle\nthree")
    assert location(hit, ["needle"]) == ("/n/a.md:2", "two needle")
    elided = replace(hit, passage="…needle…")
    assert location(elided, ["needle"]) == ("/n/a.md", "…needle…")
    part = replace(hit, text="# a.md (2/5)\n\ntwo needle", passage=None)
    assert location(part, ["needle"]) == ("/n/a.md", "two needle")


def test_only_forget_opens_the_memory_to_change_it(
    cli: Cli, memory: ReferenceEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[bool] = []

    def opening(config: object, read_only: bool = False) -> ReferenceEngine:
        opened.append(read_only)
        return memory

    monkeypatch.setattr(session, "open_engine", opening)
    for command in (["list"], ["search", "x"], ["recall", "x"], ["get", "x"], ["explore", "kind"]):
        cli(*command)
    assert opened == [True] * 5
    cli("forget", "--source", "gone", "--yes")
    assert opened[5:] == [False]
