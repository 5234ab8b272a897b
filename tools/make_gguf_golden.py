#!/usr/bin/env python3
"""Makes tests/golden/gguf with the Python package gguf, which is the reference for the file format and its block types.

    pip install numpy==2.4.6 gguf==0.19.0
    python tools/make_gguf_golden.py tests/golden/gguf

blocks.bin   for each block type: its name (8 bytes, padded with NUL), values and bytes of a block and the number of
             blocks (u32 each), the blocks, and the floats that gguf.dequantize makes of them. Little endian.
tiny.gguf    a file of every kind of metadata and every readable tensor type
tiny.json    what gguf.GGUFReader says of it: metadata, and of each tensor the type, shape and sha256 of its bytes
names.json   with --models: for small models in the form of transformers (folders of config.v4.json and model.safetensors) the
             config and of each tensor its name, its name in GGUF (gguf.get_tensor_name_map) and its shape
smollm2.json with --smollm2: of the first and the last layer and the last norm of that file the type, the shape and the sha256
             of the floats that gguf.dequantize makes
"""

import argparse
import hashlib
import json
import pathlib
import struct

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFValueType as Value

SEED = 20261129
ROUNDED = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]
K_TYPES = [Type.Q4_K, Type.Q5_K, Type.Q6_K]
# Where in a block of a K type its halves stand.
HALVES = {Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208]}
# Scales that trained models do not have but files may: zeros, the smallest and the largest halves, infinity.
STRANGE = np.array([0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00], dtype="<u2").view(np.uint8).reshape(-1, 2)


def blocks_of(kind, rng):
    """Blocks as bytes [count, bytes]: rounded random rows where the package can round, random bits elsewhere."""
    values, size = gguf.GGML_QUANT_SIZES[kind]
    halves = HALVES.get(kind, [0])
    if kind in ROUNDED:
        rows = (rng.standard_normal((16, values)) * np.exp(rng.standard_normal((16, 1)) * 3)).astype(np.float32)
        rows[1] = 0
        ordinary = gguf.quantize(rows, kind).reshape(-1, size)
    else:
        ordinary = rng.integers(0, 256, (6, size), dtype=np.uint8)
        for at in halves:
            ordinary[:, at : at + 2] = rng.standard_normal((6, 1)).astype("<f2").view(np.uint8)
    strange = rng.integers(0, 256, (len(STRANGE), size), dtype=np.uint8)
    for at in halves:
        strange[:, at : at + 2] = STRANGE
    if kind in (Type.Q4_1, Type.Q5_1):
        strange[:, 2:4] = STRANGE[::-1]
    return np.concatenate([ordinary, strange])


def write_blocks(path):
    rng = np.random.default_rng(SEED)
    with path.open("wb") as out:
        for kind in ROUNDED + K_TYPES:
            blocks = blocks_of(kind, rng)
            values, size = gguf.GGML_QUANT_SIZES[kind]
            with np.errstate(invalid="ignore", over="ignore"):
                floats = gguf.dequantize(blocks, kind).astype("<f4")
            out.write(kind.name.encode().ljust(8, b"\0") + struct.pack("<3I", values, size, len(blocks)))
            out.write(blocks.tobytes() + floats.tobytes())


def write_file(path):
    rng = np.random.default_rng(SEED)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    for kind, value in [
        (Value.UINT8, 200), (Value.INT8, -100), (Value.UINT16, 60000), (Value.INT16, -30000), (Value.UINT32, 4000000000),
        (Value.INT32, -2000000000), (Value.FLOAT32, 0.1), (Value.BOOL, True), (Value.STRING, "größe 本"),
        (Value.UINT64, 2**60), (Value.INT64, -(2**60)), (Value.FLOAT64, 0.1),
    ]:  # fmt: skip
        writer.add_key_value(f"test.{kind.name.lower()}", value, kind)
    writer.add_array("test.strings", ["a", "", "größe"])
    writer.add_array("test.ints", [1, -2, 3])
    writer.add_array("test.floats", [0.5, -0.25])
    writer.add_array("test.bools", [True, False])
    for kind in [Type.F32, Type.F16, Type.BF16] + ROUNDED:
        rows = rng.standard_normal((3, 64)).astype(np.float32)
        writer.add_tensor(f"t.{kind.name.lower()}.weight", gguf.quantize(rows, kind), raw_dtype=kind)
    for kind in K_TYPES:
        size = gguf.GGML_QUANT_SIZES[kind][1]
        rows = rng.integers(0, 256, (2, 2 * size), dtype=np.uint8)
        writer.add_tensor(f"t.{kind.name.lower()}.weight", rows, raw_dtype=kind)
    writer.add_tensor("t.bias", rng.standard_normal(7).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def describe(path):
    reader = gguf.GGUFReader(path)
    fields = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    return {
        "metadata": {k: str(v) if isinstance(v, int) and abs(v) >= 2**53 else v for k, v in fields.items()},
        "tensors": [
            {
                "name": t.name,
                "type": t.tensor_type.name,
                "shape": [int(n) for n in reversed(t.shape)],
                "sha256": hashlib.sha256(t.data.tobytes()).hexdigest(),
            }
            for t in reader.tensors
        ],
    }


ARCHITECTURES = {
    "llama": "LLAMA", "llama3_rope": "LLAMA", "mistral": "LLAMA", "qwen2": "QWEN2", "qwen3": "QWEN3", "gemma2": "GEMMA2",
    "gemma3": "GEMMA3", "phi": "PHI2", "gpt_neox": "GPTNEOX", "gpt2": "GPT2", "gpt2_untied": "GPT2", "bert": "BERT",
    "starcoder2": "STARCODER2",
}  # fmt: skip


def names_of(folder, arch):
    data = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[arch], 16)
    tensors = []
    for name, info in json.loads(data[8 : 8 + length]).items():
        stem = name.removeprefix("bert.") if arch == "BERT" else name
        known = names.get_name(stem, try_suffixes=(".weight", ".bias")) if name != "__metadata__" else None
        if known is not None:
            tensors.append([name, known, info["shape"]])
    config = json.loads((folder / "config.v4.json").read_text())
    return {"architecture": gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH[arch]], "config": config, "tensors": tensors}


def write_names(path, models):
    found = {case: names_of(models / case, arch) for case, arch in ARCHITECTURES.items()}
    lines = [f"{json.dumps(case)}: {json.dumps(about, separators=(',', ':'))}" for case, about in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def write_smollm2(path, file):
    reader = gguf.GGUFReader(file)
    found = {
        t.name: {
            "type": t.tensor_type.name,
            "shape": [int(n) for n in reversed(t.shape)],
            "sha256_f32": hashlib.sha256(gguf.dequantize(t.data, t.tensor_type).astype("<f4").tobytes()).hexdigest(),
        }
        for t in reader.tensors
        if t.name.startswith(("blk.0.", "blk.29.", "output_norm."))
    }
    lines = [f"{json.dumps(name)}: {json.dumps(about)}" for name, about in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--smollm2", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_blocks(folder / "blocks.bin")
    write_file(folder / "tiny.gguf")
    text = json.dumps(describe(folder / "tiny.gguf"), indent=1, ensure_ascii=False)
    (folder / "tiny.json").write_text(text + "\n", encoding="utf-8")
    if options.models:
        write_names(folder / "names.json", options.models)
    if options.smollm2:
        write_smollm2(folder / "smollm2.json", options.smollm2)


if __name__ == "__main__":
    main()
