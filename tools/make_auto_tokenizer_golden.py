#!/usr/bin/env python3
"""Writes what AutoTokenizer makes of a folder where tokenizer_config.json changes what tokenizer.json says:

    pip install tokenizers==0.23.3 transformers==5.24.0
    python tools/make_auto_tokenizer_golden.py tests/golden/tokenizers

`auto/cases.golden.gz` is JSON: the texts, and cases of [name, tokenizer of the folder, model_type, the other files by name,
results]. A result is, for a text by itself and for a pair with the text behind it, [ids, type ids], and behind these the
decoded text without specials.
"""

import base64
import gzip
import json
import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from transformers import AutoTokenizer, __version__  # noqa: E402

CONFIG, MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"


def token(content, **flags):
    plain = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": False}
    return {"content": content, **plain, **flags}


DECODER = {
    "5": token("hello", normalized=True),
    "2000": token("wOrld", special=True, lstrip=True),
    "2001": token("Café", normalized=True, single_word=True),
}
LLAMA = {"tokenizer_class": "LlamaTokenizer"}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
CASES = [
    ("cased, nothing said", "cased", "bert", {CONFIG: {}}),
    ("cased, kept", "cased", "bert", {CONFIG: {"do_lower_case": False, "model_max_length": 512, "unheard_of": [1]}}),
    ("lower case asked for", "cased", "bert", {CONFIG: {"tokenizer_class": "BertTokenizer", "do_lower_case": True}}),
    ("accents stripped", "cased", "bert", {CONFIG: {"do_lower_case": False, "strip_accents": True}}),
    ("accents kept", "cased", "bert", {CONFIG: {"strip_accents": False}}),
    ("Chinese in words", "cased", "electra", {CONFIG: {"tokenizer_class": "ElectraTokenizerFast", "tokenize_chinese_chars": False}}),
    ("a fast class takes the file", "cased", "bert", {CONFIG: {**FAST, "do_lower_case": True}}),
    ("an unknown class takes the file", "cased", "bert", {CONFIG: {"tokenizer_class": "NoSuchTokenizer", "do_lower_case": True}}),
    ("another first token", "cased", "distilbert", {CONFIG: {"tokenizer_class": "DistilBertTokenizer", "cls_token": "[MASK]"}}),
    ("a first token nobody has", "cased", "bert", {CONFIG: {"cls_token": "[BEGIN]", "sep_token": token("[END]", special=True) | {"__type": "AddedToken"}}}),
    ("added tokens of the config", "cased", "bert", {CONFIG: {"added_tokens_decoder": DECODER, "do_lower_case": False}}),
    ("added tokens, file as it is", "modernbert", "modernbert", {CONFIG: {**FAST, "added_tokens_decoder": DECODER}}),
    ("added tokens told anew", "roberta", "roberta", {CONFIG: {"added_tokens_decoder": {"4": token("<mask>", special=True), "0": token("<s>", special=True)}}}),
    ("older files", "gpt2", "gpt2", {CONFIG: {}, MAP: {"pad_token": "<pad>", "eos_token": token("</s>", lstrip=True), "additional_special_tokens": ["tokens"]}, ADDED: {"hello": 901, "<pad>": 900}}),
    ("older files not read", "gpt2", "gpt2", {CONFIG: {"added_tokens_decoder": {"900": token("wo", normalized=True)}}, MAP: {"pad_token": "<pad>"}, ADDED: {"hello": 901}}),
    ("further special tokens", "qwen2", "qwen2", {CONFIG: {"tokenizer_class": "Qwen2Tokenizer", "additional_special_tokens": ["<|im_start|>", "the "], "bos_token": None}}),
    ("tokens of the model by name", "smollm2", "llama", {CONFIG: {**FAST, "image_token": "<image>", "extra_special_tokens": {"boi_token": "wor"}}}),
    ("no special tokens in texts", "roberta", "roberta", {CONFIG: {"split_special_tokens": True}}),
    ("first and last token", "llama2", "llama", {CONFIG: {**LLAMA, "add_bos_token": False, "add_eos_token": True}}),
    ("first and last token, fast", "llama3", "llama", {CONFIG: {**FAST, "add_bos_token": False, "add_eos_token": True, "bos_token": "<|eot_id|>"}}),
    ("Llama, legacy", "llama2", "llama", {CONFIG: {"tokenizer_class": "LlamaTokenizerFast", "legacy": True}}),
    ("Llama without space", "llama2", "llama", {CONFIG: {**LLAMA, "add_prefix_space": False}}),
    ("Llama with null", "llama2", "llama", {CONFIG: {**LLAMA, "add_prefix_space": None, "unk_token": token("<unk>", special=True) | {"__type": "AddedToken"}}}),
    ("Llama that is byte-level", "llama3", "llama", {CONFIG: {**LLAMA, "add_prefix_space": False}}),
    ("Mistral takes the file", "mistral", "mistral", {CONFIG: {**LLAMA, "add_prefix_space": False}}),
    ("GPT-2 with space", "gpt2", "gpt2", {CONFIG: {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True, "add_bos_token": True}}),
    ("GPT-2's class takes Digits away", "smollm2", "llama", {CONFIG: {"tokenizer_class": "GPT2Tokenizer"}}),
    ("RoBERTa without space", "roberta", "roberta", {CONFIG: {"add_prefix_space": False, "trim_offsets": False}}),
    ("RoBERTa with space", "roberta", "roberta", {CONFIG: {"add_prefix_space": True, "tokenizer_class": "RobertaTokenizer"}}),
    ("BART", "roberta", "bart", {CONFIG: {"tokenizer_class": "BartTokenizer", "add_prefix_space": True}}),
    ("GPT-NeoX", "gpt2", "gpt_neox", {CONFIG: {"tokenizer_class": "GPTNeoXTokenizer", "add_bos_token": True, "add_prefix_space": True}}),
    ("GPT-NeoX forgets the template", "llama3", "gpt_neox", {CONFIG: {"tokenizer_class": "GPTNeoXTokenizerFast"}}),
    ("Phi", "gpt2", "phi", {CONFIG: {"tokenizer_class": "CodeGenTokenizer", "add_prefix_space": True}}),
    ("Qwen2 with space", "qwen2", "qwen3", {CONFIG: {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}}),
    ("Qwen2 under a wrong name", "gpt2", "qwen2", {CONFIG: FAST}),
    ("Gemma", "gemma", "gemma", {CONFIG: {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>"}}),
    ("Gemma by another's file", "llama2", "gemma2", {CONFIG: {}}),
    ("ALBERT, cased", "albert", "albert", {CONFIG: {"do_lower_case": False, "keep_accents": True}}),
    ("ALBERT", "albert", "albert", {CONFIG: {"remove_space": True}}),
    ("XLM-R without space", "xlm_roberta", "xlm-roberta", {CONFIG: {"add_prefix_space": False}}),
    ("XLM-R with other ends", "xlm_roberta", "xlm-roberta", {CONFIG: {"bos_token": "<pad>", "mask_token": token("<mask>", lstrip=False, special=True)}, MAP: {"mask_token": token("<mask>", rstrip=True)}}),
    ("CamemBERT", "xlm_roberta", "camembert", {CONFIG: {}}),
    ("T5", "t5", "t5", {CONFIG: {"extra_ids": 3}}),
    ("MPNet, cased", "mpnet", "mpnet", {CONFIG: {"do_lower_case": False}}),
    ("MPNet", "mpnet", "mpnet", {CONFIG: {"do_lower_case": True, "tokenizer_class": "MPNetTokenizer"}}),
    ("HerBERT", "openai_gpt", "bert", {CONFIG: {"tokenizer_class": "HerbertTokenizerFast"}}),
    ("the class of config.json", "cased", "llama", {CONFIG: {"do_lower_case": True}, "config.json": {"tokenizer_class": "BertTokenizer"}}),
]
PICK = 24


def results(folder, texts):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    for i, text in enumerate(texts):
        both = [tokenizer(text, return_token_type_ids=True), tokenizer(text, texts[i - 1], return_token_type_ids=True)]
        decoded = tokenizer.backend_tokenizer.decode(both[0]["input_ids"])
        rows.append([*([one["input_ids"], one["token_type_ids"]] for one in both), decoded])
    return rows


def main():
    folder = pathlib.Path(sys.argv[1])
    charsmap = base64.b64encode(gzip.decompress((folder / "nmt_nfkc.gz").read_bytes())).decode()
    every = json.loads((folder / "texts.json").read_text())["texts"]
    texts = ["Hello wOrld, the Café über 漢字 tokens: word  world [MASK] <mask> </s>", "<s> hello</s> [BEGIN]x wor <image> the  end", "a<s>b</s>c<mask>d[SEP]e"]
    # An empty second text is none for transformers.
    texts += [text[:160] for text in every[3 :: len(every) // PICK] if text]
    cases = []
    for name, tokenizer, model_type, files in CASES:
        with tempfile.TemporaryDirectory() as place:
            text = (folder / f"{tokenizer}.json").read_text().replace('"nmt_nfkc"', json.dumps(charsmap))
            pathlib.Path(place, "tokenizer.json").write_text(text)
            for file, content in {"config.json": {}, **files}.items():
                content = {"model_type": model_type, **content} if file == "config.json" else content
                pathlib.Path(place, file).write_text(json.dumps(content))
            cases.append([name, tokenizer, model_type, files, results(place, texts)])
    (folder / "auto").mkdir(exist_ok=True)
    data = json.dumps({"transformers": __version__, "texts": texts, "cases": cases}, separators=(",", ":")).encode()
    (folder / "auto" / "cases.golden.gz").write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
