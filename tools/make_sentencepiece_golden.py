#!/usr/bin/env python3
"""Trains a small sentencepiece Unigram model and writes what sentencepiece itself makes of hostile strings:

    pip install sentencepiece==0.2.3 && python tools/make_sentencepiece_golden.py tests/golden/tokenizers README.md

`edges/sentencepiece.golden.gz` is JSON with what a GGUF file keeps of the model (pieces, scores, types), texts and the ids of
each. The charsmap is nmt_nfkc.gz. sentencepiece replaces the longest text of the charsmap at each place, where the Rust package
looks whole graphemes up.
"""

import gzip
import io
import json
import pathlib
import random
import sys

import sentencepiece
from make_wordpiece_golden import ORDINARY

SEED = 20261201
NORMAL, UNKNOWN, CONTROL = 1, 2, 3
COMPOSED = ["각 각하 가각 나각", "café CAFÉ naïve résumé cafe\u0301"] * 20
FIXED = ["\u1100\u1161\u11a8", "CAFE\u0301", " x  y ", "\t\r\n", "▁▁a", "a▁b", "\x7fa", "e\u0301\u0323", "\u0928\u093c", "\r", "a\u0085b\u1680c"]
MIXED = [*"abcdeéCAFE  \t\n\r", "\u00a0", "\u0301", "\u0323", "\u1100", "\u1161", "\u11a8", *"각ﬁ½㍿㌔▁ｶﾞかÅ漢", "\x7f", "\u200b", "\u3000", "\u3099"]


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = ORDINARY * 3 + COMPOSED
    lines += [line for path in sys.argv[2:] for line in pathlib.Path(path).read_text().splitlines() if line.strip()]
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=file,
        vocab_size=700,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    assert gzip.decompress((folder / "nmt_nfkc.gz").read_bytes()) in file.getvalue()
    model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    every = range(model.get_piece_size())
    types = [UNKNOWN if model.is_unknown(i) else CONTROL if model.is_control(i) else NORMAL for i in every]
    rng = random.Random(SEED)
    texts = FIXED + [text for text in json.loads((folder / "texts.json").read_text())["texts"] if "<" not in text]
    texts += ["".join(rng.choice(MIXED) for _ in range(rng.randint(1, 9))) for _ in range(600)]
    data = {
        "sentencepiece": sentencepiece.__version__,
        "tokens": [model.id_to_piece(i) for i in every],
        "scores": [model.get_score(i) for i in every],
        "types": types,
        "texts": texts,
        "ids": [model.encode(text) for text in texts],
    }
    text = json.dumps(data, separators=(",", ":")).encode()
    (folder / "edges" / "sentencepiece.golden.gz").write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
