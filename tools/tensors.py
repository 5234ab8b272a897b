"""Reading and writing .safetensors files with numpy alone, and the q10 planes of qkv."""
import json

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "I8": np.int8, "U8": np.uint8, "I64": np.int64}
Q_MAX = 511


def read(path):
    """All tensors of a file, by name."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, info in json.loads(raw[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        values = np.frombuffer(raw[start + begin : start + end], DTYPES[info["dtype"]])
        tensors[name] = values.reshape(info["shape"])
    return tensors


def write(path, tensors):
    """Tensors sorted by name, without gaps, so that equal tensors give equal bytes."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, begin = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(tensors):
        tensor = tensors[name]
        end = begin + tensor.nbytes
        header[name] = {"dtype": names[tensor.dtype.type], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in sorted(tensors):
            file.write(tensors[name].tobytes())


def pack_q10(name, weight):
    """The three tensors that hold a matrix [out, in] or a table [rows, in] in 10 bits: w = scale * (4 * high + low)."""
    scale = np.float32(np.abs(weight).max(axis=1) / Q_MAX)
    scale[scale == 0] = 1
    q = np.clip(np.rint(weight / scale[:, None].astype(np.float64)), -Q_MAX, Q_MAX).astype(np.int16)
    pairs = np.pad(q & 3, ((0, 0), (0, -q.shape[1] % 4))).reshape(len(q), -1, 4)
    low = (pairs << np.array([0, 2, 4, 6])).sum(axis=2)
    return {name: (q >> 2).astype(np.int8), f"{name}_low": low.astype(np.uint8), f"{name}_scale": scale}


def unpack_q10(tensors, name):
    """The integers q and the scales of a matrix that pack_q10 made."""
    high, low = tensors[name].astype(np.int16), tensors[f"{name}_low"]
    pairs = (low[:, :, None] >> np.array([0, 2, 4, 6])) & 3
    return 4 * high + pairs.reshape(len(low), -1)[:, : high.shape[1]], tensors[f"{name}_scale"]
