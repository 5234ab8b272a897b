/** Finds, fetches, checks and compiles a wasm module; knows nothing of what is inside. A compiled module is kept per
 * address, since instances of it are cheap: every model in its own memory, and a new instance after a trap. */

import { threadAddress, wasmAddress } from '../addresses.js';
import { readArguments } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';
import { shownAddress } from '../sources/address.js';
import { bodyOf, openAnswer, unlessSilent } from '../sources/answer.js';
import { gather } from '../sources/gather.js';

/** @typedef {'simd' | 'relaxed'} Variant */
/** @typedef {string | URL | BufferSource | Response | WebAssembly.Module} WasmSource */
/** @typedef {import('../sources/answer.js').Waiting} Waiting */
/**
 * @typedef {object} Compiled
 * @property {WebAssembly.Module} module
 * @property {Variant | 'custom'} variant
 * @property {number | null} wasmBytes null when a Module was handed in
 * @property {import('./pool.js').PoolPlan | null} [pool] null: one thread
 */

// Two functions of a few bytes: i8x16.splat + i8x16.popcnt, and f32x4.relaxed_madd on splats.
const SIMD_PROBE = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
];
const RELAXED_PROBE = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15, 65, 0, 253, 15, 65,
  0, 253, 15, 253, 133, 2, 11,
];

/** waiters: callers that want it; the last one to give up ends the download
 * @typedef {{ loading: Promise<Compiled>, waiters: number, controller: AbortController }} Module */
/** @type {Map<string, Module>} */
const modules = new Map();

/**
 * @param {{ variant?: 'auto' | Variant, wasm?: WasmSource, threads?: number } & Waiting} options
 * @returns {Promise<Compiled>}
 */
export async function loadWasm({ threads = 1, ...options }) {
  checkNode();
  const pool = threads > 1 ? { threads, address: threadAddress().href } : null;
  return { ...(await loadModule(options, pool !== null)), pool };
}

/** An older Node would fail all the same, later and in words that nobody understands. */
function checkNode() {
  const version = globalThis.process?.versions?.node;
  if (version === undefined || typeof document !== 'undefined') return;
  if (typeof process.getBuiltinModule === 'function') return;
  throw new QkvError('wasm', 'qkv needs Node 20.16 or newer (of 22, 22.3)', {
    got: version,
    fix: 'Install a newer Node.',
  });
}

/**
 * @param {{ variant?: 'auto' | Variant, wasm?: WasmSource } & Waiting} options
 * @param {boolean} isShared
 * @returns {Promise<Compiled>}
 */
async function loadModule({ variant = 'auto', wasm, ...waiting }, isShared) {
  const chosen = chooseVariant(variant);
  if (wasm === undefined) return fromAddress(wasmAddress(chosen, isShared), chosen, waiting);
  const label = variant === 'auto' ? 'custom' : chosen;
  // An object that stands for another may not even be asked what it is.
  readArguments('init: wasm', () => wasm instanceof Object);
  if (wasm instanceof WebAssembly.Module) return { module: wasm, variant: label, wasmBytes: null };
  if (wasm instanceof Response) return compile(await readGiven(wasm, waiting), label);
  if (wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm))
    return compile({ bytes: toBytes(wasm), from: 'the given bytes' }, label);
  if (typeof wasm === 'string' || wasm instanceof URL) return fromAddress(toAddress(wasm), label, waiting);
  throw new QkvError('argument', 'init: wasm', { got: wasm, want: 'a URL, bytes, a Response or a WebAssembly.Module' });
}

/**
 * @param {'auto' | Variant} wanted
 * @returns {Variant}
 */
function chooseVariant(wanted) {
  if (!['auto', 'simd', 'relaxed'].includes(wanted)) {
    throw new QkvError('argument', 'init: variant', { got: wanted, want: "'auto', 'simd' or 'relaxed'" });
  }
  if (typeof WebAssembly === 'undefined' || !isValid(SIMD_PROBE)) {
    const fix = 'qkv runs in Chrome 91, Firefox 89, Safari 16.4, Node 20.16 and newer.';
    throw new QkvError('wasm', 'This program cannot run WebAssembly SIMD', { fix });
  }
  const hasRelaxed = isValid(RELAXED_PROBE);
  if (wanted === 'relaxed' && !hasRelaxed) {
    const fix = "Use 'auto' or 'simd'; relaxed SIMD came with Chrome 114, Firefox 145 and Node 21.";
    throw new QkvError('wasm', 'This program cannot run relaxed SIMD', { fix });
  }
  if (wanted !== 'auto') return wanted;
  return hasRelaxed ? 'relaxed' : 'simd';
}

/** @param {number[]} bytes */
const isValid = (bytes) => WebAssembly.validate(Uint8Array.from(bytes));

