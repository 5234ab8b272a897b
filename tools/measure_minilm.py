"""How far the 10-bit MiniLM is from the float32 one: python3 tools/measure_minilm.py FLOAT32_FOLDER WEB_FOLDER

Both are computed in float64, the 10-bit one by the rules of the engine (activations in int16, one scale a token; those of
W_O stay as they are), on the texts below. Prints and returns the errors of all attention weights and the cosine between the sentence embeddings.
"""
import json
import math
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np

import tensors

TEXTS = [
    "Attention!",
    "cat",
    "Is it?",
    "The quick brown fox jumps over the lazy dog.",
    "The animal didn't cross the street because it was too tired.",
    "She poured the water from the jug into the glass until it was full, then from the glass into the pot.",
    "Café owners in São Paulo paid €3,450.75 (≈ 4.1% more) for espresso machines in 2023.",
    "def add(a, b):\n    return a + b  # the sum",
    "注意力就是一次软性的记忆查找。",
    "The bank of the river was steep, so the bank sent its clerk by boat instead of by road.",
    "Every query is compared with every key, the products are divided by the square root of the width, and a softmax turns "
    "each row into weights that sum to one; the answer is the mixture of the values in these proportions.",
    "Long before the railway came, the village lived by its mill. The wheel turned from the first thaw to the last leaf, and "
    "the miller, who could neither read nor write, kept the accounts of forty families in his head. When the line was built, "
    "flour came in sacks from the city, whiter and cheaper than his, and one by one the families stopped bringing him their "
    "grain. He did not complain. He oiled the axle every Sunday, and when the children asked him what for, he said that a wheel "
    "which has forgotten how to turn will never learn it again.",
]


def encode(text, vocab):
    """BERT's uncased WordPiece for plain text."""
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    ids = [vocab["[CLS]"]]
    for word in re.findall(r"[一-鿿]|[^\W一-鿿_]+|[^\w\s]|_", text):
        start, pieces = 0, []
        while start < len(word):
            ends = range(len(word), start, -1)
            piece = next((p for e in ends if (p := "##" * (start > 0) + word[start:e]) in vocab), None)
            if piece is None:
                pieces = [vocab["[UNK]"]]
                break
            pieces.append(vocab[piece])
            start += len(piece) - 2 * (start > 0)
        ids += pieces
    return np.array(ids + [vocab["[SEP]"]])


class Weights:
    """A model folder's tensors; linear(x, name) is x W^T + b in the folder's own arithmetic."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = tensors.read(folder / "model.safetensors")
        self.q10 = {n[: -len("_scale")] for n in self.tensors if n.endswith("_scale")}

    def table(self, name, rows):
        if name not in self.q10:
            return self.tensors[name][rows].astype(np.float64)
        picked = {n: self.tensors[n][rows] for n in (name, f"{name}_low", f"{name}_scale")}
        q, scale = tensors.unpack_q10(picked, name)
        return q * scale[:, None].astype(np.float64)

    def linear(self, x, name):
        weight, bias = f"{name}.weight", self.tensors[f"{name}.bias"]
        if weight not in self.q10:
            return x @ self.tensors[weight].T.astype(np.float64) + bias
        q, scale = tensors.unpack_q10(self.tensors, weight)
        if name.endswith("attention.output.dense"):
            return x @ (q * scale[:, None].astype(np.float64)).T + bias
        amax = min(32767, (2**31 - 1) // (tensors.Q_MAX * min(x.shape[1], 1536)))
        x_scale = np.abs(x).max(axis=1, keepdims=True) / amax
        return np.rint(x / x_scale) @ q.T.astype(np.float64) * x_scale * scale + bias

    def norm(self, x, name):
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]


def forward(weights, ids):
    """Attention weights [L, H, N, N] and the mean-pooled, normalised embedding [D]."""
    config, n = weights.config, len(ids)
    heads = config["num_attention_heads"]
    erf = np.vectorize(math.erf)

    def split(x):
        return x.reshape(n, heads, -1).transpose(1, 0, 2)

    x = weights.table("embeddings.word_embeddings.weight", ids)
    x = x + weights.table("embeddings.position_embeddings.weight", np.arange(n))
    x = x + weights.table("embeddings.token_type_embeddings.weight", np.zeros(n, int))
    x = weights.norm(x, "embeddings.LayerNorm")
    attentions = []
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}"
        q, k, v = (split(weights.linear(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
        a = np.exp(scores - scores.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        concat = (a @ v).transpose(1, 0, 2).reshape(n, -1)
        x = weights.norm(x + weights.linear(concat, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        up = weights.linear(x, f"{at}.intermediate.dense")
        up = 0.5 * up * (1 + erf(up / math.sqrt(2)))
        x = weights.norm(x + weights.linear(up, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        attentions.append(a)
    mean = x.mean(axis=0)
    return np.stack(attentions), mean / np.linalg.norm(mean)


def measure(exact_folder, folder, texts=TEXTS):
    exact, rounded = Weights(exact_folder), Weights(folder)
    vocab = json.loads((exact_folder / "tokenizer.json").read_text())["model"]["vocab"]
    errors, cosines = [], []
    for text in texts:
        ids = encode(text, vocab)
        (want, want_embedding), (got, embedding) = forward(exact, ids), forward(rounded, ids)
        errors.append(np.abs(got - want).ravel())
        cosines.append(float(embedding @ want_embedding))
    error = np.concatenate(errors)
    return {
        "texts": len(texts),
        "attention_p999": round(float(np.quantile(error, 0.999)), 4),
        "attention_max": round(float(error.max()), 4),
        "cosine_mean": round(float(np.mean(cosines)), 5),
        "cosine_min": round(min(cosines), 5),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]))))
