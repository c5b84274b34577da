"""What the index keeps of a text besides its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.engines.local.words import bigrams, index_row, mixed_words, normal, pieces, subwords


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("parseHTTPHeader", ["parse", "HTTP", "Header"]),
        ("ParseHttpHeader", ["Parse", "Http", "Header"]),
        ("utf8", ["utf", "8"]),
        ("sha256sum", ["sha", "256", "sum"]),
        ("HTTP2Server", ["HTTP", "2", "Server"]),
        ("plain", []),
        ("Title", []),
        ("SHOUT", []),
        ("2024", []),
        ("a1b2c3d4e5f6a7b8c9d0", []),
        ("x" * 40 + "Y" * 40, []),
    ],
)
def test_an_identifier_falls_into_its_words(word: str, parts: list[str]) -> None:
    assert pieces(word) == parts
    assert subwords(word) == (parts or [word])


def test_a_run_without_spaces_falls_into_pairs() -> None:
    assert bigrams("日本語") == "日本 本語 語"
    assert subwords("日本語") == ["日本", "本語"]
    assert subwords("語") == ["語"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_mixed_words_are_those_that_have_pieces(text: str) -> None:
    found = mixed_words(text)
    assert all(word in text and word.isascii() and word.isalnum() for word in found)
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in text).split()
    assert {word for word in words if pieces(word)} == {word for word in found if pieces(word)}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_same_row_gives_the_same_words_again(text: str) -> None:
    row = index_row(text, text, "python", None)
    assert row == index_row(text, text, "python", None)
    assert all("\0" not in column for column in row)


def test_what_is_composed_and_what_is_not_are_one_text() -> None:
    assert normal("cafe\u0301") == normal("café")


@pytest.mark.parametrize(
    ("language", "line", "name"),
    [
        ("python", "    async def parse_header(self):", "parse_header"),
        ("python", "class Parser(Base):", "Parser"),
        ("python", "LIMIT: int = 3", "LIMIT"),
        ("javascript", "export default async function parseIt(x) {", "parseIt"),
        ("typescript", "export interface Options {", "Options"),
        ("javascript", "const handler = () => {", "handler"),
        ("rust", "    pub(crate) fn parse(input: &str) {", "parse"),
        ("rust", "macro_rules! vec_of {", "vec_of"),
        ("go", "func (s *Server) Listen(addr string) error {", "Listen"),
        ("c", "static int parse_line(char *line, int n)", "parse_line"),
        ("c", "struct buffer *buffer_new(void) {", "buffer_new"),
        ("c", "#define MAX_LINE 80", "MAX_LINE"),
        ("java", "    public static void main(String[] args) {", "main"),
        ("ruby", "  def self.build(x)", "build"),
        ("kotlin", "private suspend fun load(): Int {", "load"),
        ("php", "    protected function render($x)", "render"),
    ],
)
def test_definitions_are_recognised(language: str, line: str, name: str) -> None:
    names = index_row(None, f"x\n{line}\ny\n", language, None).names.split()
    assert f"def1{name.replace('_', '0').lower()}" in names


@pytest.mark.parametrize(
    "line",
    [
        "return parse(x)",
        "define the class of",
        "if x == 3:",
        "    value = 3",
        "parse(x);",
        "deft x",
    ],
)
def test_uses_are_no_definitions(line: str) -> None:
    assert index_row(None, line, "python", None).names == ""


def test_headings_are_names_in_markdown_alone() -> None:
    text = "# Getting started ##\n"
    assert "def0gettingstarted" in index_row(None, text, "markdown", None).names.split()
    assert "def0gettingstarted" in index_row(None, text, None, None).names.split()
    assert index_row(None, text, "python", None).names == ""


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "aA" * 500_000, "# " + "x y " * 250_000, "int " * 250_000 + "f("]
)
def test_a_monstrous_line_costs_no_more_than_its_length(text: str) -> None:
    """Each of these takes minutes where a pattern runs back and forth over the line."""
    assert index_row(None, text, "c", "text/markdown").body == text
