#!/usr/bin/env python3
"""Makes a large golden small: keeps some rows of every attention matrix and hidden state, chosen by a seed.

    pip install numpy safetensors
    python tools/sample_golden.py GOLDEN.safetensors tests/golden/minilm/golden-4.safetensors --rows 7

Result, all float32 or int64: `attentions.<l>` [H, R, N] are rows `attentions.<l>.rows` [H, R] of each head;
`hidden_states.<i>` [R, D] are rows `hidden_states.<i>.rows` [R]; inputs and embeddings are kept whole.
"""

import argparse

import numpy as np
from safetensors.numpy import load_file, save_file

SEED = 20261129


def pick(rng, count, total):
    """Rows in ascending order, the first and the last always among them."""
    inner = rng.choice(np.arange(1, total - 1), size=count - 2, replace=False)
    return np.sort(np.concatenate([[0, total - 1], inner])).astype(np.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden")
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(SEED)
    result = {}
    for name, tensor in sorted(load_file(options.golden).items()):
        if name.startswith("attentions."):
            heads, total = tensor.shape[1:3]
            rows = np.stack([pick(rng, options.rows, total) for _ in range(heads)])
            result[f"{name}.rows"] = rows
            result[name] = np.stack([tensor[0, head, rows[head]] for head in range(heads)]).astype(np.float32)
        elif name.startswith("hidden_states."):
            rows = pick(rng, options.rows, tensor.shape[1])
            result[f"{name}.rows"] = rows
            result[name] = tensor[0, rows].astype(np.float32)
        else:
            result[name] = tensor
    save_file(result, options.out)


if __name__ == "__main__":
    main()
