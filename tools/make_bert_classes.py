#!/usr/bin/env python3
"""Writes web/lib/tokenizer/unicode/bert_classes.js: what the Rust tokenizers package takes for punctuation, marks and so on.

Its Unicode tables are older than a browser's and never change with the browser, so the ids of a text do not either.
Every code point is asked once, through the package's own Python module:

    pip install tokenizers==0.23.3 && python tools/make_bert_classes.py > web/lib/tokenizer/unicode/bert_classes.js
"""

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

WIDTH = 116


def normalizer(**options):
    chosen = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return BertNormalizer(**{**chosen, **options})


def ranges(points):
    spans = []
    for point in points:
        if spans and spans[-1][1] == point - 1:
            spans[-1][1] = point
        else:
            spans.append([point, point])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in spans)


def wrapped(text):
    lines, line = [], ""
    for word in text.split():
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def main():
    points = [p for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    clean, strip, chinese = (
        normalizer(clean_text=True),
        normalizer(strip_accents=True),
        normalizer(handle_chinese_chars=True),
    )
    split = BertPreTokenizer()
    pieces = {p: [word for word, _ in split.pre_tokenize_str(f"a{chr(p)}a")] for p in points}
    tables = {
        "REMOVED": ("what clean_text drops", [p for p in points if clean.normalize_str(chr(p)) == ""]),
        "SPACE": ("what separates words", [p for p in points if pieces[p] == ["a", "a"]]),
        "PUNCTUATION": ("what is a word of its own", [p for p in points if pieces[p] == ["a", chr(p), "a"]]),
        "MARKS": ("what strip_accents drops after decomposing", [p for p in points if strip.normalize_str(chr(p)) == ""]),
        "CHINESE": (
            "what gets a space on both sides",
            [p for p in points if len(chinese.normalize_str(chr(p))) == 3],
        ),
    }
    print("/**")
    print(" * Code points by what BERT's tokenizer does with them, as hexadecimal ranges.")
    print(f" * Made by tools/make_bert_classes.py from the Rust package tokenizers {tokenizers.__version__}; not edited by hand.")
    print(" */")
    for name, (meaning, members) in tables.items():
        print(f"\n/** {meaning[0].upper()}{meaning[1:]}: {len(members)} code points. */")
        print(f"export const {name} = `\n{wrapped(ranges(members))}\n`;")


if __name__ == "__main__":
    main()
