/** Programs over the public API as plain data: how they are made at random, and how they are shown. A step names models, runs
 * and layers by number among those that are there; the number wraps around, so that a step keeps its meaning, or does nothing,
 * when steps before it are taken away. */
import fc from 'fast-check';
import { ATTEND, PROJECT, REFUSED_ATTEND } from './operators.js';
import {
  GENERATE,
  INPUTS,
  KINDS,
  OPTIONS,
  READS,
  REFUSED,
  REFUSED_GENERATE,
  REFUSED_LOADS,
  REFUSED_READS,
  TEXTS,
} from './table.js';

/** @typedef {import('./table.js').Kind} Kind */
/** @typedef {{ kind: Kind, worker: boolean }} ModelPlan */
/**
 * What a callback does when it is called for the (at + 1)-th time.
 * @typedef {object} Hear
 * @property {typeof WAYS[number]} way
 * @property {number} at
 */
/** @typedef {'a' | 'b' | null} Signal */
/** @typedef {'run' | 'model' | 'layer'} Thing */
/**
 * @typedef {{ do: 'load', plan: ModelPlan, signal: Signal, hear: Hear }
 *   | { do: 'forward', model: number, input: string, options: string, signal: Signal, trap: Trap | null }
 *   | { do: 'generate', model: number, input: string, options: string, signal: Signal, hear: Hear }
 *   | { do: 'embed', model: number, texts: string, signal: Signal, hear: Hear }
 *   | { do: 'tokenize', model: number, text: string }
 *   | { do: 'read', run: number, what: string }
 *   | { do: 'flood', model: number, count: number }
 *   | { do: 'refused load', what: string, worker: boolean }
 *   | { do: 'refused', model: number, what: string }
 *   | { do: 'refused read', run: number, what: string }
 *   | { do: 'refused attend', what: string }
 *   | { do: 'attend', what: string }
 *   | { do: 'layer' }
 *   | { do: 'project', layer: number, what: string }
 *   | { do: 'abort', signal: 'a' | 'b', renew: boolean }
 *   | { do: 'dispose', what: Thing, at: number }
 *   | { do: 'dispose engine' }
 *   | { do: 'forget', what: Thing, at: number }
 *   | { do: 'kill', model: number }
 *   | { do: 'collect' }
 *   | { do: 'wait', for: 'microtasks' | 'turns' | 'milliseconds', count: number }
 *   | { do: 'wait', for: 'answers', count: number }} Step
 */
/**
 * @typedef {object} Program
 * @property {'still' | 'leaping'} clock leaping: every layer of this thread is a slice of its own; still: none is
 * @property {1 | 2} threads of the engine
 * @property {number} limit bytes of the engine's memory; 0: none
 * @property {ModelPlan[]} models that are there when the steps begin
 * @property {Step[]} steps begun one after the other without waiting, but where a step says so
 */

export const WAYS = /** @type {const} */ ([
  ...['quiet', 'late', 'throws', 'rejects', 'never', 'aborts', 'disposes', 'ends', 'starts', 'asks'],
]);
/** What a property of an argument does that is read while the arguments are looked at. */
export const TRAPS = /** @type {const} */ ([
  ...['input throws', 'input disposes', 'input aborts', 'input ends', 'input starts'],
  ...['options throws', 'options disposes', 'options aborts', 'options ends', 'options starts'],
]);
/** @typedef {typeof TRAPS[number]} Trap */

/** @param {object} table */
const nameIn = (table) => fc.constantFrom(...Object.keys(table));
const number = fc.nat(5);
const signal = fc.constantFrom(null, /** @type {const} */ ('a'), /** @type {const} */ ('b'));
const hear = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ way: /** @type {const} */ ('quiet'), at: 0 }) },
  { weight: 3, arbitrary: fc.record({ way: fc.constantFrom(...WAYS), at: fc.nat(3) }) },
);
const thing = fc.constantFrom(.../** @type {const} */ (['run', 'model', 'layer']));
const trap = fc.oneof(
  { weight: 12, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constantFrom(...TRAPS) },
);

/** @template {string} Name @template {object} Rest @param {Name} name @param {{ [Key in keyof Rest]: fc.Arbitrary<Rest[Key]> }} rest */
const step = (name, rest) =>
  fc.record(rest).map((fields) => /** @type {{ do: Name } & Rest} */ ({ do: name, ...fields }));

/** @param {boolean} worker whether there may be models in workers */
const modelPlan = (worker) =>
  fc.record({ kind: fc.constantFrom(...KINDS), worker: worker ? fc.boolean() : fc.constant(false) });

