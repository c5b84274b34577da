"""JSON text and 32-bit floats as the reference implementation prints them."""

from __future__ import annotations

import json
import math
import struct
import unicodedata
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncd.memory import Document, Learning, LearningKind, errors
from syncd.memory.wire import compact, is_blank, require_unicode, single, single_text

SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}


def expected_escape(code: int) -> str:
    return SHORT.get(code) or (f"\\u{code:04x}" if code < 0x20 else chr(code))


@pytest.mark.parametrize("code", [*range(0x100), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0x1F40B, 0x10FFFF])
def test_only_quotes_backslashes_and_controls_are_escaped(code: int) -> None:
    assert compact(chr(code)) == f'"{expected_escape(code)}"'


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_a_text_is_the_escapes_of_its_characters(text: str) -> None:
    written = compact(text)
    assert written == '"' + "".join(expected_escape(ord(c)) for c in text) + '"'
    assert json.loads(written) == text


def test_json_is_compact_and_keeps_the_order_of_keys() -> None:
    assert compact({"b": [1, {"a": "é/"}], "a": None}) == '{"b":[1,{"a":"é/"}],"a":null}'


FLOATS = {
    0.0: "0.0",
    1.0: "1.0",
    0.8: "0.8",
    0.1: "0.1",
    0.5: "0.5",
    1 / 3: "0.33333334",
    0.000015: "0.000015",
    1e-5: "0.00001",
    1e-6: "0.000001",
    1.5e-6: "0.0000015",
    1e-7: "1e-7",
    1.5e-7: "1.5e-7",
    1.1920929e-7: "1.1920929e-7",
    1e-45: "1e-45",
    1.1754944e-38: "1.1754944e-38",
    0.99999994: "0.99999994",
    0.3: "0.3",
    0.7: "0.7",
    0.95: "0.95",
    0.123456789: "0.12345679",
    16777216.0: "16777216.0",
    8388608.5: "8388608.0",
    123456.7: "123456.7",
    1e10: "10000000000.0",
    1e12: "1000000000000.0",
    1e13: "1e13",
    1e16: "1e16",
    3.4028235e38: "3.4028235e38",
    9.5367432e-7: "9.536743e-7",
    -0.25: "-0.25",
}


@pytest.mark.parametrize(("value", "text"), FLOATS.items(), ids=FLOATS.values())
def test_floats_print_as_the_reference_prints_them(value: float, text: str) -> None:
    assert single_text(value) == text


def test_zero_keeps_its_sign() -> None:
    assert single_text(-0.0) == "-0.0"


def of_bits(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def fits(decimal: Fraction, bits: int) -> bool:
    """Whether `decimal` reads as the positive float of `bits`, by exact arithmetic."""
    below, value, above = (Fraction(of_bits(bits + step)) for step in (-1, 0, 1))
    low, high = (below + value) / 2, (value + above) / 2
    return low < decimal < high or (bits % 2 == 0 and decimal in (low, high))


def significant(text: str) -> int:
    mantissa = text.partition("e")[0].replace(".", "")
    return len(mantissa.strip("0"))


# All positive finite floats but the largest, whose upper neighbour is infinite.
@given(st.integers(1, 0x7F7FFFFE) | st.integers(1, 0x3F800000))
@example(0x4B000000)
@example(0x3F800000)
@example(0x00800000)
def test_a_float_prints_as_the_shortest_decimal_that_reads_back(bits: int) -> None:
    value = of_bits(bits)
    text = single_text(value)
    assert fits(Fraction(text), bits)
    exact = Fraction(value)
    magnitude = Decimal(value).adjusted()
    for digits in range(1, significant(text)):
        unit = Fraction(10) ** (magnitude - digits + 1)
        below = exact // unit * unit
        assert not fits(below, bits)
        assert not fits(below + unit, bits)


@given(st.integers(0, 0x3F800000))
def test_a_confidence_is_held_as_it_is_printed(bits: int) -> None:
    learning = Learning("text", LearningKind.FACT, of_bits(bits))
    assert struct.pack("<f", learning.confidence) == struct.pack("<I", bits)
    assert single(learning.confidence) == learning.confidence
    assert f'"confidence":{single_text(of_bits(bits))},' in learning.wire()


@given(st.floats(0, 1))
def test_a_double_is_rounded_to_the_nearest_single(value: float) -> None:
    rounded = struct.unpack("<f", struct.pack("<f", value))[0]
    assert Learning("t", LearningKind.FACT, value) == Learning("t", LearningKind.FACT, rounded)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, -1e300])
def test_what_no_single_can_hold_is_null_on_the_wire(value: float) -> None:
    assert single_text(value) == "null"
    assert not math.isfinite(single(value))


WHITE_SPACE = [0x9, 0xA, 0xB, 0xC, 0xD, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
WHITE_SPACE += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def test_blank_is_what_unicode_calls_white_space_and_nothing_else() -> None:
    blank = [code for code in range(0x110000) if is_blank(chr(code))]
    assert blank == WHITE_SPACE
    assert is_blank("")
    assert is_blank("".join(map(chr, WHITE_SPACE)))
    assert not is_blank(" \x1f ")
    assert unicodedata.category("\u200b") == "Cf"
    assert not is_blank("\u200b")


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d\udc0b"])
def test_lone_surrogates_are_no_text(text: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=r"^body is not valid unicode at character"):
        require_unicode(text, "body")
    with pytest.raises(errors.InvalidRequest):
        Document(text).validate()
    with pytest.raises(errors.InvalidRequest):
        Document(text).fingerprint()
