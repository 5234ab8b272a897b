// How a strict TypeScript project uses the package; tests/lint/package.js compiles it against dist/.
import {
  type EmbedOptions,
  type Engine,
  type ErrorCode,
  type ForwardInput,
  type GenerateOptions,
  type HeadStatistics,
  init,
  type Kind,
  loadModel,
  type Matrix,
  type Model,
  type NewToken,
  type NextToken,
  type Progress,
  QkvError,
  type Run,
  type SingleInput,
  type StageName,
} from 'qkv';

const engine = await init({ variant: 'simd' });
const model = await loadModel(
  { 'config.json': new Uint8Array(1) },
  { engine, onProgress: ({ loaded, total }) => console.log(loaded, total) },
);
const run: Run = await model.forward(['one text', 'its pair'], { temperature: 2 });
const { rows, cols, data }: Matrix = await run.getWeights(4, 7, { stage: 'scaled', rows: [0, 2] });
console.log(rows * cols, data.length, run.tokens[0].text, run.truncated, new QkvError('argument', 'x').code);
run[Symbol.dispose]();

// One text gives one vector, a batch an array of them; what is not known before may be either.
const one: Float32Array = await (await model.forward('one')).embedding();
const pair: Float32Array = await (await model.forward(['one', 'pair'])).embedding({ pooling: 'cls' });
const ids: Float32Array = await (await model.forward({ ids: new Int32Array([101, 102]) })).embedding();
const batch: Run<true> = await model.forward({ batch: ['one', ['a', 'pair'], { ids: [101] }] });
const many: Float32Array[] = await batch.embedding();
console.log(one, pair, ids, many, batch.truncated.length);
export async function either(of: Model, input: ForwardInput): Promise<Run> {
  const made = await of.forward(input);
  const vectors: Float32Array | Float32Array[] = await made.embedding();
  // @ts-expect-error the input may have been a batch
  const vector: Float32Array = vectors;
  console.log(vector);
  return made;
}
// @ts-expect-error a batch has no single vector
const wrong: Float32Array = await batch.embedding();
// @ts-expect-error no such option
await model.forward('one', { temprature: 2 });

// Names of stages and kinds are known ones; lists that nobody may change are taken.
const kind: Kind = model.info.kinds[0];
const step: StageName = 'qLinear';
console.log((await batch.getStage(step, { layer: 0, head: 1, kind })).shape);
// @ts-expect-error no such stage
await batch.getStage('queries', { layer: 0, head: 1 });
// @ts-expect-error no such kind
await batch.getWeights(0, 0, { kind: 'cross' });
const fixed = ['one', 'two'] as const;
const fixedBatch: Run<true> = await model.forward({ batch: fixed });
console.log(fixedBatch.lengths, await model.embed(fixed), await model.forward(fixed));

const { variant }: Engine['info'] = engine.info;
const options: EmbedOptions = {
  normalize: false,
  onProgress: ({ phase, total }: Progress) => console.log(phase, total),
};
const heads: HeadStatistics[] = (await batch.overview({ size: 8 })).stats;
const code: ErrorCode = new QkvError('argument', 'x').code;
console.log(wrong, variant, await model.embed(['one'], options), heads[0].entropy, code);

// Decoders: streamed tokens, where the text stopped, logits and proposals.
const drawn: GenerateOptions = { maxNewTokens: 8, temperature: 0.8, topK: 40, topP: 0.95, seed: 1 };
const start: SingleInput = { ids: [1] };
const written: Run<false> = await model.generate(start, {
  ...drawn,
  onToken: ({ id, text, index, special }: NewToken) => console.log(id, text, index, special),
  signal: AbortSignal.timeout(1000),
});
await model.generate(start, { onToken: async ({ text }) => void (await Promise.resolve(text)) });
const stopped: 'eos' | 'stop' | 'length' | 'context' | null = written.stopped;
const text: string | null = written.text;
const next: NextToken[] = await written.nextTokens(5, { position: 0 });
const logits: Float32Array = await written.logits({ position: written.promptTokens - 1 });
console.log(stopped, text, next[0].probability, logits.length, (await written.hidden(0)).shape);
// @ts-expect-error one text after the other
await model.generate({ batch: ['one'] });
// @ts-expect-error no such option
await model.generate('one', { maxTokens: 5 });
