/** model.safetensors.index.json: which file holds which tensor of a model that is split into several. */
import { QkvError } from '../checks/errors.js';
import { isObject, parseJson } from './json.js';

/** @typedef {import('./safetensors.js').TensorInfo} TensorInfo */

/**
 * @typedef {object} ShardIndex
 * @property {string[]} files the shards in order of their names, each once
 * @property {Map<string, string>} fileOf tensor name to shard
 */

const MAX_SHARDS = 10_000;
/** A plain name in the same folder: no folders, no "..", no URL, not the index itself. */
const SHARD_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\.safetensors$/;

/**
 * @param {Uint8Array} bytes
 * @param {string} label the file, as messages name it
 * @returns {ShardIndex}
 */
export function readIndex(bytes, label) {
  const map = parseJson(bytes, label).weight_map;
  if (!isObject(map)) {
    const got = map === undefined ? 'nothing' : map;
    throw new QkvError('format', `${label}: weight_map`, { got, want: 'an object that names a file for each tensor' });
  }
  /** @type {Map<string, string>} */
  const fileOf = new Map();
  for (const [tensor, file] of Object.entries(map)) {
    if (typeof file !== 'string' || !SHARD_NAME.test(file)) {
      const want = 'the plain name of a .safetensors file in the same folder';
      throw new QkvError('format', `${label}: weight_map[${JSON.stringify(tensor)}]`, { got: file, want });
    }
    fileOf.set(tensor, file);
  }
  const files = [...new Set(fileOf.values())].sort();
  if (files.length === 0 || files.length > MAX_SHARDS) {
    throw new QkvError('format', `${label}: number of shards`, { got: files.length, want: `1 to ${MAX_SHARDS}` });
  }
  return { files, fileOf };
}

/**
 * What a shard holds must be what the index says of it, so that no tensor comes twice and none is silently missing.
 * @param {ShardIndex} index
 * @param {string} file
 * @param {TensorInfo[]} tensors of that file
 */
export function checkShard({ fileOf }, file, tensors) {
  const present = new Set(tensors.map(({ name }) => name));
  for (const name of present) {
    const owner = fileOf.get(name);
    if (owner === file) continue;
    throw new QkvError('format', `${file}: tensor ${JSON.stringify(name)}`, {
      got: `it in ${file}`,
      want: owner === undefined ? 'only tensors that the index lists' : `it in ${owner}, as the index says`,
    });
  }
  for (const [name, owner] of fileOf) {
    if (owner === file && !present.has(name)) {
      throw new QkvError('format', `${file}: tensor ${JSON.stringify(name)}`, {
        got: 'nothing',
        want: 'it here, as the index says',
      });
    }
  }
}
