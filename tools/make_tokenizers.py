#!/usr/bin/env python3
"""Trains the small tokenizers of tests/golden/tokenizers: one for each way that published families set theirs up.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
    python tools/make_tokenizers.py tests/golden/tokenizers README.md docs/*.md [--only NAME,NAME]

The texts named and the sentences of make_wordpiece_golden.py are what they are trained on. sentencepiece's charsmap is the
same for all that have one; it is kept once, in nmt_nfkc.gz, and the files say "nmt_nfkc" in its place.
"""

import base64
import gzip
import io
import json
import pathlib
import sys

from make_wordpiece_golden import ORDINARY
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
GROUPED = r"(?=(\d{3})+(?!\d))"
SCRIPTS = (
    r"^\p{Zs}+|\p{Zs}+$|\b\p{Latin}+\b|[\p{Han}\p{Hiragana}\p{Katakana}]|(?>\p{Cyrillic}+)|\p{Nd}+|(?i)[a-cx]+|\p{Pd}\B|\p{M}*+."
)
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SPACE_MARK = "▁"


def special(content, **options):
    return AddedToken(content, special=True, normalized=False, **options)


def template(single, pair, **ids):
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(k, v) for k, v in ids.items()])


def bpe(lines, pre, size=900, norm=None, specials=("<|endoftext|>",), alphabet="bytes", **options):
    tokenizer = Tokenizer(models.BPE(**options))
    if norm:
        tokenizer.normalizer = norm
    if pre:
        tokenizer.pre_tokenizer = pre
    initial = pre_tokenizers.ByteLevel.alphabet() if alphabet == "bytes" else []
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(specials),
        initial_alphabet=initial,
        limit_alphabet=300,
        show_progress=False,
        **{key: options[key] for key in ("end_of_word_suffix", "continuing_subword_prefix") if key in options},
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_level(prefix=False, regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def gpt2(lines):
    tokenizer = bpe(lines, byte_level())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


def roberta(lines):
    specials = ["<s>", "<pad>", "</s>", "<unk>", special("<mask>", lstrip=True)]
    tokenizer = bpe(lines, byte_level(prefix=True), specials=specials)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, True)
    return tokenizer


def modernbert(lines):
    specials = ["<|padding|>", "[CLS]", "[SEP]", "[UNK]", special("[MASK]", lstrip=True)]
    tokenizer = bpe(lines, byte_level(), norm=normalizers.NFC(), specials=specials)
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in (2, 3, 4, 8)])
    tokenizer.add_tokens([AddedToken("Café", normalized=True), AddedToken("word", single_word=True)])
    tokenizer.post_processor = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", **{"[CLS]": 1, "[SEP]": 2})
    return tokenizer


def llama3(lines):
    specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    pre = pre_tokenizers.Sequence([split(LLAMA3), byte_level(regex=False)])
    tokenizer = bpe(lines, pre, specials=specials, ignore_merges=True)
    begin = template("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", **{"<|begin_of_text|>": 0})
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), begin])
    return tokenizer


def qwen2(lines):
    pre = pre_tokenizers.Sequence([split(QWEN2), byte_level(regex=False)])
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = bpe(lines, pre, norm=normalizers.NFC(), specials=specials)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def smollm2(lines):
    return bpe(lines, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]))


def o200k(lines):
    return bpe(lines, pre_tokenizers.Sequence([split(O200K), byte_level(regex=False)]))


def deepseek(lines):
    cuts = [split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level(regex=False)]
    return bpe(lines, pre_tokenizers.Sequence(cuts), norm=normalizers.Sequence([]))


def falcon(lines):
    cuts = [
        pre_tokenizers.Punctuation("contiguous"),
        byte_level(),
        pre_tokenizers.Digits(individual_digits=False),
        split("[0-9][0-9][0-9]"),
    ]
    return bpe(lines, pre_tokenizers.Sequence(cuts))


def bloom(lines):
    return bpe(lines, pre_tokenizers.Sequence([split(BLOOM), byte_level(regex=False)]), norm=normalizers.NFKC())


def clip(lines):
    norm = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    pre = pre_tokenizers.Sequence([split(CLIP, "removed", invert=True), byte_level()])
    return bpe(lines, pre, norm=norm, end_of_word_suffix="</w>", unk_token="<|endoftext|>")


