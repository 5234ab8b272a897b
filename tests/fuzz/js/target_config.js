/** config.json of every family, and generation_config.json: refused, or numbers that the engine can be laid out by. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { resolveModel } from '../../../web/lib/families/index.js';
import { isObject, parseJson } from '../../../web/lib/formats/json.js';
import { readStops } from '../../../web/lib/loading/generation.js';
import { CONFIGS } from '../../lib/families/family_configs.js';
import { jsonBytes, jsonInputs } from './inputs.js';

const TINY = new URL('../../golden/tiny/', import.meta.url);
const PUBLISHED = readdirSync(TINY).flatMap((folder) =>
  ['config.json', 'config.v4.json'].map((file) => new Uint8Array(readFileSync(new URL(`${folder}/${file}`, TINY)))),
);
const SIZES = [
  'layers',
  'heads',
  'kv_heads',
  'head_dim',
  'width',
  'ffn',
  'vocab',
  'context',
  'stored_layers',
  'embed_width',
];
const NAMES = ['lm_head.weight', 'model.layers.0.self_attn.q_proj.weight', 'bert.encoder.layer.7.output.dense.bias'];
const STRANGE = [
  '__proto__',
  '',
  '.',
  'constructor.weight',
  'model.layers.{i}.mlp.up_proj.weight',
  'h.999999.attn.c_attn.weight',
];

/** @param {ReturnType<typeof resolveModel>} resolved */
export function checkResolved({ engine, layout }) {
  const fields = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (engine));
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'number') assert.ok(Number.isFinite(Math.fround(value)), `${name} ${value}`);
    if (value instanceof Float32Array)
      assert.ok(
        value.every((one) => Number.isFinite(one)),
        `${name} ${value.slice(0, 8)}`,
      );
  }
  for (const name of SIZES) {
    const value = Number(fields[name]);
    assert.ok(Number.isInteger(value) && value > 0 && value < 2 ** 31, `${name} ${value}`);
  }
  assert.equal(engine.heads % engine.kv_heads, 0);
  assert.ok(engine.rope_dim >= 0 && engine.rope_dim % 2 === 0 && engine.rope_dim <= engine.head_dim);
  for (const list of [engine.windows, engine.scales, engine.rope_of_layer]) {
    if (list !== null) assert.equal(list.length, engine.layers);
  }
  assert.ok(engine.rope_of_layer?.every((set) => set >= -1 && set < engine.rope_sets) ?? true, 'set of a layer');
  assert.ok(engine.windows?.every((window) => window >= -1) ?? true, 'windows');
  if (engine.rope_frequencies) assert.equal(engine.rope_frequencies.length, (engine.rope_sets * engine.rope_dim) / 2);
  if (engine.bucket_of) {
    assert.equal(engine.bucket_of.length, 2 * engine.bucket_reach + 1);
    assert.ok(engine.bucket_of.every((bucket) => bucket >= 0 && bucket < engine.buckets));
  }
  const { mapTensor } = layout([...NAMES, ...STRANGE]);
  for (const name of STRANGE) assert.equal(mapTensor(name), null, name);
  for (const name of NAMES) assert.ok((mapTensor(name)?.slots.length ?? 1) > 0);
}

/** generation_config.json stands in the same object, so that one input holds both. */
const GENERATION = [
  { bos_token_id: 1, eos_token_id: 2, transformers_version: '4.40.0' },
  { eos_token_id: [2, 32_000, 7], do_sample: true, temperature: 0.6 },
  { eos_token_id: null },
];

/** @type {import('./inputs.js').Target} */
export const config = {
  name: 'config',
  isJson: true,
  seeds: [
    ...Object.values(CONFIGS).map(jsonBytes),
    ...PUBLISHED,
    ...GENERATION.map((generation) => jsonBytes({ ...CONFIGS.llama, eos_token_id: 1, generation })),
  ],
  inputs: jsonInputs,
  check(bytes) {
    const given = parseJson(bytes, 'config.json');
    const resolved = resolveModel(given, 'config.json');
    checkResolved(resolved);
    const { vocab, rope_sets, windows } = resolved.engine;
    const generation = isObject(given.generation) ? given.generation : {};
    const files = [
      { config: generation, label: 'generation_config.json' },
      { config: given, label: 'config.json' },
    ];
    const ids = readStops(files, vocab);
    assert.ok(ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocab));
    const { family, quantization } = resolved;
    return `${family}, ${rope_sets} rotary sets, ${windows !== null}, ${quantization?.bits}, ${Math.min(2, ids.length)} stops`;
  },
};
