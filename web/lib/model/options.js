/** The names of options that the calls of a model take. By themselves, since a worker's client checks them too. */

/** @typedef {import('../api/model.js').EmbedOptions} EmbedOptions */
/** @typedef {import('../api/model.js').ForwardOptions} ForwardOptions */
/** @typedef {import('../api/model.js').GenerateOptions} GenerateOptions */

/** @type {readonly (keyof ForwardOptions)[]} */
export const FORWARD_OPTIONS = ['mask', 'ablate', 'scale', 'temperature', 'signal'];

/** @type {readonly (keyof GenerateOptions)[]} */
export const GENERATE_OPTIONS = ['maxNewTokens', 'temperature', 'topK', 'topP', 'seed', 'stop', 'onToken', 'signal'];

/** @type {readonly (keyof EmbedOptions)[]} */
export const EMBED_OPTIONS = ['prompt', 'pooling', 'normalize', 'signal', 'onProgress'];