def prefixed(lines):
    pre = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), split("-", "merged_with_previous")])
    norm = normalizers.Sequence([normalizers.NFD(), normalizers.Strip(), normalizers.Nmt()])
    tokenizer = bpe(lines, pre, norm=norm, specials=["<unk>"], alphabet="", unk_token="<unk>", continuing_subword_prefix="##")
    tokenizer.decoder = decoders.WordPiece("##", True)
    return tokenizer


def byte_fallback(lines, pre, norm):
    """A BPE of the sentencepiece kind. The byte pieces come after the specials and are never merged."""
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    specials = ["<unk>", "<s>", "</s>"]
    tokenizer = bpe(lines, pre, norm=norm, specials=specials + pieces, size=1000, alphabet="", unk_token="<unk>", fuse_unk=True)
    saved = json.loads(tokenizer.to_str())
    saved["model"]["byte_fallback"] = True
    saved["added_tokens"] = [token for token in saved["added_tokens"] if token["content"] in specials]
    return Tokenizer.from_str(json.dumps(saved))


def llama2(lines):
    norm = normalizers.Sequence([normalizers.Prepend(SPACE_MARK), normalizers.Replace(" ", SPACE_MARK)])
    # Trained on words, used without a pre-tokenizer, as published.
    tokenizer = byte_fallback(lines, pre_tokenizers.Split(SPACE_MARK, "merged_with_next"), norm)
    saved = json.loads(tokenizer.to_str())
    saved["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(saved))
    steps = [decoders.Replace(SPACE_MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.post_processor = template("<s> $A", "<s> $A <s>:1 $B:1", **{"<s>": 1})
    return tokenizer


def mistral(lines):
    space = pre_tokenizers.Metaspace(SPACE_MARK, "first", True)
    tokenizer = byte_fallback(lines, space, None)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE_MARK, "first", False)
    steps = [decoders.Replace(SPACE_MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.post_processor = template("<s> $A", "<s> $A <s>:1 $B:1", **{"<s>": 1})
    return tokenizer


def gemma(lines):
    norm = normalizers.Replace(" ", SPACE_MARK)
    tokenizer = byte_fallback(lines, pre_tokenizers.Split(SPACE_MARK, "merged_with_next"), norm)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.add_tokens([AddedToken("\n" * n, normalized=False) for n in (2, 3)] + [AddedToken("\t\t", normalized=False)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE_MARK, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = template("<s> $A", "<s> $A $B", **{"<s>": 1})
    return tokenizer


def charsmap(lines):
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=500,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


def unigram(lines, norm, pre, specials, size=1200):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = norm
    tokenizer.pre_tokenizer = pre
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=specials, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.decoder = decoders.Metaspace(SPACE_MARK, "always")
    return tokenizer


def xlm_roberta(lines):
    norm = normalizers.Sequence([normalizers.Precompiled(charsmap(lines)), normalizers.Replace(Regex(" {2,}"), " ")])
    pre = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE_MARK, "always")])
    tokenizer = unigram(lines, norm, pre, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.add_special_tokens([special("<mask>", lstrip=True)])
    tokenizer.post_processor = template("<s> $A </s>", "<s> $A </s> </s> $B </s>", **{"<s>": 0, "</s>": 2})
    return tokenizer


def t5(lines):
    norm = normalizers.Precompiled(charsmap(lines))
    pre = pre_tokenizers.Metaspace(SPACE_MARK, "always")
    tokenizer = unigram(lines, norm, pre, ["<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([special(f"<extra_id_{i}>", rstrip=True) for i in range(3)])
    tokenizer.post_processor = template("$A </s>", "$A </s> $B </s>", **{"</s>": 1})
    return tokenizer


def albert(lines):
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents()]
    steps += [normalizers.Lowercase(), normalizers.Precompiled(charsmap(lines)), normalizers.Replace(Regex(" {2,}"), " ")]
    pre = pre_tokenizers.Metaspace(SPACE_MARK, "always")
    tokenizer = unigram(lines, normalizers.Sequence(steps), pre, ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"])
    pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    tokenizer.post_processor = template("[CLS]:0 $A:0 [SEP]:0", pair, **{"[CLS]": 2, "[SEP]": 3})
    return tokenizer


def unigram_bytes(lines):
    pre = pre_tokenizers.Metaspace(SPACE_MARK, "first")
    specials = ["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    saved = json.loads(unigram(lines, normalizers.NFKC(), pre, specials).to_str())
    saved["model"]["byte_fallback"] = True
    saved["added_tokens"] = saved["added_tokens"][:1]
    tokenizer = Tokenizer.from_str(json.dumps(saved))
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(SPACE_MARK, "first")])
    return tokenizer


def wordpiece(lines, norm, specials):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = norm
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=1000, special_tokens=specials, show_progress=False, limit_alphabet=300)
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.decoder = decoders.WordPiece("##", True)
    return tokenizer


def mpnet(lines):
    specials = ["<s>", "<pad>", "</s>", "[UNK]", special("<mask>", lstrip=True)]
    tokenizer = wordpiece(lines, normalizers.BertNormalizer(lowercase=True), specials)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    return tokenizer


def cased(lines):
    norm = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer = wordpiece(lines, norm, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def cl100k(lines):
    """tiktoken's pattern as it is, and digits grouped by threes from the right."""
    cuts = [split(GROUPED), split(CL100K), byte_level(regex=False)]
    return bpe(lines, pre_tokenizers.Sequence(cuts))


def scripts(lines):
    tokenizer = bpe(lines, pre_tokenizers.Sequence([split(SCRIPTS), byte_level(regex=False)]))
    saved = json.loads(tokenizer.to_str())
    # What the package gives as ids is not what is written here.
    for token in saved["added_tokens"]:
        token["id"] += 500
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    saved["added_tokens"] += [{"id": 5000 - i, "content": text, **flags} for i, text in enumerate(["attention", "<s>", "\n\n"])]
    return saved


def openai_gpt(lines):
    specials = ["<unk>"]
    norm = normalizers.BertNormalizer(lowercase=True)
    pre = pre_tokenizers.BertPreTokenizer()
    options = {"unk_token": "<unk>", "end_of_word_suffix": "</w>"}
    tokenizer = bpe(lines, pre, norm=norm, specials=specials, alphabet="", **options)
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    return tokenizer


def word_level(lines):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit(" "), pre_tokenizers.Punctuation()])
    specials = ["[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordLevelTrainer(vocab_size=600, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    ids = {"[CLS]": 1, "[SEP]": 2}
    tokenizer.post_processor = template("[CLS] [CLS] $A [SEP]", "[CLS] $B:1 [SEP]:1 [SEP]:1 $A:0 [SEP]:0", **ids)
    return tokenizer


BUILDERS = [gpt2, roberta, modernbert, llama3, qwen2, smollm2, o200k, deepseek, falcon, bloom, clip, prefixed]
BUILDERS += [llama2, mistral, gemma, xlm_roberta, t5, albert, unigram_bytes, mpnet, cased]
BUILDERS += [cl100k, scripts, openai_gpt, word_level]


def without_charsmap(node):
    """The same JSON with the charsmap's name for the charsmap; and the charsmaps."""
    if isinstance(node, dict) and "precompiled_charsmap" in node:
        return {**node, "precompiled_charsmap": "nmt_nfkc"}, {node["precompiled_charsmap"]}
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []
    found = set()
    for key, value in list(items):
        node[key], more = without_charsmap(value)
        found |= more
    return node, found


def main():
    arguments = sys.argv[1:]
    only = arguments[arguments.index("--only") + 1].split(",") if "--only" in arguments else None
    folder, *paths = arguments[: arguments.index("--only")] if only else arguments
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines = ORDINARY * 3 + [line for path in paths for line in pathlib.Path(path).read_text().splitlines()]
    maps = set()
    for build in [build for build in BUILDERS if only is None or build.__name__ in only]:
        built = build(lines)
        saved, found = without_charsmap(built if isinstance(built, dict) else json.loads(built.to_str()))
        maps |= found
        if build in (roberta, smollm2, llama2):  # the older way to write merges
            saved["model"]["merges"] = [" ".join(pair) for pair in saved["model"]["merges"]]
        text = json.dumps(saved, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{build.__name__}.json").write_text(text.replace('},"', '},\n"') + "\n")
    for charsmap_used in maps:
        (folder / "nmt_nfkc.gz").write_bytes(gzip.compress(base64.b64decode(charsmap_used), mtime=0))


if __name__ == "__main__":
    main()