/** @param {string | URL} address */
function toAddress(address) {
  if (address instanceof URL) return address;
  if (/^[a-z][a-z\d+.-]+:/i.test(address)) return parsedUrl(address);
  if (typeof document !== 'undefined') return parsedUrl(address, document.baseURI);
  const path = process.getBuiltinModule('node:path');
  return process.getBuiltinModule('node:url').pathToFileURL(path.resolve(address));
}

/** @param {string} address @param {string} [base] */
function parsedUrl(address, base) {
  try {
    return new URL(address, base);
  } catch {
    throw new QkvError('argument', 'init: wasm', { got: shownAddress(address), want: 'a valid URL' });
  }
}

/**
 * @param {URL} address
 * @param {Variant | 'custom'} variant
 * @param {Waiting} waiting
 * @returns {Promise<Compiled>}
 */
async function fromAddress(address, variant, { signal, timeout }) {
  const entry = modules.get(address.href) ?? startLoading(address, timeout);
  entry.waiters++;
  try {
    return { ...(await unlessSilent(entry.loading, { signal, timeout: Infinity }, 'wasm')), variant };
  } catch (error) {
    // A failure is not kept: the next attempt may find the network back.
    const isOver = entry.waiters === 1 || !signal?.aborted;
    if (isOver && modules.get(address.href) === entry) modules.delete(address.href);
    throw error;
  } finally {
    if (--entry.waiters === 0) entry.controller.abort();
  }
}

/** @param {URL} address @param {number} [timeout] that of the first who asks @returns {Module} */
function startLoading(address, timeout) {
  const controller = new AbortController();
  const loading = readAddress(address, { signal: controller.signal, timeout }).then((file) => compile(file, 'custom'));
  const entry = { loading, waiters: 0, controller };
  modules.set(address.href, entry);
  return entry;
}

/** @typedef {{ bytes: Uint8Array<ArrayBuffer>, from: string, contentType?: string | null }} WasmFile */

/**
 * @param {URL} address
 * @param {Waiting} waiting
 * @returns {Promise<WasmFile>}
 */
async function readAddress(address, waiting) {
  const fs = address.protocol === 'file:' && globalThis.process?.getBuiltinModule?.('node:fs');
  const from = shownAddress(address);
  if (fs) {
    try {
      return { bytes: new Uint8Array(await fs.promises.readFile(address)), from };
    } catch (cause) {
      throw new QkvError('wasm', `The wasm file cannot be read: ${reason(cause)}`, { cause });
    }
  }
  const { response, chunks, end } = await openAnswer(address, waiting);
  try {
    return await readBody(response, chunks, from);
  } finally {
    end();
  }
}

/** @param {Response} response @param {Waiting} waiting @returns {Promise<WasmFile>} */
async function readGiven(response, waiting) {
  if (response.bodyUsed || response.body?.locked) {
    throw new QkvError('argument', 'init: wasm', { got: 'a Response that was read already', want: 'one that was not' });
  }
  const from = response.url === '' ? 'the given response' : shownAddress(response.url);
  return readBody(response, bodyOf(response, from, waiting), from);
}

/**
 * @param {Response} response
 * @param {AsyncIterable<Uint8Array>} chunks
 * @param {string} from
 * @returns {Promise<WasmFile>}
 */
async function readBody({ status, headers }, chunks, from) {
  if (status !== 200 && status !== 203) {
    throw new QkvError('network', `HTTP status of ${from}`, { got: status, want: '200 and the wasm file' });
  }
  // No compileStreaming: it refuses any content type but one, and Chromium kept no code of such a module for the next visit.
  return { bytes: await gather({ size: null, chunks }, from), from, contentType: headers.get('content-type') };
}

/**
 * @param {WasmFile} file
 * @param {Variant | 'custom'} variant
 * @returns {Promise<Compiled>}
 */
async function compile({ bytes, from, contentType }, variant) {
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (magic !== '\0asm') {
    const served = contentType ? ` served as ${contentType}` : '';
    const start = String.fromCharCode(...bytes.subarray(0, 16));
    throw new QkvError('wasm', `${from}${served} is not a wasm file`, { got: start, want: '"\\0asm" at the start' });
  }
  try {
    return { module: await WebAssembly.compile(bytes), variant, wasmBytes: bytes.byteLength };
  } catch (cause) {
    throw new QkvError('wasm', `${from} (${bytes.byteLength} bytes) does not compile: ${reason(cause)}`, { cause });
  }
}

/** @param {BufferSource} source @returns {Uint8Array<ArrayBuffer>} */
function toBytes(source) {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice()
    : new Uint8Array(source).slice();
}

/** @param {unknown} error */
const reason = (error) => (error instanceof Error ? error.message.replace(/\.$/, '') : String(error));
