/** Run: what model.forward and model.generate give. Types only; run/run.js computes it in this thread, worker/remote.js asks
 * a worker. Every method takes an options object that refuses names it does not know, and rejects with a QkvError:
 * `argument` and `range` for what was asked, `disposed` behind dispose (of the run or its model), `crash` where the engine or
 * its worker was lost. What comes back is a copy, row-major in float32, and the caller's own. */

/** @typedef {import('../tokenizer/index.js').Token} Token */
/** @typedef {import('../tokenizer/index.js').Truncation} Truncation how many tokens the text had and how many are left */
/** @typedef {'encoder' | 'decoder'} Kind which attention of a model */
/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix row-major; rows are queries, columns keys */
/** @typedef {{ shape: number[], data: Float32Array }} Stage */
/** @typedef {{ kind?: Kind, sequence?: number }} Place kind: default the model's first; sequence: of a batch, default 0 */
/** @typedef {{ position?: number, sequence?: number }} Position position: a token of the sequence; default: its last */
/** @typedef {{ id: number, text: string, probability: number }} NextToken */
/** @typedef {'scores' | 'scaled' | 'capped' | 'biased' | 'masked' | 'weights'} SquareStage one [N, N] a head */
/** @typedef {'qLinear' | 'kLinear' | 'q' | 'k' | 'v' | 'context'} HeadStage one [N, head width] a head */
/** @typedef {'x' | 'concat' | 'output' | 'hidden' | HeadStage | SquareStage} StageName */
/** @typedef {{ stage?: SquareStage, rows?: readonly [number, number] }} Window rows: [from, to), default all */
/** @typedef {Place & Window} WeightsOptions */
/** @typedef {Place & { size?: number }} OverviewOptions size: cells a side, at most 32 and the number of tokens */
/** @typedef {Place & { layer?: number, head?: number }} StageOptions head: for the stages that have one a head */
/** @typedef {'mean' | 'cls' | 'last' | 'max' | 'weightedmean' | 'mean_sqrt_len_tokens'} Pooling */
/**
 * In place of what model.info.embedding says. pooling: how the rows of the last hidden state become one, or several ways, put
 * side by side; normalize: whether the result has length 1
 * @typedef {{ pooling?: Pooling | readonly Pooling[], normalize?: boolean }} EmbeddingOptions
 */
/** @typedef {'eos' | 'stop' | 'length' | 'context'} Stopped an end-of-text token, one of the texts of `stop`, maxNewTokens, or model.info.maxTokens */
/**
 * Means over the rows of one head's weights; distance counts tokens, entropy is in nats.
 * @typedef {object} HeadStatistics
 * @property {number} layer
 * @property {number} head
 * @property {number} entropy
 * @property {number} distance
 * @property {number} previous weight on the token before
 * @property {number} next
 * @property {number} self
 * @property {number} first
 * @property {number} separator weight on the tokens that end a text, [SEP] for BERT
 */
/** @typedef {{ thumbnails: Float32Array, s: number, stats: HeadStatistics[] }} Overview thumbnails: [layers, heads, s, s] */
/**
 * @template {boolean} Batch
 * @template T
 * @typedef {Batch extends true ? T[] : T} PerText
 */
/**
 * What a run is, known without asking the engine.
 * @template {boolean} [Batch=boolean]
 * @typedef {object} RunFacts
 * @property {Token[]} tokens of all sequences, one behind the other
 * @property {PerText<Batch, Truncation | null>} truncated where the text was too long; for a batch one entry each
 * @property {number[]} lengths tokens of each sequence
 * @property {number} time milliseconds the engine spent in the forward pass
 * @property {number} bytes of memory the run holds: after generate with room for 256 new tokens, or at most twice those it
 * wrote
 * @property {string | null} text what generate wrote, without special tokens; null for a forward pass, and for a model
 * without a tokenizer
 * @property {Stopped | null} stopped why generate stopped: at an end-of-text token, at a text of `stop`, at maxNewTokens, at
 * the model's longest sequence; or null
 * @property {number} promptTokens tokens that were given; those behind them are new
 */
/**
 * What a run can be asked. Each is computed when it is asked for, with the kernels of the forward pass, so it has the bits
 * that the pass used. N: tokens of the sequence.
 * @template {boolean} [Batch=boolean]
 * @typedef {object} RunMethods
 * @property {(layer: number, head: number, options?: WeightsOptions) => Promise<Matrix>} getWeights
 * The attention of one head: rows are queries, columns keys, each row sums to 1. `stage` gives a step on the way there
 * instead, `rows` a window of the rows. `head` counts query heads. What is masked is 0, and -Infinity in the stage 'masked'
 * @property {(options?: OverviewOptions) => Promise<Overview>} overview
 * Thumbnails (the largest weight of each cell) and statistics of all heads at once
 * @property {(name: StageName, options?: StageOptions) => Promise<Stage>} getStage
 * One step of the attention of a layer: x (what goes in), qLinear, kLinear (projection and bias), q, k (as the scores use
 * them: behind norm and rotary), v, scores (q k^T), scaled, capped, biased, masked, weights, context (of a head), concat,
 * output (behind W_O) or hidden (the block's output). Those of a head are [N, head width] or [N, N], the others [N, width].
 * With grouped heads k and v are those of key/value head floor(head * kvHeads / heads). A step that a family does not have
 * equals the one before it
 * @property {(index: number, options?: Place) => Promise<Stage>} hidden
 * Hidden states [N, width] as transformers counts them: 0 = the embeddings, i = the output of layer i - 1, the last one
 * behind the final norm of families that have one
 * @property {(options?: EmbeddingOptions) => Promise<PerText<Batch, Float32Array>>} embedding
 * The last hidden state as one vector, as model.info.embedding says; for a batch an array of them. Nothing is put in front of
 * the text: the prompts of a model are for model.embed
 * @property {(options?: Position) => Promise<Float32Array>} logits
 * What the model's head makes of a token: of a language model one number for each token of the vocabulary, of an ELECTRA
 * discriminator a single one. `unsupported` for a model without a head
 * @property {(k?: number, options?: Position) => Promise<NextToken[]>} nextTokens
 * The k (10) likeliest tokens, after the position for a decoder, at it for a masked language model. The probabilities are
 * the softmax of all logits, in float64
 * @property {() => void} dispose Gives the memory back; a second call does nothing
 */
/**
 * A finished forward pass, kept until dispose: block inputs, keys and values of every layer. Of a batch (Run<true>) what
 * belongs to a text comes as an array, one entry each. Its methods can be passed on without the object.
 * @template {boolean} [Batch=boolean]
 * @typedef {RunFacts<Batch> & RunMethods<Batch> & { [Symbol.dispose](): void }} Run
 */

export {};
