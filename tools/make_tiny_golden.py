#!/usr/bin/env python3
"""Makes a tiny golden of any family: a random model with what PyTorch computes for one input, in the format of
tests/golden/README.md, with the stages of every layer.

    pip install torch==2.13.0 transformers==5.24.0 safetensors==0.8.0
    python tools/make_tiny_golden.py tests/golden gemma gemma GemmaForCausalLM \\
        '{"vocab_size": 61, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64}'

Arguments: the folder with index.json, the case, its family in qkv, the class of transformers, its config as JSON. Where
published configs of transformers 4 are spelt otherwise, edit config.v4.json by hand; the numbers stay the same.
"""

import argparse
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file

from golden_stages import Stages

TOKENS = 13


def random_model(case, cls, config):
    torch.manual_seed(sum(map(ord, case)))
    model = cls(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim >= 2:
                parameter.normal_(0, 0.7 if "embed" in name else 0.35)
            else:  # norms, about 1 except where the family adds the 1, and biases
                parameter.normal_(0 if "bias" in name or "gemma" in config.model_type else 1, 0.2)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    for name in ("case", "family", "cls", "config"):
        parser.add_argument(name)
    options = parser.parse_args()
    cls = getattr(transformers, options.cls)
    config = cls.config_class(**json.loads(options.config), attn_implementation="eager")
    model = random_model(options.case, cls, config)
    folder = options.out / "tiny" / options.case
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    shutil.copyfile(folder / "config.json", folder / "config.v4.json")

    ids = torch.randint(4, config.vocab_size, (1, TOKENS))
    mask = torch.ones_like(ids)
    with torch.no_grad(), Stages(model) as stages:
        result = model(input_ids=ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    tensors = {"input_ids": ids, "attention_mask": mask}
    tensors |= {f"hidden_states.{i}": tensor for i, tensor in enumerate(result.hidden_states)}
    tensors |= {f"attentions.{i}": tensor for i, tensor in enumerate(result.attentions)}
    tensors |= stages.tensors
    if hasattr(result, "logits"):
        tensors["logits"] = result.logits
    save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, folder / "golden-0.safetensors")

    path = options.out / "index.json"
    index = json.loads(path.read_text()) if path.exists() else {"made_with": {}, "tiny": []}
    inputs = [{"file": "golden-0.safetensors", "what": "plain", "stages": True}]
    task = "enc" if result.attentions[0][0, 0, 0, -1] > 0 else "dec"
    entry = {"case": options.case, "family": options.family, "class": options.cls, "task": task, "inputs": inputs}
    index["tiny"] = [other for other in index["tiny"] if other["case"] != options.case] + [entry]
    path.write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