/** @param {boolean} worker @returns {fc.Arbitrary<Step>} */
const anyStep = (worker) =>
  fc.oneof(
    { weight: 2, arbitrary: step('load', { plan: modelPlan(worker), signal, hear }) },
    {
      weight: 8,
      arbitrary: step('forward', { model: number, input: nameIn(INPUTS), options: nameIn(OPTIONS), signal, trap }),
    },
    {
      weight: 4,
      arbitrary: step('generate', { model: number, input: nameIn(INPUTS), options: nameIn(GENERATE), signal, hear }),
    },
    { weight: 3, arbitrary: step('embed', { model: number, texts: nameIn(TEXTS), signal, hear }) },
    { weight: 1, arbitrary: step('tokenize', { model: number, text: fc.constantFrom('', 'a b', 'The animal') }) },
    { weight: 8, arbitrary: step('read', { run: number, what: nameIn(READS) }) },
    { weight: 1, arbitrary: step('flood', { model: number, count: fc.integer({ min: 1, max: 60 }) }) },
    {
      weight: 3,
      arbitrary: step('refused', { model: number, what: nameIn({ ...REFUSED, ...REFUSED_GENERATE }) }),
    },
    {
      weight: 1,
      arbitrary: step('refused load', {
        what: nameIn(REFUSED_LOADS),
        worker: worker ? fc.boolean() : fc.constant(false),
      }),
    },
    { weight: 1, arbitrary: step('refused read', { run: number, what: nameIn(REFUSED_READS) }) },
    { weight: 1, arbitrary: step('refused attend', { what: nameIn(REFUSED_ATTEND) }) },
    { weight: 2, arbitrary: step('attend', { what: nameIn(ATTEND) }) },
    { weight: 1, arbitrary: step('layer', {}) },
    { weight: 2, arbitrary: step('project', { layer: number, what: nameIn(PROJECT) }) },
    { weight: 3, arbitrary: step('abort', { signal: fc.constantFrom('a', 'b'), renew: fc.boolean() }) },
    { weight: 4, arbitrary: step('dispose', { what: thing, at: number }) },
    { weight: 1, arbitrary: step('dispose engine', {}) },
    { weight: 1, arbitrary: step('forget', { what: thing, at: number }) },
    { weight: worker ? 1 : 0, arbitrary: step('kill', { model: number }) },
    { weight: 1, arbitrary: step('collect', {}) },
    { weight: 5, arbitrary: step('wait', { for: fc.constantFrom('microtasks', 'turns'), count: fc.nat(8) }) },
    { weight: worker ? 4 : 0, arbitrary: step('wait', { for: fc.constant('milliseconds'), count: fc.nat(8) }) },
    { weight: 4, arbitrary: step('wait', { for: fc.constant('answers'), count: fc.constant(0) }) },
  );

/** Small beside what three models take, so that some loads and runs find no memory. */
const SCARCE = 700_000;

/** @param {boolean} worker @returns {fc.Arbitrary<Program>} */
export const programs = (worker) =>
  fc.record({
    clock: fc.constantFrom('leaping', 'still'),
    threads: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: worker ? 0 : 1, arbitrary: fc.constant(2) }),
    limit: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(SCARCE) }),
    models: fc.array(modelPlan(worker), { minLength: 1, maxLength: worker ? 2 : 3 }),
    steps: fc.array(anyStep(worker), { minLength: 1, maxLength: 24, size: 'max' }),
  });

/** @param {ModelPlan} plan */
const planText = ({ kind, worker }) => `${kind}${worker ? ' in a worker' : ''}`;

/** @param {Step} given */
function stepText(given) {
  const { do: name, ...fields } = given;
  const parts = Object.entries(fields).flatMap(([key, value]) => {
    if (value === null || value === 'plain' || (key === 'count' && value === 0)) return [];
    if (key === 'plan') return [planText(/** @type {ModelPlan} */ (value))];
    if (key === 'hear') return value.way === 'quiet' ? [] : [`callback ${value.way} at ${value.at}`];
    return [`${key} ${value}`];
  });
  return `${name}: ${parts.join(', ')}`;
}

/** A line for each step. @param {Program} program @returns {string} */
export function programText({ clock, threads, limit, models, steps }) {
  const engine = [`clock ${clock}`, ...(threads > 1 ? ['2 threads'] : []), ...(limit ? [`${limit} bytes`] : [])];
  return [
    `engine: ${engine.join(', ')}`,
    ...models.map((plan) => `model: ${planText(plan)}`),
    ...steps.map(stepText),
  ].join('\n');
}
