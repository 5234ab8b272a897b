#!/usr/bin/env python3
"""Writes what the Rust package tokenizers does with hostile strings, for every tokenizer of tests/golden/tokenizers:

    pip install tokenizers==0.23.3 && python tools/make_tokenizer_golden.py tests/golden/tokenizers [NAME ...]

`texts.json` has the strings, shared by all, and pairs of their numbers. `<name>.golden.gz` is JSON: for each text and then
for each pair [ids, type ids, words, offsets, text decoded without specials]; words has null for added specials, offsets
are start and end of each token in UTF-16 units, one after the other. The same seed gives the same files.

`normalizers.json` has for each normaliser the sha256 of what it makes of every code point of `spans` by itself and of 1,500
strings of characters that combine, each followed by a line feed.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import random
import sys
import unicodedata

import tokenizers
from make_wordpiece_golden import FIXED, ORDINARY, hostile, utf16

SEED = 20261130
HOSTILE = 460
LONG_FIXED = 130
MORE = [
    "He's we'LL I'd they'RE you'Ve it'S can'T 'M 'ſ o\u2019clock 'tis '",
    "a  b   c    d     e\t\tf \t g\n\nh\r\ni \n j\n\n\n\nk  ",
    "   leading, trailing   ",
    "1 12 123 1234 12345 1234567890 3.14159 ١٢٣٤ ४५६ Ⅷ ② ½ 12e-7 0x1F",
    "ﬁne ﬂuﬀy ﬃ ｆｕｌｌ　ｗｉｄｔｈ ㍿ ﷺ ㌔ ① ™ № ℡",
    "e\u0301 \u00e9 a\u0301\u0323 a\u0323\u0301 \u1ea1\u0301 q\u0307\u0323 \u0344 \u0958 \u2126 \u212b \ufb1d",
    "\u1112\u1161\u11ab\u1100\u1173\u11af 한글 \u1100\u1161 \uac00\u11a8 \u1161\u11a8 각ᆨ",
    "ｅ\u0301 и\u0306 ™\u0301 \u00a9\u200d\u00a9 \u0600a \u0600\u0301 a\u200d\u0301 \r\n \r\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f3fd \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "z\u0335\u0322\u0321\u0318a\u0334\u0348\u0349l\u0337\u035fg\u0338\u0360o\u0336",
    "non\u00a0breaking\u202fspaces\u2003and\u3000more\u2028line\u2029par\u0085nel\u200bzero\ufeffbom\u180e",
    "``quoted'' ''twice`` `once'",
    "<s> x </s> <mask>   <mask> [MASK] [CLS] <|endoftext|> <|im_start|>user\n<|im_end|> <extra_id_0>  <unk> <pad>",
    "  <mask>  tail Café cafe\u0301 CAFÉ word sword words word. word\u0301 word_ 5word",
    "<0x41> <0x0A> <0xE2><0x82><0xAC> ▁▁ ▁a _ Ġ Ċ ## ##ing </w>",
    "\u03a3\u0391\u03a3 \u0130stanbul \u1e9e \u01c5 ŉ K\u212a \u0345 ͅα",
    "\ud7b0\ua960\ud7cb \U00011938 \U000105c9 \U0001d15e \U0001d1ba \u0cca \u0dda \U000110ab",
    "कि क्षत्रिय নি தமிழ் ਗੁਰਮੁਖੀ ಕನ್ನಡ မြန်မာ ខ្មែរ ລາວ བོད",
    "http://x.y/z?a=b&c#d user@host 192.168.0.1 --flag=value C++ f(x)[i]{j} //comment /* */ $HOME ~/.rc",
    "camelCaseWord HTTPServer XMLHttpRequest snake_case kebab-case ALLCAPS iPhone",
    "-" * 70 + "=" * 40 + "." * 50,
    "a" * 300,
    "ab" * 150 + " " * 100 + "ba",
    "\U0001f600" * 60,
    "漢" * 100,
    "\u0301" * 80,
    " \u0301 \u200d\u0301",
]


def texts():
    rng = random.Random(SEED)
    short = [text[:LONG_FIXED] for text in FIXED]
    return [*ORDINARY, *short, *MORE, *(hostile(rng) for _ in range(HOSTILE))]


def load(path, charsmap):
    return tokenizers.Tokenizer.from_str(path.read_text().replace('"nmt_nfkc"', json.dumps(charsmap)))


def case(tokenizer, text, pair=None):
    encoding = tokenizer.encode(text, pair)
    places = [utf16(text), utf16(pair or "")]
    offsets = []
    for (start, end), sequence in zip(encoding.offsets, encoding.sequence_ids):
        offsets += [places[sequence][start], places[sequence][end]] if sequence is not None else [0, 0]
    return [encoding.ids, encoding.type_ids, encoding.word_ids, offsets, tokenizer.decode(encoding.ids)]


def combining_strings():
    rng = random.Random(SEED)
    points = [p for p in range(0x30000) if unicodedata.decomposition(chr(p)) or unicodedata.combining(chr(p))]
    points += [*range(0x41, 0x7B), *range(0x1100, 0x1200), 0x600, 0x200D, 0x0D, 0x0A]
    return ["".join(chr(rng.choice(points)) for _ in range(rng.randint(2, 9))) for _ in range(1500)]


def normalizer_sums(charsmap):
    names = ["NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Nmt"]
    kinds = {name: getattr(tokenizers.normalizers, name)() for name in names}
    kinds["Precompiled"] = tokenizers.normalizers.Precompiled(charsmap)
    spans = [(0, 0x3400), (0xA000, 0xAD00), (0xD7A0, 0xD800), (0xF900, 0x18D00), (0x1B000, 0x20010), (0x2F800, 0x2FA20), (0xE0000, 0xE01F0)]
    singles = [chr(p) for first, end in spans for p in range(first, end)]
    strings = combining_strings()
    sums = {}
    for name, kind in kinds.items():
        text = "".join(kind.normalize_str(string) + "\n" for string in [*singles, *strings])
        sums[name] = hashlib.sha256(text.encode()).hexdigest()
    return {"spans": spans, "strings": strings, "sha256": sums}


def main():
    folder = pathlib.Path(sys.argv[1])
    raw_charsmap = gzip.decompress((folder / "nmt_nfkc.gz").read_bytes())
    charsmap = base64.b64encode(raw_charsmap).decode()
    (folder / "normalizers.json").write_text(json.dumps(normalizer_sums(raw_charsmap), separators=(",", ":")) + "\n")
    strings = texts()
    rng = random.Random(SEED)
    pairs = [[rng.randrange(len(strings)), rng.randrange(len(strings))] for _ in range(20)]
    head = {"tokenizers": tokenizers.__version__, "seed": SEED, "texts": strings, "pairs": pairs}
    (folder / "texts.json").write_text(json.dumps(head, indent=0) + "\n")
    for path in sorted(folder.glob("*.json")):
        if path.stem in ("texts", "normalizers") or (sys.argv[2:] and path.stem not in sys.argv[2:]):
            continue
        tokenizer = load(path, charsmap)
        cases = [case(tokenizer, text) for text in strings]
        cases += [case(tokenizer, strings[a], strings[b]) for a, b in pairs]
        data = json.dumps(cases, separators=(",", ":")).encode()
        (folder / f"{path.stem}.golden.gz").write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
