#!/usr/bin/env python3
"""Puts a small regression set together from folders of tiny goldens (tests/golden/README.md tells their format):

    pip install numpy safetensors
    python tools/pick_tiny_goldens.py tests/golden DIR [DIR ...]

Of each case in CASES it takes the DIR where model and plain input are smallest, and of the inputs those that show something
of their own. Long inputs keep their attentions and last hidden state. Tensors that say the same twice are left out.
"""

import argparse
import json
import pathlib
import re
import shutil

from safetensors.numpy import load_file, save_file

WINDOWS = ["plain", "long"]
CASES = {
    "roberta": ["plain"], "xlm_roberta": ["plain"], "distilbert": ["plain"], "electra": ["plain"],
    "mpnet_mlm": ["plain"], "albert": ["plain"], "albert_groups": ["plain"], "modernbert": WINDOWS,
    "gpt2": ["plain"], "gpt2_untied": ["plain"], "gpt_neox": ["plain"], "gpt_neox_serial": ["plain"],
    "llama": ["plain"], "llama3_rope": ["plain"], "llama_bf16": ["one"], "mistral": WINDOWS,
    "qwen2_f16_shards": ["plain"], "qwen3": ["plain"], "phi": ["plain"], "gemma2": ["plain"], "gemma3": WINDOWS,
}
ALWAYS = ["bert", "bert_old_names"]  # stay as they are, with all inputs
TWICE = re.compile(r"last_hidden_state|pooler_output")


def reduced(path, what, layers):
    tensors = load_file(path)
    last = f"hidden_states.{layers}"
    keep = re.compile(r"input_ids|attention_mask|token_type_ids|attentions\..*")
    return {
        name: tensor
        for name, tensor in tensors.items()
        if not TWICE.fullmatch(name) and (what != "long" or keep.fullmatch(name) or name == last)
    }


def size_of(folder, entry):
    plain = next(one["file"] for one in entry["inputs"] if one["what"] == "plain")
    return sum(path.stat().st_size for path in folder.glob("model*")) + (folder / plain).stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    indices = [json.loads((folder / "index.json").read_text()) for folder in options.folders if (folder / "index.json").exists()]
    entries = {entry["case"]: entry for entry in indices[0]["tiny"]}
    index = []
    for case in [*ALWAYS, *CASES]:
        entry = entries[case]
        inputs = [one for one in entry["inputs"] if case in ALWAYS or one["what"] in CASES[case]]
        kept = {key: entry[key] for key in ("case", "family", "class", "task", "special")}
        index.append({**kept, "inputs": [{key: one[key] for key in ("file", "what", "stages")} for one in inputs]})
        if case in ALWAYS:
            continue
        found = [folder / "tiny" / case for folder in options.folders if (folder / "tiny" / case).is_dir()]
        source = min(found, key=lambda folder: size_of(folder, entry))
        target = options.out / "tiny" / case
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in [*source.glob("model*"), source / "config.json", source / "config.v4.json"]:
            shutil.copyfile(path, target / path.name)
        config = json.loads((source / "config.json").read_text())
        layers = next(config[key] for key in ("num_hidden_layers", "n_layer", "n_layers") if key in config)
        for one in inputs:
            save_file(reduced(source / one["file"], one["what"], layers), target / one["file"])
    path = options.out / "index.json"
    others = json.loads(path.read_text())["tiny"] if path.exists() else []
    index += [entry for entry in others if entry["case"] not in {one["case"] for one in index}]
    path.write_text(json.dumps({"made_with": indices[0]["made_with"], "tiny": index}, indent=1) + "\n")


if __name__ == "__main__":
    main()
