#!/usr/bin/env python3
"""Writes tests/golden/wordpiece.json: ids, offsets and words that the Rust package tokenizers gives for ordinary texts
in several languages and for strings made to break a tokenizer.

    pip install tokenizers==0.23.3
    python tools/make_wordpiece_golden.py web/models/minilm/tokenizer.json > tests/golden/wordpiece.json

One case is [text, pair or null, limit, ids, type ids, words, offsets]: words has null for added specials, offsets are
start and end of each token in UTF-16 units, one after the other. The same seed gives the same file.
"""

import hashlib
import json
import random
import sys

import tokenizers

SEED = 20261129
HOSTILE = 700
LIMIT = 512

ORDINARY = [
    "The animal didn't cross the street because it was too tired.",
    "She poured the water from the jug into the glass until it was full.",
    "Straße, Äpfel und Übermut: größer geht's nicht!",
    "Le cœur a ses raisons que la raison ne connaît point.",
    "El niño comió piñas; ¿quién lo habría creído?",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Zażółć gęślą jaźń.",
    "Съешь ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΟΔΥΣΣΕΥΣ ΣΑΣ",
    "İstanbul'da ılık bir IŞIK, ISPARTA",
    "動物沒有過馬路,因為牠太累了。",
    "这只动物没有过马路,因为它太累了。今天是2026年。",
    "動物は疲れていたので、道を渡りませんでした。カタカナ ガギグ",
    "동물은 너무 피곤해서 길을 건너지 않았다.",
    "สวัสดีชาวโลก น้ำใจ",
    "नमस्ते दुनिया, क्षत्रिय",
    "مرحبا بالعالم، كَيْفَ حَالُكَ؟",
    "שָׁלוֹם עוֹלָם",
    "Tiếng Việt có nhiều dấu: ế ở ữ ặ.",
    "def add(a, b):\n\treturn a+b  # sum",
    "e = mc², x ≤ y, ∑ᵢ xᵢ → ∞, ½ + ¼ ≠ ¾",
    "https://example.org/a?b=c&d=%20#e me@example.org 192.168.0.1",
    "[CLS] typed by a user [SEP] and [MASK], [UNK], [PAD], [cls], [ MASK ]",
    "flight AB-1234 costs $1,299.99 (was £1.500)",
    "ﬁne ﬂuﬀy ligatures, ℌ𝔢𝔩𝔩𝔬 𝓌ℴ𝓇𝓁𝒹 ①②③ ｆｕｌｌｗｉｄｔｈ",
]
FIXED = [
    "",
    " ",
    " \t\r\n\u3000\u00a0 ",
    "[CLS]",
    "[SEP][SEP]",
    "[CLS][MASK][SEP]x[UNK]y",
    "[[CLS]]",
    "\0a\0b\ufffdc",
    "a" * 100,
    "a" * 101,
    "é" * 100,
    "e\u0301" * 100,
    "e\u0301" * 101,
    "\U0001d49c" * 100,
    "\U0001d49c" * 101,
    "##ing ##",
    "caf\u00e9 cafe\u0301",
    "\u0301\u0302 a",
    "a\u0301\u0302\u0303\u0304 b",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\u1112\u1161\u11ab\u1100\u1173\u11af \ud55c\uae00",
    "\u2028line\u2029par\u0085nel",
    "\u202eabc\u202c \u2066x\u2069",
    "\ufeffbom",
    "\U00020000\U0002b81f\U0002b820\U0002b91f\U0002ceaf\U0002f800\U00030000",
    "\u00c5\u212b\u2126\u212a \u1e9e \u0130 \u01c4\u01c5",
    "\u03a3 \u0391\u03a3 \u03a3\u0391 \u0391\u03a3. \u0391\u03a3\u0301",
    "\U00011938 \U000105c9 \u0344 \u0f73",
    "a\u180eb\u200bc\u00add\u2060e",
    "x\U000e0001y\U000e0041z",
    "\ue000\uf8ff\U000f0000",
    "\u302e\u302f\u1d165",
    "\n" * 300,
    "word " * 600,
    "aé, " * 400,
]
ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz",
    "ABCXYZabc0123456789",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    " \t\n\r\u00a0\u2003\u3000\u2028\u0085",
    "\u0300\u0301\u0308\u0323\u0489\u20d0\ufe0f\u0344",
    "éèàüöñçåøßĳŁİıΣςσΌΐ",
    "漢字仮名交じり文中国人民大学𠀀𫠝龦",
    "가각힣ᄒ\u1161\u11abㄱ",
    "абвгдЁЙїўӐ",
    "אבגדשׁלْكَمﷺﻻ",
    "नमस्तेক্ষกำ",
    "😀👍🏽👩‍💻🏳️‍🌈🇩🇪",
    "\u200b\u200d\u200e\u202a\u202e\u2066\ufeff\u00ad",
    "\0\u0001\u0007\u001b\u007f\u0080\u009f\ufffd\ufffe",
    "①Ⅷ㍿ﬁℌ𝓌ｆ²½",
    "\ue000\U000f0000\U000e0020\U0010ffff",
    "\u0378\u07fd\u1acf\U00011938\U0001e08f\U0001f8ff",
    "、。「」“”‘’«»¿¡§¶†‡•…—–٪؟۔\u061d\u2e52",
]
WORDS = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "##s", "unaffable", "playing", "don't", "U.S.A.", "3.14", "The"]


