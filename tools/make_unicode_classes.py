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


CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
# The scripts that the package's version of Unicode knows: the long name, then the short one.
SCRIPTS = """Common=Zyyy Latin=Latn Bopomofo=Bopo Inherited=Zinh Greek=Grek Coptic=Copt Cyrillic=Cyrl Armenian=Armn Hebrew=Hebr
Arabic=Arab Syriac=Syrc Thaana=Thaa Nko=Nkoo Samaritan=Samr Mandaic=Mand Devanagari=Deva Bengali=Beng Gurmukhi=Guru
Gujarati=Gujr Oriya=Orya Tamil=Taml Telugu=Telu Kannada=Knda Malayalam=Mlym Sinhala=Sinh Thai=Thai Lao=Laoo
Tibetan=Tibt Myanmar=Mymr Georgian=Geor Hangul=Hang Ethiopic=Ethi Cherokee=Cher Canadianaboriginal=Cans Ogham=Ogam
Runic=Runr Tagalog=Tglg Hanunoo=Hano Buhid=Buhd Tagbanwa=Tagb Khmer=Khmr Mongolian=Mong Limbu=Limb Taile=Tale
Newtailue=Talu Buginese=Bugi Taitham=Lana Balinese=Bali Sundanese=Sund Batak=Batk Lepcha=Lepc Olchiki=Olck
Braille=Brai Glagolitic=Glag Tifinagh=Tfng Han=Hani Hiragana=Hira Katakana=Kana Yi=Yiii Lisu=Lisu Vai=Vaii Bamum=Bamu
Sylotinagri=Sylo Phagspa=Phag Saurashtra=Saur Kayahli=Kali Rejang=Rjng Javanese=Java Cham=Cham Taiviet=Tavt
Meeteimayek=Mtei Linearb=Linb Lycian=Lyci Carian=Cari Olditalic=Ital Gothic=Goth Oldpermic=Perm Ugaritic=Ugar
Oldpersian=Xpeo Deseret=Dsrt Shavian=Shaw Osmanya=Osma Osage=Osge Elbasan=Elba Caucasianalbanian=Aghb Vithkuqi=Vith
Todhri=Todr Lineara=Lina Cypriot=Cprt Imperialaramaic=Armi Palmyrene=Palm Nabataean=Nbat Hatran=Hatr Phoenician=Phnx
Lydian=Lydi Meroitichieroglyphs=Mero Meroiticcursive=Merc Kharoshthi=Khar Oldsoutharabian=Sarb Oldnortharabian=Narb
Manichaean=Mani Avestan=Avst Inscriptionalparthian=Prti Inscriptionalpahlavi=Phli Psalterpahlavi=Phlp Oldturkic=Orkh
Oldhungarian=Hung Hanifirohingya=Rohg Garay=Gara Yezidi=Yezi Oldsogdian=Sogo Sogdian=Sogd Olduyghur=Ougr
Chorasmian=Chrs Elymaic=Elym Brahmi=Brah Kaithi=Kthi Sorasompeng=Sora Chakma=Cakm Mahajani=Mahj Sharada=Shrd
Khojki=Khoj Multani=Mult Khudawadi=Sind Grantha=Gran Tulutigalari=Tutg Newa=Newa Tirhuta=Tirh Siddham=Sidd Modi=Modi
Takri=Takr Ahom=Ahom Dogra=Dogr Warangciti=Wara Divesakuru=Diak Nandinagari=Nand Zanabazarsquare=Zanb Soyombo=Soyo
Paucinhau=Pauc Sunuwar=Sunu Bhaiksuki=Bhks Marchen=Marc Masaramgondi=Gonm Gunjalagondi=Gong Makasar=Maka Kawi=Kawi
Cuneiform=Xsux Cyprominoan=Cpmn Egyptianhieroglyphs=Egyp Anatolianhieroglyphs=Hluw Gurungkhema=Gukh Mro=Mroo
Tangsa=Tnsa Bassavah=Bass Pahawhhmong=Hmng Kiratrai=Krai Medefaidrin=Medf Miao=Plrd Tangut=Tang Nushu=Nshu
Khitansmallscript=Kits Duployan=Dupl Signwriting=Sgnw Nyiakengpuachuehmong=Hmnp Toto=Toto Wancho=Wcho Nagmundari=Nagm
Olonal=Onao Mendekikakui=Mend Adlam=Adlm Unknown=Zzzz""".split()
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number):
    return (base36(number // 36) if number >= 36 else "") + DIGITS[number % 36]


def partition(names, letters):
    """All code points in a row as runs: letters for the place of the name in the list, then the length in base 36 if it is not 1."""
    owner = ["Cs" if 0xD800 <= p < 0xE000 and "Cs" in names else names[-1] for p in range(0x110000)]
    for name in names:
        for point in of_pattern(r"\p{%s}" % name.split("=")[0]):
            owner[point] = name
    runs, at = [], 0
    while at < len(owner):
        end = at
        while end < len(owner) and owner[end] == owner[at]:
            end += 1
        place = names.index(owner[at])
        code = "".join(chr(65 + place // 26 ** i % 26) for i in reversed(range(letters)))
        runs.append(code + (base36(end - at) if end - at > 1 else ""))
        at = end
    return "".join(runs)


def lines_of(text):
    return "\n".join(text[at : at + 118] for at in range(0, len(text), 118))


def pattern_classes():
    category = "general categories of \\p{} in a row, two letters each: the place in CATEGORY_NAMES to base 26 from A"
    script = "the same for scripts and SCRIPT_NAMES"
    tables = {
        "CATEGORY_NAMES": ("general categories", " ".join(CATEGORIES)),
        "CATEGORIES": (category + "; behind it the length of the run to base 36, if it is not 1", partition(CATEGORIES, 2)),
        "SCRIPT_NAMES": ("scripts, the long name and the short one", " ".join(SCRIPTS)),
        "SCRIPTS": (script, partition(SCRIPTS, 2)),
    }
    tables["PATTERN_SPACE"] = (r"\s of a pattern", of_pattern(r"\s"))
    tables["PATTERN_WORD"] = (r"\w of a pattern", of_pattern(r"\w"))
    assert of_pattern(r"\d") == of_pattern(r"\p{Nd}")
    assert of_pattern(r"\p{L}") == of_pattern(r"[\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{Lo}]")
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
        lines += ["", f"/** {meaning[0].upper()}{meaning[1:]}{size}. */", f"export const {name.upper()} = `", (wrapped(text) if " " in text else lines_of(text)).strip(), "`;"]
    path.write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    write(folder / "unicode_classes.js", "Code points by what patterns and pre-tokenizers take them for", pattern_classes())
    write(folder / "unicode_marks.js", "Code points by how they decompose, combine and join", mark_classes())


if __name__ == "__main__":
    main()
