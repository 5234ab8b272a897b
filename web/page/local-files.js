/**
 * Files from the reader's disk: which of them are a model, and what is said about those that are none. Nothing is read
 * here but the names, the sizes and the folders; what is inside is for the library to judge.
 */

/** @typedef {import('./words/translate.js').WordKey} WordKey */

const GGUF = /\.gguf$/i;
const SAFETENSORS = /\.safetensors$/i;
/** Files that run as programs when they are opened, or belong to other engines. */
const OTHER_WEIGHTS = /\.(pt|pth|bin|ckpt|pkl|pickle|h5|msgpack|onnx|tflite|mlmodel|npz|npy)$/i;
const ARCHIVE = /\.(zip|tar|gz|tgz|bz2|xz|7z|rar|whl)$/i;
const NEEDED = ['config.json', 'tokenizer.json'];
const NAMES_SHOWN = 4;

/** What is wrong with chosen files, as a sentence of the page. */
export class FilesProblem extends Error {
  /** @param {WordKey} key  @param {Record<string, string | number>} [values] */
  constructor(key, values = {}) {
    super(`${key} ${JSON.stringify(values)}`);
    this.key = key;
    this.values = values;
  }
}

/** @param {File[]} files */
function namesOf(files) {
  const names = files.slice(0, NAMES_SHOWN).map(({ name }) => name);
  return files.length > NAMES_SHOWN ? `${names.join(', ')} …` : names.join(', ');
}

/** The files at the top of what was chosen; of a folder's tree the library, too, sees only those. @param {File[]} files */
function topOf(files) {
  const depthOf = (/** @type {File} */ file) => file.webkitRelativePath.split('/').length;
  const top = Math.min(...files.map(depthOf));
  return files.filter((file) => depthOf(file) === top);
}

/**
 * The one model among chosen or dropped files.
 * @param {File[]} files
 * @returns {{ source: File[], name: string | null }} name: of a single file
 */
export function modelAmong(files) {
  const top = topOf(files);
  const single = top.filter(({ name }) => GGUF.test(name));
  const hasFolder = top.some(({ name }) => NEEDED.includes(name) || SAFETENSORS.test(name));
  if (single.length > 1) throw new FilesProblem('filesSeveral', { files: namesOf(single) });
  if (single.length === 1) {
    if (hasFolder && !isBeside(top)) throw new FilesProblem('filesSeveral', { files: namesOf(top) });
    refuseEmpty(single);
    return { source: single, name: single[0].name };
  }
  const twice = top.find((file, i) => top.findIndex(({ name }) => name === file.name) < i);
  if (twice) throw new FilesProblem('filesTwice', { file: twice.name });
  refuseOthers(top);
  refuseEmpty(top.filter(({ name }) => NEEDED.includes(name) || SAFETENSORS.test(name)));
  return { source: files, name: null };
}

/** A GGUF file may lie in its folder with a config.json beside it; with safetensors there are two models. @param {File[]} top */
const isBeside = (top) => !top.some(({ name }) => SAFETENSORS.test(name));

/** @param {File[]} top */
function refuseOthers(top) {
  const has = (/** @type {string} */ wanted) => top.some(({ name }) => name === wanted);
  const hasWeights = top.some(({ name }) => SAFETENSORS.test(name));
  const other = top.find(({ name }) => OTHER_WEIGHTS.test(name));
  if (other && !hasWeights) throw new FilesProblem('filesPickle', { file: other.name });
  const archive = top.find(({ name }) => ARCHIVE.test(name));
  if (archive && !hasWeights) throw new FilesProblem('filesArchive', { file: archive.name });
  if (has('config.json') && !has('tokenizer.json')) throw new FilesProblem('errorNoTokenizer');
  if (has('config.json')) return;
  if (hasWeights || has('tokenizer.json')) throw new FilesProblem('filesNoConfig', { files: namesOf(top) });
  throw new FilesProblem('filesNoModel', { files: namesOf(top) });
}

/** @param {File[]} files */
function refuseEmpty(files) {
  const empty = files.find(({ size }) => size === 0);
  if (empty) throw new FilesProblem('filesEmpty', { file: empty.name });
}
