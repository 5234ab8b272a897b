/** The decoder of tokenizer.json: steps that turn the pieces of a text back into the text. */
import {
  byteFallbackStep,
  byteLevelStep,
  fuseStep,
  metaspaceStep,
  replaceStep,
  spacedStep,
  stripStep,
  wordPieceStep,
} from '../steps/decoder_steps.js';
import { suffixStep } from '../steps/bpe_decoder.js';
import { flagAt, refusal, stepsAt, stringAt, wholeAt } from './json_checks.js';
import { readPattern } from './read_pattern.js';

/** @typedef {import('../steps/decoder_steps.js').DecoderStep} DecoderStep */
/** @typedef {import('./json_checks.js').Json} Json */

/**
 * @typedef {object} Decoder
 * @property {DecoderStep[]} steps
 * @property {boolean} bytes pieces are written in the byte-level alphabet
 * @property {string | null} spaceMark what stands for a space inside of pieces
 */

const MAX_CONTENT = 100;

/** @type {Record<string, (step: Json, key: string) => DecoderStep>} */
const KINDS = {
  ByteLevel: () => byteLevelStep,
  Metaspace: (step, key) => {
    const scheme = step.prepend_scheme ?? (step.add_prefix_space === false ? 'never' : 'always');
    return metaspaceStep(stringAt(step.replacement, `${key}.replacement`, 2), scheme !== 'never');
  },
  WordPiece: (step, key) =>
    wordPieceStep(
      stringAt(step.prefix ?? '##', `${key}.prefix`, MAX_CONTENT),
      flagAt(step.cleanup ?? true, `${key}.cleanup`),
    ),
  BPEDecoder: (step, key) => {
    const suffix = stringAt(step.suffix, `${key}.suffix`, MAX_CONTENT);
    if (suffix === '') throw refusal(`${key}.suffix`, suffix, 'at least one character');
    return suffixStep(suffix);
  },
  ByteFallback: () => byteFallbackStep,
  Fuse: () => fuseStep,
  Strip: (step, key) =>
    stripStep(
      stringAt(step.content, `${key}.content`, 2),
      wholeAt(step.start, `${key}.start`, 0, MAX_CONTENT),
      wholeAt(step.stop, `${key}.stop`, 0, MAX_CONTENT),
    ),
  Replace: (step, key) => {
    const { find, literal } = readPattern(step.pattern, `${key}.pattern`);
    return replaceStep(find, stringAt(step.content, `${key}.content`, MAX_CONTENT), literal?.length === 1);
  },
};

/** @param {unknown} value @returns {Decoder} */
export function readDecoder(value) {
  const entries = stepsAt(value, 'decoder', 'decoders');
  if (entries.length === 0) return { steps: [spacedStep], bytes: false, spaceMark: null };
  const steps = entries.map(({ key, step }) => {
    const kind = typeof step.type === 'string' && Object.hasOwn(KINDS, step.type) ? KINDS[step.type] : null;
    if (kind === null) throw refusal(`${key}.type`, step.type, `one of ${Object.keys(KINDS).join(', ')}`);
    return kind(step, key);
  });
  const marks = entries.map(({ step }) => markOf(step)).filter((mark) => mark !== null);
  return { steps, bytes: entries.some(({ step }) => step.type === 'ByteLevel'), spaceMark: marks[0] ?? null };
}

/** @param {Json} step already read @returns {string | null} */
function markOf(step) {
  if (step.type === 'Metaspace') return String(step.replacement);
  const pattern = /** @type {{ String?: unknown }} */ (step.pattern);
  return step.type === 'Replace' && step.content === ' ' && typeof pattern.String === 'string' ? pattern.String : null;
}
