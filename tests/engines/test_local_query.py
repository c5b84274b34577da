"""Whatever is typed becomes words, never an operator."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.engines.local.query import MOST_TERMS, all_of, any_of, parse


def test_stop_words_go_unless_there_is_nothing_else() -> None:
    assert parse("how does the parser work").words == ("parser", "work")
    assert parse("to be or not to be").words == ("to", "be", "or", "not")


def test_a_word_counts_once_whatever_its_case() -> None:
    assert parse("Error error ERROR").words == ("Error",)


def test_an_identifier_is_looked_for_whole_and_in_parts() -> None:
    assert parse("parseHTTPHeader").terms == ('"parseHTTPHeader" OR "parse HTTP Header"',)
    assert parse("parseHTTPHeader").exact == parse("parse_http_header").exact
    assert parse("parseHTTPHeader").spelt != parse("parse_http_header").spelt


def test_scripts_without_spaces_are_looked_for_in_pairs() -> None:
    assert parse("日本語").terms == ('"日本語" OR "日本 本語"',)
    assert parse("語").terms == ('"語" *',)
    assert parse("Python入門").words == ("Python", "入門")


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("C++", ("C++",)),
        ("foo.bar()", ("foo.bar()",)),
        ('say "hello there" now', ("hello there",)),
        ("what is it?", ()),
        ("a plain text", ()),
        ("snake_case", ()),
        ("five words, and a comma too", ()),
        ('""', ()),
        ('"** **"', ()),
    ],
)
def test_symbols_and_quotes_are_meant_literally(text: str, literals: tuple[str, ...]) -> None:
    assert parse(text).literals == literals
    assert bool(parse(text).phrases) == bool(literals)


@pytest.mark.parametrize("text", ["*", "🎉", '"', "\0", "()", "--", "***", " ^ : "])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert parse(text).words == ()


def test_a_huge_paste_is_cut_to_its_first_words() -> None:
    assert (
        len(parse("word%d " * 0 + " ".join(f"w{n}x" for n in range(500_000))).terms) == MOST_TERMS
    )
    assert len(parse("x" * 5_000_000).terms[0]) < 70_000


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text('"*^:()-+{}ANDORNETab\0 '))
def test_every_expression_is_one_that_fts5_takes(text: str) -> None:
    query = parse(text)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(names, body)")
    asked = [query.phrases, query.exact, query.spelt, query.names]
    asked += [all_of(query.terms), any_of(query.terms), *query.terms]
    for expression in filter(None, asked):
        connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()
