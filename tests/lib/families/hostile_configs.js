/** Makes bad ones of good configs: values that no model has, in any key, also deep inside. */
import fc from 'fast-check';

/** @typedef {Record<string, unknown>} Config */
/** @typedef {{ key: string, value: unknown }} Change value undefined: the key is taken out */

const HOSTILE = [
  ...[0, -1, 1, 2, 3, 7, 768.5, 1e9, 2 ** 31, 2 ** 53, 1e308, 1e-320, -1e-12, 65_536],
  ...['', '768', 'x', 'gelu', 'linear', null, true, false, undefined],
  ...[[], [1], ['full_attention'], Array(1_000).fill('sliding_attention'), {}, { rope_type: 'yarn' }, { factor: 0 }],
  ...[
    { rope_type: 'yarn', factor: 1e-320 },
    { rope_type: 'linear', factor: 1e-320 },
  ],
  ...[{ rope_type: 'longrope', short_factor: [0, 0, 0], original_max_position_embeddings: 1 }],
  ...[{ rope_type: 'llama3', factor: 1e-6, low_freq_factor: 5, high_freq_factor: 4 }, { full_attention: 5 }],
];
/** Keys that some family reads, whether or not the config has them. */
const KEYS = [
  ...['hidden_size', 'num_attention_heads', 'num_hidden_layers', 'max_position_embeddings', 'vocab_size', 'head_dim'],
  ...['num_key_value_heads', 'intermediate_size', 'layer_norm_eps', 'rms_norm_eps', 'norm_eps', 'hidden_act', 'n_embd'],
  ...['type_vocab_size', 'pad_token_id', 'embedding_size', 'num_hidden_groups', 'sliding_window', 'layer_types'],
  ...[
    'rope_scaling',
    'rope_parameters',
    'rope_theta',
    'partial_rotary_factor',
    'local_attention',
    'tie_word_embeddings',
  ],
  ...['quantization_config', 'original_max_position_embeddings', 'query_pre_attn_scalar', 'attn_logit_softcapping'],
];

/**
 * @param {Config} config
 * @returns {fc.Arbitrary<Change[]>}
 */
export function hostileChanges(config) {
  const keys = [...new Set([...Object.keys(config), ...KEYS])].filter((key) => key !== 'model_type');
  const change = fc.record({ key: fc.constantFrom(...keys), value: fc.constantFrom(...HOSTILE) });
  return fc.array(change, { minLength: 1, maxLength: 3 });
}

/**
 * The changed config, as it comes out of JSON.
 * @param {Config} config
 * @param {Change[]} changes
 * @returns {Config}
 */
export function changed(config, changes) {
  const all = Object.fromEntries(changes.map(({ key, value }) => [key, value]));
  return JSON.parse(JSON.stringify({ ...config, ...all }));
}
