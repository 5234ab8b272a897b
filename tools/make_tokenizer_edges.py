#!/usr/bin/env python3
"""Writes what the Rust package tokenizers does in corners that the tokenizers of tests/golden/tokenizers do not reach:

    pip install tokenizers==0.23.3 && python tools/make_tokenizer_edges.py tests/golden/tokenizers

`edges/beginnings.json`: Metaspace that marks the first word only, behind a charsmap that takes characters away from the very
beginning of a text: cases of [normalisers before the charsmap, pre-tokenizers before Metaspace, ids of each text], for the
vocabulary of t5.json. The same seed gives the same file.
"""

import base64
import gzip
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer

SEED = 20261201
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
DIGITS = {"type": "Digits", "individual_digits": True}
BEGINNINGS = [([], []), ([], [{"type": "WhitespaceSplit"}]), ([{"type": "NFKD"}], [{"type": "WhitespaceSplit"}]), ([], [DIGITS])]
DROPPED, OTHERS = ["\x7f", "\x01", "\x8f"], [*"ab e1", *"\u00a8ﬁ½①\u0301각\u1100\u1161漢\u200b２㍿", "</s>"]


def beginnings(folder):
    charsmap = base64.b64encode(gzip.decompress((folder / "nmt_nfkc.gz").read_bytes())).decode()
    base = json.loads((folder / "t5.json").read_text())
    rng = random.Random(SEED)
    texts = ["\x7fa", "a", " \x7fa", "\x7f a", "\x7f½", "\x7f\u00a8b", "\u00a8\x7fb", "\ufb01\x7fb", "\x7f", "\x7f</s>\x7fa"]
    for _ in range(390):
        texts.append("".join(rng.choice(DROPPED if rng.random() < 0.4 else OTHERS) for _ in range(rng.randint(1, 6))))
    cases = []
    for before, cuts in BEGINNINGS:
        precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
        normalizer = {"type": "Sequence", "normalizers": [*before, precompiled]}
        pre = {"type": "Sequence", "pretokenizers": [*cuts, METASPACE]}
        tokenizer = Tokenizer.from_str(json.dumps({**base, "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": None}))
        cases.append([before, cuts, [tokenizer.encode(text).ids for text in texts]])
    return {"texts": texts, "cases": cases}


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "edges" / "beginnings.json").write_text(json.dumps(beginnings(folder), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
