#!/usr/bin/env python3
"""Which keys of config.json change what a model computes: for each family every key that transformers' config has, and those
that published configs carry, is given another value, and the last hidden state of the tiny golden's weights is written down.

    pip install torch==2.13.0 transformers==5.24.0 safetensors==0.8.0
    python tools/make_config_keys.py tests/golden [CASE...]

Writes tests/golden/config_keys.json: for each case `same`, pairs of key and value that change nothing, and `changes`, triples
with the beginning of the first and of the last row. Values that do not load, or need other weights, are left out.
With cases only these are made anew.
"""

import argparse
import contextlib
import copy
import json
import pathlib
import tempfile

import torch
import transformers

CASES = [
    "bert", "roberta", "distilbert", "electra", "mpnet_mlm", "albert", "modernbert", "gpt2", "gpt_neox", "llama", "mistral",
    "qwen2_window", "qwen3", "phi", "starcoder2", "gemma", "gemma2", "gemma3",
]  # fmt: skip
IDS = [5, 17, 9, 33, 21, 8, 40, 12, 27]
ACTIVATIONS = ["relu", "silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "tanh"]
# Keys that no config class has, or whose other values cannot be guessed.
MORE = {
    "is_causal": [False, True],
    "is_decoder": [True],
    "add_cross_attention": [True],
    "use_bidirectional_attention": [True],
    "position_embedding_type": ["relative_key", "rotary"],
    "use_sliding_window": [True],
    "sliding_window": [3, None],
    "max_window_layers": [0, 1],
    "sliding_window_pattern": [2],
    "local_attention": [4],
    "global_attn_every_n_layers": [2],
    "pretraining_tp": [2],
    "partial_rotary_factor": [0.5],
    "rotary_pct": [0.5],
    "rope_theta": [77.0],
    "rotary_emb_base": [77],
    "rope_scaling": [{"rope_type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 3.0}],
    "logit_scale": [0.5],
    "embedding_multiplier": [2.0],
    "residual_multiplier": [2.0],
    "attention_multiplier": [2.0],
    "scale_embedding": [True],
    "attn_logit_softcapping": [3.0, None],
    "final_logit_softcapping": [3.0],
    "query_pre_attn_scalar": [3],
    "qk_norm": [True],
    "use_qk_norm": [True],
    "qk_layernorm": [True],
    "parallel_residual": [True],
    "hidden_activation": ACTIVATIONS,
    "hidden_act": ACTIVATIONS,
    "activation": ACTIVATIONS,
    "activation_function": ACTIVATIONS,
    "auto_map": [{"AutoModel": "modeling_other.OtherModel"}],
}
SHOWN = 8  # numbers of a row
SAID = {"transformers_version", "architectures", "dtype", "torch_dtype", "model_type", "layer_types", "rope_parameters"}


def other_values(config):
    values = copy.deepcopy(MORE)
    for key, value in config.to_dict().items():
        if key in values or key in SAID or key.startswith("_"):
            continue
        if isinstance(value, bool):
            values[key] = [not value]
        elif isinstance(value, int):
            values[key] = [value + 1]
        elif isinstance(value, float):
            values[key] = [value * 1.5 + 0.05]
    return values


def hidden(folder, cls):
    model, info = cls.from_pretrained(folder, attn_implementation="eager", output_loading_info=True)
    if any(info[key] for key in ("missing_keys", "mismatched_keys", "unexpected_keys") if key in info):
        raise ValueError("other weights")
    with torch.no_grad():
        result = model.eval()(input_ids=torch.tensor([IDS]), output_hidden_states=True)
    return result.hidden_states[-1][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    golden = options.golden
    path = golden / "config_keys.json"
    transformers.logging.set_verbosity_error()
    classes = {entry["case"]: entry["class"] for entry in json.loads((golden / "index.json").read_text())["tiny"]}
    cases = json.loads(path.read_text())["cases"] if path.exists() else {}
    for case in options.cases:
        cls = getattr(transformers, classes[case])
        folder = golden / "tiny" / case
        written = json.loads((folder / "config.json").read_text())
        base = hidden(folder, cls)
        found = cases[case] = {"same": [], "changes": []}
        for key, values in sorted(other_values(cls.config_class.from_pretrained(folder)).items()):
            for value in values:
                with tempfile.TemporaryDirectory() as name, contextlib.suppress(Exception):
                    changed = pathlib.Path(name)
                    (changed / "config.json").write_text(json.dumps({**written, key: value}))
                    (changed / "model.safetensors").symlink_to((folder / "model.safetensors").resolve())
                    rows = hidden(changed, cls)
                    changes = rows.shape != base.shape or not torch.allclose(rows, base, rtol=1e-4, atol=1e-5)
                    if changes:
                        shown = [[round(float(x), 6) for x in rows[at][:SHOWN]] for at in (0, -1)]
                        found["changes"].append([key, value, shown])
                    else:
                        found["same"].append([key, value])
    made_with = {"torch": torch.__version__, "transformers": transformers.__version__}
    text = json.dumps({"made_with": made_with, "ids": IDS, "cases": cases}, separators=(",", ":"))
    text = text.replace('],["', '],\n["').replace('"changes":', '\n"changes":')
    path.write_text(text + "\n")


if __name__ == "__main__":
    main()
