/** What reads models in the calling thread: tokenizers, families, file formats. A chunk of its own, fetched when it is first
 * needed, because a page whose models live in a worker has all of it there. */

export { loadInThread } from './load.js';
export { previewModel } from './model_preview.js';
