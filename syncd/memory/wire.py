"""JSON exactly as the reference implementation writes it (contract 1, "Fingerprint").

Byte-compatibility is what makes an item stored by either side the same item, so these few
functions are the only ones that turn values into wire text.
"""

from __future__ import annotations

import json
import math
import struct
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from syncd.memory.errors import InvalidRequest

# Unicode White_Space, which is what "blank" means to the reference; str.strip() with no argument
# would also strip the information separators U+001C..U+001F, which are not in it.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)

# Escapes what the reference escapes and nothing else; with it a wire form costs a fifth of what a
# JSONEncoder takes, which sets itself up anew for every value.
_quote = json.encoder.encode_basestring


def compact(value: Any) -> str:
    """`value` as JSON without spaces, keys in their order, non-ASCII as it is."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict):
        fields = [f"{_quote(name)}:{compact(field)}" for name, field in value.items()]
        return "{" + ",".join(fields) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(compact, value)) + "]"
    return json.dumps(value)


def is_blank(text: str) -> bool:
    """Whether `text` holds nothing but Unicode white space."""
    return not text.strip(WHITE_SPACE)


def require_unicode(text: str, what: str) -> None:
    """InvalidRequest when `text` holds a lone surrogate, which no JSON or UTF-8 can carry."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{what} is not valid unicode at character {error.start}") from None


def single(value: float) -> float:
    """The shortest decimal that reads back as the same 32-bit float as `value`, as a float."""
    rounded = _to_single(value)
    if not math.isfinite(rounded):
        return rounded
    return float(single_text(rounded))


def single_text(value: float) -> str:
    """`value` as a 32-bit float in its shortest decimal form: `1.0`, `0.000015`, `1e-7`."""
    value = _to_single(value)
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = _shortest(value).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + exponent
    return ("-" if sign else "") + _place(text, point)


def _to_single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _shortest(value: float) -> Decimal:
    exact = Decimal(value)
    for precision in range(1, 10):
        # Both neighbours are tried because the interval of a power of two is not symmetric: the
        # nearest decimal may lie outside where the next one lies inside.
        candidates = [
            exact.normalize(Context(prec=precision, rounding=rounding))
            for rounding in (ROUND_FLOOR, ROUND_CEILING)
        ]
        fitting = [c for c in candidates if _to_single(float(c)) == value]
        if fitting:
            return min(fitting, key=lambda c: abs(c - exact))
    raise AssertionError("nine digits always identify a 32-bit float")


def _place(digits: str, point: int) -> str:
    if len(digits) <= point <= 13:
        return digits + "0" * (point - len(digits)) + ".0"
    if 0 < point <= 13:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1}"