def any_char(rng):
    while True:
        point = rng.choice([rng.randrange(0x250), rng.randrange(0x3000), rng.randrange(0x10000), rng.randrange(0x30000)])
        if not 0xD800 <= point < 0xE000:
            return chr(point)


def hostile(rng):
    parts = []
    for _ in range(rng.randint(1, 8)):
        kind = rng.random()
        if kind < 0.2:
            parts.append(rng.choice(WORDS))
        elif kind < 0.35:
            parts.extend(any_char(rng) for _ in range(rng.randint(1, 6)))
        else:
            mixed = "".join(rng.sample(ALPHABETS, rng.choice([1, 1, 2, 3])))
            parts.extend(rng.choice(mixed) for _ in range(rng.randint(1, 10)))
        if rng.random() < 0.4:
            parts.append(" ")
    return "".join(parts)


def utf16(text):
    """Position in UTF-16 units for each position in code points."""
    places = [0]
    for char in text:
        places.append(places[-1] + (2 if ord(char) > 0xFFFF else 1))
    return places


def case(tokenizer, text, pair=None, limit=LIMIT):
    tokenizer.enable_truncation(limit)
    encoding = tokenizer.encode(text, pair)
    places = [utf16(text), utf16(pair or "")]
    offsets = []
    for (start, end), sequence in zip(encoding.offsets, encoding.sequence_ids):
        offsets += [places[sequence][start], places[sequence][end]] if sequence is not None else [0, 0]
    return [text, pair, limit, encoding.ids, encoding.type_ids, encoding.word_ids, offsets]


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.no_padding()
    rng = random.Random(SEED)
    strings = [hostile(rng) for _ in range(HOSTILE)]
    cases = [case(tokenizer, text) for text in ORDINARY + FIXED + strings]
    cases += [case(tokenizer, rng.choice(ORDINARY), rng.choice(ORDINARY + strings)) for _ in range(30)]
    for limit in (3, 4, 5, 8, 9, 16, 31):
        cases += [case(tokenizer, rng.choice(ORDINARY), rng.choice(ORDINARY), limit) for _ in range(6)]
        cases += [case(tokenizer, rng.choice(ORDINARY), None, limit) for _ in range(2)]
    head = {"tokenizers": tokenizers.__version__, "tokenizer_sha256": digest, "seed": SEED}
    print(json.dumps(head, separators=(",", ":"))[:-1] + ',"cases":[')
    print(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
    print("]}")


if __name__ == "__main__":
    main()
