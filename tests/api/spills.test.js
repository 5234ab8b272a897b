/** The inner loops of the products must keep their sums in registers: ten vectors in the 5 x 8 one of floats, eight in the
 * 4 x 8 ones of integers. Nothing is timed: V8 prints the machine code it made, and no vector of these loops may
 * go to the stack. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { inTree } from './golden.js';

const RELAXED = '--experimental-wasm-relaxed-simd'; // Node 20 wants it, newer ones may not know it
const COMPILE = "new WebAssembly.Module(require('node:fs').readFileSync(process.argv[1]))";
/** Instructions of the longest loop that counts; V8 may unroll. */
const LONGEST = 160;

const isKnown = spawnSync(process.execPath, [RELAXED, '-e', '0']).status === 0;
const FLAGS = isKnown ? [RELAXED] : [];

/** Whether this Node runs the module at all; not every one has relaxed SIMD. @param {string} file */
const runs = (file) => spawnSync(process.execPath, [...FLAGS, '-e', COMPILE, file]).status === 0;

/** The optimised code of all functions. @param {string} file */
function machineCode(file) {
  const flags = [...FLAGS, '--no-liftoff', '--no-wasm-lazy-compilation', '--print-wasm-code'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', COMPILE, file], {
    encoding: 'utf8',
    maxBuffer: 2 ** 27,
  });
  assert.equal(status, 0, `this Node prints no machine code: ${stderr}`);
  return stdout;
}

/** The bodies of all loops without another one inside. @param {string} code */
function innermostLoops(code) {
  const instructions = [...code.matchAll(/^(0x[0-9a-f]+)\s+[0-9a-f]+\s+[0-9a-f]+\s+(.+)$/gm)].map(
    ([, address, text]) => ({ address: Number(address), text }),
  );
  const places = new Map(instructions.map(({ address }, i) => [address, i]));
  return instructions.flatMap(({ text }, end) => {
    const target = /^j\w+ (0x[0-9a-f]+)/.exec(text)?.[1];
    const start = target === undefined ? undefined : places.get(Number(target));
    if (start === undefined || start > end || end - start > LONGEST) return [];
    return [instructions.slice(start, end + 1).map((instruction) => instruction.text)];
  });
}

/** @param {string[]} body @param {RegExp} what */
const count = (body, what) => body.filter((text) => what.test(text)).length;

/** @param {string[]} body */
const splats = (body) => count(body, /^vbroadcastss .*\[/);

/** @type {Record<string, (body: string[]) => boolean>} */
const TILES = {
  '5 x 8 product of floats': (body) => {
    const products = count(body, /^v(mulps|fmadd\w+ps)/);
    return products > 0 && products % 10 === 0 && products === 2 * splats(body);
  },
  '4 x 8 product of integers': (body) => {
    const products = count(body, /^vpmaddwd/);
    return products > 0 && products % 16 === 0 && products === 2 * splats(body);
  },
};

for (const name of ['qkv', 'qkv-relaxed', 'qkv-threads', 'qkv-relaxed-threads']) {
  test(`${name}.wasm: the loops of the products spill nothing`, (t) => {
    const file = inTree(`web/lib/${name}.wasm`);
    if (process.arch !== 'x64') return t.diagnostic('only the code for x64 is read');
    if (name.includes('relaxed') && !runs(file)) return t.diagnostic('this Node has no relaxed SIMD');
    const code = machineCode(file);
    if (!/vbroadcastss/.test(code)) {
      assert.match(code, /^0x[0-9a-f]+\s+[0-9a-f]+\s+[0-9a-f]+\s+\w/m, 'there is no machine code');
      return t.diagnostic('only the code for processors with AVX is read');
    }
    const loops = innermostLoops(code);
    for (const [what, isTile] of Object.entries(TILES)) {
      const tiles = loops.filter(isTile);
      assert.ok(tiles.length > 0, `there is no loop that looks like the ${what}`);
      for (const body of tiles) {
        assert.deepEqual(
          body.filter((text) => /^v.*\[r[bs]p[+-]/.test(text)),
          [],
          `${what}: ${body.join('\n')}`,
        );
      }
    }
  });
}
