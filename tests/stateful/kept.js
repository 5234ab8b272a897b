/** Programs that once went wrong, by what went wrong: played in every test run. */

/** @typedef {import('./programs.js').Program} Program */
/** @typedef {import('./programs.js').ModelPlan} ModelPlan */
/** @typedef {import('./programs.js').Step} Step */
/** @typedef {import('./programs.js').Hear} Hear */

/** @type {ModelPlan} */
const bert = { kind: 'bert', worker: false };
/** @type {ModelPlan} */
const gpt2 = { kind: 'gpt2', worker: false };
/** @param {ModelPlan} plan @returns {ModelPlan} */
const far = (plan) => ({ ...plan, worker: true });

/** @param {ModelPlan[]} models @param {Step[]} steps @param {Partial<Program>} [rest] @returns {Program} */
const program = (models, steps, rest) => ({ clock: 'leaping', threads: 1, limit: 0, models, steps, ...rest });

/** @type {Hear} */
const quiet = { way: 'quiet', at: 0 };
/** @type {Step} */
const answers = { do: 'wait', for: 'answers', count: 0 };
/** @param {number} count @returns {Step} */
const turns = (count) => ({ do: 'wait', for: 'turns', count });
/** @param {Partial<Extract<Step, { do: 'forward' }>>} [rest] @returns {Step} */
const forward = (rest) => ({
  do: 'forward',
  model: 0,
  input: 'ids',
  options: 'plain',
  signal: null,
  trap: null,
  ...rest,
});
/** @param {Hear} hear @param {'a' | null} [signal] @returns {Step} */
const generate = (hear, signal = null) => ({ do: 'generate', model: 0, input: 'ids', options: 'three', signal, hear });
/** @param {Hear} hear @returns {Step} */
const embed = (hear) => ({ do: 'embed', model: 0, texts: 'three', signal: null, hear });
/** @param {ModelPlan} plan @param {Hear} hear @returns {Step} */
const load = (plan, hear) => ({ do: 'load', plan, signal: null, hear });
/** @param {string} what @returns {Step} */
const refused = (what) => ({ do: 'refused', model: 0, what });
/** @param {string} what @returns {Step} */
const read = (what) => ({ do: 'read', run: 0, what });
/** @type {Step} */
const disposeModel = { do: 'dispose', what: 'model', at: 0 };
/** @type {Step} */
const abort = { do: 'abort', signal: 'a', renew: true };

/** @type {Record<string, Program>} */
export const KEPT = {
  'a model that is disposed of in the turn of a forward': program(
    [bert, gpt2],
    [forward(), forward({ input: 'long' }), disposeModel, { do: 'attend', what: 'large' }, answers, forward()],
  ),
  'a model that is disposed of in the turn of a forward that is one slice': program(
    [bert, gpt2],
    [forward(), disposeModel, { do: 'attend', what: 'large' }, answers, forward()],
    { clock: 'still' },
  ),
  'a model that is disposed of in the turn of embed': program([bert], [embed(quiet), disposeModel, answers]),
  'a model that is disposed of in the turn of generate': program([gpt2], [generate(quiet), disposeModel, answers]),
  'an array with holes for a batch': program([bert], [refused('batch: new Array(2)'), answers]),
  'an array with holes for a batch, in a worker': program(
    [far(bert)],
    [forward(), answers, refused('batch: new Array(2)'), refused('batch: new Array(2)'), answers, read('hidden')],
  ),
  'onProgress of a load throws': program([bert], [load(bert, { way: 'throws', at: 0 }), answers]),
  'onProgress of a load throws, in a worker': program([bert], [load(far(bert), { way: 'throws', at: 0 }), answers]),
  'onProgress of a load rejects': program([bert], [load(bert, { way: 'rejects', at: 0 }), answers]),
  'onProgress of a load rejects, in a worker': program([bert], [load(far(bert), { way: 'rejects', at: 0 }), answers]),
  'onProgress of embed throws, in a worker': program([far(bert)], [embed({ way: 'throws', at: 0 }), answers]),
  'onProgress of embed rejects': program([bert], [embed({ way: 'rejects', at: 0 }), answers]),
  'onToken never returns, and generate is cancelled': program(
    [gpt2],
    [generate({ way: 'never', at: 0 }, 'a'), turns(5), abort, answers, forward()],
  ),
  'onToken never returns, and generate is cancelled, in a worker': program(
    [far(gpt2)],
    [generate({ way: 'never', at: 0 }, 'a'), { do: 'wait', for: 'milliseconds', count: 8 }, abort, answers, forward()],
  ),
  'onToken never returns, and the model is disposed of': program(
    [gpt2],
    [generate({ way: 'never', at: 0 }), turns(5), disposeModel, answers],
  ),
  'onToken waits for another call of the model': program([gpt2], [generate({ way: 'asks', at: 0 }), answers]),
  'onToken waits for another call of the model, in a worker': program(
    [far(gpt2)],
    [generate({ way: 'asks', at: 0 }), answers],
  ),
  'a call is cancelled while its worker starts again': program(
    [far(bert)],
    [
      { do: 'kill', model: 0 },
      { do: 'wait', for: 'milliseconds', count: 60 },
      forward({ signal: 'a' }),
      turns(2),
      abort,
      answers,
    ],
  ),
  'forwards at once hold the memory of a few': program([bert], [{ do: 'flood', model: 0, count: 60 }]),
  'forwards at once hold the memory of a few, sliced or not': program([bert], [{ do: 'flood', model: 0, count: 60 }], {
    clock: 'still',
  }),
  'a model is forgotten': program([bert, gpt2], [{ do: 'forget', what: 'model', at: 0 }, forward()]),
  'a model is forgotten, its run is not': program(
    [bert],
    [forward(), answers, { do: 'forget', what: 'model', at: 0 }, { do: 'collect' }, read('hidden'), answers],
  ),
  'a layer is forgotten': program(
    [bert],
    [{ do: 'layer' }, { do: 'project', layer: 0, what: 'batch' }, { do: 'forget', what: 'layer', at: 0 }],
  ),
  'an engine is disposed of, with its model in a worker': program(
    [far(bert)],
    [forward(), answers, { do: 'dispose engine' }, read('hidden'), forward(), answers],
  ),
  'an engine is disposed of, and a text is tokenized': program(
    [gpt2],
    [{ do: 'dispose engine' }, { do: 'tokenize', model: 0, text: 'a b' }, answers],
  ),
  'a property that is read disposes of the model': program(
    [bert],
    [forward({ trap: 'input disposes' }), answers, forward()],
  ),
  'a property that is read disposes of the model in a worker': program(
    [far(bert)],
    [forward({ trap: 'input disposes' }), forward({ trap: 'options disposes' }), answers],
  ),
  'one buffer for two results of attention': program(
    [bert],
    [
      { do: 'refused attend', what: 'one buffer for two results' },
      { do: 'refused attend', what: 'overlapping buffers' },
      { do: 'refused attend', what: 'an array-like query' },
    ],
  ),
};
