#!/usr/bin/env python3
"""Writes web/lib/tokenizer/unicode/unicode_classes.js and unicode_marks.js: what the Rust tokenizers package takes for letters,
digits, spaces, combining marks and so on.

Its tables never change with the browser, so the ids of a text do not either. Every code point is asked once, through the
package's own Python module:

    pip install tokenizers==0.23.3 && python tools/make_unicode_classes.py web/lib/tokenizer
"""

import base64
import pathlib
import struct
import sys
import unicodedata

import tokenizers
from make_bert_classes import ranges, wrapped
from tokenizers import Regex
from tokenizers.normalizers import NFD, NFKD, Precompiled, StripAccents
from tokenizers.pre_tokenizers import Digits, Split, Whitespace

POINTS = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
EVERY = "".join(map(chr, POINTS))


def matched(splitter):
    """Code points that a pre-tokenizer, given all of them in one text, leaves."""
    return [POINTS[i] for _, (start, end) in splitter.pre_tokenize_str(EVERY) for i in range(start, end)]


def of_pattern(pattern):
    return matched(Split(Regex(pattern), "removed", invert=True))


def pattern_classes():
    leaves = {name: of_pattern(r"\p{%s}" % name) for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "M", "Nd", "Nl", "No", "P", "S")}
    for whole, parts in {"L": ("Lu", "Ll", "Lt", "Lm", "Lo"), "N": ("Nd", "Nl", "No")}.items():
        assert sorted(p for part in parts for p in leaves[part]) == of_pattern(r"\p{%s}" % whole)
    tables = {name: (f"\\p{{{name}}} of a pattern", points) for name, points in leaves.items()}
    tables["HAN"] = (r"\p{Han} of a pattern", of_pattern(r"\p{Han}"))
    tables["PATTERN_SPACE"] = (r"\s of a pattern", of_pattern(r"\s"))
    tables["PATTERN_WORD"] = (r"\w of a pattern", of_pattern(r"\w"))
    assert of_pattern(r"\d") == leaves["Nd"]
    spaces = set(tables["PATTERN_SPACE"][1])
    pieces = Whitespace()
    word = [p for p in POINTS if p not in spaces and len(pieces.pre_tokenize_str("a" + chr(p))) == 1]
    tables["WORD"] = ("what the pre-tokenizer Whitespace takes for a part of a word", word)
    digits = Digits(individual_digits=True)
    numeric = [p for p in POINTS if len(digits.pre_tokenize_str(f"a{chr(p)}a")) == 3]
    tables["NUMERIC"] = ("what the pre-tokenizer Digits sets apart", numeric)
    return tables


def every_byte_is_x():
    """A charsmap that turns each grapheme of fewer than six bytes into one "x": in its double array every byte but 0 leads
    from node 0, whose children are at 512 ^ byte, to the leaf 768 of value 0."""
    units = [0] * 1024
    units[0] = 512 << 10
    for byte in range(1, 256):
        leaf = 768
        units[512 ^ byte] = ((512 ^ byte ^ leaf) << 10) | (1 << 8) | byte
    units[768] = 1 << 31
    return Precompiled(struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + b"x\0")


def mark_classes():
    nfd, nfkd, strip, graphemes = NFD(), NFKD(), StripAccents(), every_byte_is_x()

    def clusters(text):
        return graphemes.normalize_str(text)

    assert clusters("ab") == "xx" and clusters("a\u0301") == "x" and clusters("\r\n") == "x"
    moved = [p for p in POINTS if nfd.normalize_str("a\u0345" + chr(p)) == "a" + nfd.normalize_str(chr(p)) + "\u0345"]
    moved = [p for p in moved if nfd.normalize_str(chr(p)) == chr(p) and unicodedata.combining(chr(p))]
    classes = {}
    for point in sorted({*moved, 0x345}):
        classes.setdefault(unicodedata.combining(chr(point)), []).append(point)
    orders = " ".join(f"{order}: {ranges(points)}" for order, points in sorted(classes.items()))
    canonical = [p for p in POINTS if nfd.normalize_str(chr(p)) != chr(p) and not 0xAC00 <= p < 0xD7A4]
    pairs = [unicodedata.decomposition(chr(p)).split() for p in canonical]
    seconds = {int(pair[1], 16) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")}
    compatible = [p for p in POINTS if nfkd.normalize_str(chr(p)) != nfd.normalize_str(chr(p))]
    small = [p for p in POINTS if p > 0]
    return {
        "ORDERS": ("combining classes, each followed by what has it", orders),
        "CANONICAL": ("what NFD decomposes, Hangul syllables apart", canonical),
        "SECONDS": ("what NFC joins to the character before it, Hangul apart", sorted(seconds)),
        "COMPATIBLE": ("what NFKD decomposes further", compatible),
        "ACCENTS": ("what StripAccents drops", [p for p in POINTS if strip.normalize_str(chr(p)) == ""]),
        "JOINING": ("what belongs to the grapheme before it", [p for p in small if clusters("a" + chr(p)) == "x"]),
        "LEADING": (
            "what belongs to the grapheme after it, Hangul and flags apart",
            [p for p in small if clusters(chr(p) + "a") == "x"],
        ),
        "BREAKING": ("what nothing joins", [p for p in small if len(clusters(chr(p) + "\u0301")) > 1 and p < 0x10000]),
    }


def write(path, title, tables):
    lines = ["/**", f" * {title}, as hexadecimal ranges."]
    lines += [f" * Made by tools/make_unicode_classes.py from the Rust package tokenizers {tokenizers.__version__}; not edited by hand."]
    lines += [" */"]
    for name, (meaning, members) in tables.items():
        text = members if isinstance(members, str) else ranges(members)
        size = "" if isinstance(members, str) else f": {len(members)} code points"
        lines += ["", f"/** {meaning[0].upper()}{meaning[1:]}{size}. */", f"export const {name.upper()} = `", wrapped(text).strip(), "`;"]
    path.write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    write(folder / "unicode_classes.js", "Code points by what patterns and pre-tokenizers take them for", pattern_classes())
    write(folder / "unicode_marks.js", "Code points by how they decompose, combine and join", mark_classes())


if __name__ == "__main__":
    main()
