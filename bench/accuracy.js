/** How far quantised runs of MiniLM are from the float32 one on the same sentences: cosine of the sentence embeddings and
 * error of all attention weights, ours in ten and eight bits and the peer's after its dynamic quantisation. */

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('./peers.js').Peer} Peer */
/** @typedef {{ embedding: Float32Array, attentions: Float32Array[] }} Result attentions: [heads * n * n] of each layer */

export const SENTENCES = [
  'Is it?',
  'The quick brown fox jumps over the lazy dog.',
  "The animal didn't cross the street because it was too tired.",
  'She poured the water from the jug into the glass until it was full.',
  'Café owners in São Paulo paid €3,450.75 for espresso machines in 2023.',
  'def add(a, b):\n    return a + b  # the sum',
  'The bank of the river was steep, so the bank sent its clerk by boat instead of by road.',
  'Every query is compared with every key, the products are divided by the square root of the width, and a softmax turns ' +
    'each row into weights that sum to one; the answer is the mixture of the values in these proportions.',
];

/** @param {Model} model @param {number[]} ids @returns {Promise<Result>} */
async function ownResult(model, ids) {
  const run = await model.forward({ ids });
  const { layers, heads } = model.info;
  const attentions = [];
  for (let layer = 0; layer < layers; layer++) {
    const map = new Float32Array(heads * ids.length ** 2);
    for (let head = 0; head < heads; head++) {
      map.set((await run.getWeights(layer, head)).data, head * ids.length ** 2);
    }
    attentions.push(map);
  }
  const embedding = await run.embedding();
  run.dispose();
  return { embedding, attentions };
}

/** The mean over the tokens, as sentence-transformers takes it; its length does not matter to a cosine. @param {Peer} peer @param {number[]} ids @returns {Promise<Result>} */
async function peerResult(peer, ids) {
  const { hidden, ...rest } = await peer.run(ids);
  const width = hidden.data.length / ids.length;
  const embedding = new Float32Array(width);
  hidden.data.forEach((value, i) => {
    embedding[i % width] += value;
  });
  const layers = Object.keys(rest).length;
  return { embedding, attentions: Array.from({ length: layers }, (_, layer) => rest[`attention_${layer}`].data) };
}

/** @param {Float32Array} a @param {Float32Array} b */
function cosine(a, b) {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / Math.sqrt(aa * bb);
}

/**
 * A row for each contender.
 * @param {Model} exact in float32
 * @param {{ name: string, model: Model }[]} models
 * @param {Peer[]} peers that return their attention
 * @returns {Promise<import('./report.js').Table>}
 */
export async function compare(exact, models, peers) {
  const contenders = [
    ...models.map(({ name, model }) => ({ name, result: (/** @type {number[]} */ ids) => ownResult(model, ids) })),
    ...peers.map((peer) => ({ name: peer.name, result: (/** @type {number[]} */ ids) => peerResult(peer, ids) })),
  ].map((contender) => ({ ...contender, cosines: /** @type {number[]} */ ([]), errors: /** @type {number[]} */ ([]) }));
  for (const sentence of SENTENCES) {
    const ids = (await exact.tokenize(sentence)).map(({ id }) => id);
    const wanted = await ownResult(exact, ids);
    for (const { result, cosines, errors } of contenders) {
      const got = await result(ids);
      cosines.push(cosine(got.embedding, wanted.embedding));
      got.attentions.forEach((map, layer) => {
        map.forEach((weight, i) => {
          errors.push(Math.abs(weight - wanted.attentions[layer][i]));
        });
      });
    }
  }
  const rows = contenders.map(({ name, cosines, errors }) => {
    const sorted = Float64Array.from(errors).sort();
    const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length;
    return [
      name,
      mean.toFixed(5),
      Math.min(...cosines).toFixed(5),
      ...[0.999, 1].map((share) => sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(5) ?? ''),
    ];
  });
  return {
    title: `Against float32, ${SENTENCES.length} sentences, all attention weights`,
    head: ['weights', 'cosine, mean', 'least', 'attention error, 99.9 %', 'largest'],
    rows,
  };
}
