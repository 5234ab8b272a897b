/** Model: what loadModel gives. Types only; model/model.js computes it in this thread, worker/remote.js asks a worker. Every
 * method takes an options object that refuses names it does not know, and rejects with a QkvError: `argument`, `range` and
 * `text` for what was asked, `memory` with what is needed and left, `aborted` once the signal is, `disposed` behind dispose
 * (of the model or its engine), `crash` where the engine or its worker was lost. What a callback throws, or the promise that
 * it returns rejects with, is what the call rejects with. */

/** @typedef {import('../tokenizer/index.js').Token} Token */
/** @typedef {import('./run.js').EmbeddingOptions} EmbeddingOptions */
/** @typedef {import('./run.js').Kind} Kind */
/** @typedef {import('./run.js').Pooling} Pooling */
/**
 * @template {boolean} [Batch=boolean]
 * @typedef {import('./run.js').Run<Batch>} Run
 */

// ---- what goes in ---------------------------------------------------------------------------------------------------

/** @typedef {ArrayLike<number>} Ids */
/**
 * A text, a pair of texts, or ids that are used as they are: no special tokens are added and nothing is cut.
 * @typedef {string | readonly [string, string] | { ids: Ids, typeIds?: Ids }} SingleInput
 */
/** @typedef {SingleInput | { batch: readonly SingleInput[] }} ForwardInput */
/**
 * @template {ForwardInput} Input
 * @typedef {Input extends { batch: unknown } ? true : false} IsBatch
 */
/** @typedef {import('../model/interventions.js').InterventionOptions & { signal?: AbortSignal }} ForwardOptions */
/**
 * prompt: what goes in front of each text. The name of a prompt in model.info.embedding.prompts, 'query' and 'document' (which
 * every model knows, and which are empty where it says nothing), or any other string: the words themselves; '' for none.
 * Unasked, the default that the model names, where it names one
 * @typedef {EmbeddingOptions & { prompt?: string, signal?: AbortSignal, onProgress?: OnProgress }} EmbedOptions
 */
/**
 * maxNewTokens: default 64; prompt and new tokens together never exceed model.info.maxTokens. stop: up to 64 texts; the first
 * that is complete ends generating, run.text ends before it and run.stopped is 'stop'; its tokens stay in run.tokens
 * @typedef {import('../model/sampler.js').SamplerOptions & {
 *   maxNewTokens?: number,
 *   stop?: readonly string[],
 *   onToken?: OnToken,
 *   signal?: AbortSignal,
 * }} GenerateOptions
 */

// ---- what is said on the way ----------------------------------------------------------------------------------------

/** @typedef {{ phase: 'download' | 'load' | 'embed', file: string | null, loaded: number, total: number | null }} Progress */
/**
 * What it throws, or a promise that it returns rejects with, ends the call that reports. Such promises are waited for at the
 * end of the call.
 * @typedef {(progress: Progress) => unknown} OnProgress
 */
/**
 * A token as it is chosen, before it is fed.
 * @typedef {object} NewToken
 * @property {number} id
 * @property {string} text what it adds to the text: nothing while a character's bytes are incomplete, or while more bytes
 * may come that spoil it, or while it may be the beginning of a text of `stop`, and for special tokens; the texts of all
 * tokens make run.text
 * @property {number} index among the new tokens, from 0
 * @property {boolean} special
 */
/**
 * A promise that it returns is awaited before the next token is told (a worker computes on meanwhile); where it rejects, so
 * does generate.
 * @typedef {(token: NewToken) => unknown} OnToken
 */

// ---- the model ------------------------------------------------------------------------------------------------------

/** @typedef {{ layers: number, heads: number, kvHeads: number, headDim: number, width: number }} Extents */
/**
 * How embeddings are made unasked. from: the file that says so, 'default' where none does; pooling: one name, or those that are
 * put side by side; normalize: whether they have length 1; maxTokens: of a text with its prompt
 * @typedef {object} EmbeddingInfo
 * @property {Pooling | Pooling[] | null} pooling null where they cannot be made
 * @property {boolean} normalize
 * @property {number} maxTokens
 * @property {{ [name: string]: string }} prompts
 * @property {number} dimension
 * @property {'modules.json' | 'gguf' | 'default'} from
 * @property {string} [defaultPrompt] the prompt that embed uses unasked, by its name
 * @property {string} [unsupported] why embed and run.embedding refuse unless they are told a pooling
 */
/** @typedef {{ [name: string]: number }} MeasuredError how far the weights are from float32, as the model's maker measured */
/**
 * layers, heads, kvHeads, headDim and width are those of kinds[0].
 * @typedef {Extents & {
 *   name: string,
 *   family: string,
 *   kinds: Kind[],
 *   byKind: { [kind: string]: Extents },
 *   vocab: number,
 *   precision: import('../loading/model_config.js').Precision,
 *   measured: MeasuredError | null,
 *   maxTokens: number,
 *   embedding: EmbeddingInfo,
 *   parameters: number,
 *   bytes: number,
 *   headRows: number,
 *   ignored: string[],
 *   notes: string[],
 *   licence: string | null,
 * }} ModelInfo bytes: what the weights take in memory; headRows: logits a token, 0 = the model has no head; ignored: some
 * of the tensors that the model has no use for, {i} for a layer; notes: what was assumed where the files do not say, and what
 * they ask for that is not followed, a sentence each
 */
/**
 * @typedef {object} ModelMethods
 * @property {ModelInfo} info
 * @property {(text: string, pair?: string) => Promise<Token[]>} tokenize
 * The tokens that forward would see; a token's start and end count UTF-16 units of its text
 * @property {<Input extends ForwardInput>(input: Input, options?: ForwardOptions) => Promise<Run<IsBatch<Input>>>} forward
 * One pass over a text, a pair, ids, or a batch of these. A text that is too long loses ordinary tokens at its end and says
 * so in run.truncated
 * @property {(texts: readonly string[], options?: EmbedOptions) => Promise<Float32Array[]>} embed
 * One vector a text, computed in ragged batches: as the files of sentence-transformers beside the model say, or the GGUF file,
 * and else the normalised mean (model.info.embedding)
 * @property {(input: SingleInput, options?: GenerateOptions) => Promise<Run<false>>} generate
 * Goes on from a text: one token after the other, each fed back, so that the run covers the prompt and all new tokens as if
 * computed at once. Of generation_config.json the ids that end a text and those that are suppressed are followed; sampling is
 * greedy unless the options say otherwise. Memory grows with the text: the run has room for at most twice the new tokens, or 256. `unsupported` for
 * a model that is no decoder
 * @property {() => void} dispose Gives the memory back, that of its runs too; a second call does nothing
 */
/**
 * Weights that were loaded, in this thread or in a worker of their own. Its methods can be passed on without the object.
 * @typedef {ModelMethods & { [Symbol.dispose](): void }} Model
 */

export {};
