"""The best part of a text: exact, short, and found in time that grows with the text alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncd.engines.local.passages import best_passage, passage_of, weigher

ALPHABET = st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab\n İß")


@given(st.text(ALPHABET, min_size=1), st.lists(st.text("abİß", min_size=1), max_size=4))
def test_a_passage_is_a_part_of_the_text(text: str, words: list[str]) -> None:
    passage = passage_of(text, words)
    assert passage in text
    assert len(passage) <= 480


def test_the_place_with_most_of_the_words_wins() -> None:
    text = "alpha\n" + "x\n" * 500 + "alpha and beta and gamma\n" + "x\n" * 500 + "beta gamma\n"
    assert "alpha and beta and gamma" in (best_passage(text, ["alpha", "beta", "gamma"]) or "")


def test_a_rarer_word_weighs_more() -> None:
    text = "common\n" * 300 + "x\n" * 300 + "rare\n" + "x\n" * 300 + "common\n" * 300
    assert "rare" in (best_passage(text, ["common", "rare"]) or "")


def test_a_definition_outweighs_a_use() -> None:
    text = "load()\n" + "x = 1\n" * 200 + "def load():\n    return 1\n" + "y = 2\n" * 200
    assert "def load()" in (best_passage(text, ["load"]) or "")


def test_other_forms_and_subwords_are_places_too() -> None:
    text = "x\n" * 400 + "the parser was parsing parseHTTPHeader\n" + "x\n" * 400
    for words in (["parses"], ["header"], ["parseHTTPHeader"], ["parsed", "headers"]):
        assert "parseHTTPHeader" in (best_passage(text, words) or ""), words


def test_the_inside_of_a_word_is_no_place() -> None:
    assert best_passage("sparse comparison", ["parse"]) is None


def test_without_a_place_it_is_the_start() -> None:
    assert best_passage("nothing here", ["absent"]) is None
    assert passage_of("\n\n  nothing here\nat all", ["absent"]).strip().startswith("nothing here")


def test_one_endless_line_gives_a_short_passage() -> None:
    passage = best_passage("word " * 100_000 + "needle" + " word" * 100_000, ["needle"])
    assert passage is not None
    assert "needle" in passage
    assert len(passage) <= 480


def test_ten_megabytes_full_of_the_words_are_no_trouble() -> None:
    text = "needle thread\n" * 750_000
    assert (best_passage(text, ["needle", "thread"]) or "").startswith("needle thread")


def test_weight_grows_with_the_share_of_the_words() -> None:
    cheese, both = weigher(["cheese"]), weigher(["value", "error"])
    assert cheese("cheese cheese") > cheese("cheese wine") > 0
    assert cheese("cheese wine") > cheese("cheese " + "x " * 5000)
    assert both("value error") > both("error value")
    assert cheese("nothing") == 0
