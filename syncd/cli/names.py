"""How names are spelt in items and shown on a terminal (`syncd.sources.names`), fetched late.

Importing a part of `syncd.sources` imports the folder source, which help and errors do without.
"""

from __future__ import annotations


def escape(name: str) -> str:
    """The spelling of a name or of text from the command line in items: always valid UTF-8."""
    if name.isascii():
        return name
    from syncd.sources.names import escape

    return escape(name)


def printable(text: str) -> str:
    r"""`text` on one line for a terminal: what is invisible or no character as `\xNN`."""
    if text.isascii() and text.isprintable():
        return text
    from syncd.sources.names import printable

    return printable(text)
