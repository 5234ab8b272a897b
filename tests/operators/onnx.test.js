import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, scaledDotProductAttention } from 'qkv';
import { byHeads, referenceAttention } from '../reference/attention_f64.js';
import { BOUNDS, distance } from './differences.js';
import { onnxCases } from './onnx_case.js';
import { VARIANTS } from './variants.js';

/** @typedef {import('./onnx_case.js').OnnxCase} OnnxCase */

const STAGES = /** @type {const} */ (['scaled', 'capped', 'masked', 'weights']);

/** The operator's inputs and attributes as the library's options. @param {OnnxCase} onnx */
function optionsOf({ attrs, inputNames, inputs }) {
  const given = inputNames.map((name) => inputs.get(name));
  const float = (/** @type {number} */ index) => /** @type {import('qkv').FloatTensor} */ (given[index]);
  const mask = given[3];
  const lengths = given[6]?.data;
  const allow = /** @type {import('qkv').BoolTensor} */ (mask);
  const returns = attrs.qk_matmul_output_mode === undefined ? 'output' : STAGES[attrs.qk_matmul_output_mode];
  return {
    query: float(0),
    key: float(1),
    value: float(2),
    mask: mask ? (mask.data instanceof Uint8Array ? { allow } : { add: float(3) }) : null,
    pastKey: given[4] ? float(4) : null,
    pastValue: given[5] ? float(5) : null,
    keyLengths: lengths instanceof Int32Array ? lengths : null,
    heads: attrs.q_num_heads,
    kvHeads: attrs.kv_num_heads,
    causal: attrs.is_causal === 1,
    scale: attrs.scale,
    softcap: attrs.softcap,
    returns: /** @type {'output' | typeof STAGES[number]} */ (returns),
  };
}

const cases = onnxCases();

for (const variant of VARIANTS) {
  test(`the official ONNX Attention cases (${cases.length} beside the tree), ${variant}`, async (t) => {
    const engine = await init({ variant });
    let [worst, worstHalf] = [0, 0];
    for (const onnx of cases) {
      const options = optionsOf(onnx);
      const result = scaledDotProductAttention(engine, options);
      const truth = referenceAttention(options);
      const outputs = [...onnx.outputs.values()];
      assert.deepEqual(result.output.shape, outputs[0].shape, `${onnx.name}: shape of the output`);
      /** @type {[string, ArrayLike<number>, ArrayLike<number>, ArrayLike<number> | null][]} */
      const pairs = [['Y', byHeads(result.output, truth.heads), byHeads(outputs[0], truth.heads), truth.output]];
      const named = /** @type {Record<string, { data: Float32Array, shape: number[] }>} */ (
        /** @type {unknown} */ (result)
      );
      const stage = onnx.outputs.get('qk_matmul_output');
      if (stage)
        pairs.push([
          'qk_matmul_output',
          named[options.returns].data,
          stage.data,
          truth[/** @type {'weights'} */ (options.returns)],
        ]);
      for (const [name, ours] of [
        ['present_key', 'presentKey'],
        ['present_value', 'presentValue'],
      ]) {
        const present = onnx.outputs.get(name);
        if (!present) continue;
        assert.deepEqual(named[ours].shape, present.shape, `${onnx.name}: shape of ${name}`);
        pairs.push([name, named[ours].data, present.data, null]);
      }
      assert.equal(pairs.length, onnx.outputs.size, `${onnx.name}: every output is compared`);
      for (const [name, ours, theirs, float64] of pairs) {
        const fromData = distance(ours, theirs);
        const fromTruth = float64 ? distance(ours, float64) : 0;
        const bound = onnx.isHalf ? BOUNDS.onnxHalf : BOUNDS.onnxData;
        assert.ok(fromData <= bound, `${onnx.name} ${name}: ${fromData} from the official output`);
        assert.ok(fromTruth <= BOUNDS.onnx, `${onnx.name} ${name}: ${fromTruth} from float64`);
        worst = Math.max(worst, fromTruth);
        if (onnx.isHalf) worstHalf = Math.max(worstHalf, fromData);
      }
    }
    t.diagnostic(
      `${cases.length} cases, worst ${worst.toExponential(2)} from float64, float16 ${worstHalf.toExponential(2)} from the official output`,
    );
  });
}
