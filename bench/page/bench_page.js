/** The parts that the address asks for, in this browser: tables as text for a reader, reports for bench/browser.js. */
import { measurePart, PARTS } from '../parts.js';
import { tableText } from '../report.js';
import { runtime } from '../runtime.js';

/** @type {import('../nodes.js').Result[]} */
const results = [];
globalThis.benchResults = results;

const asked = new URL(location.href).searchParams;
const output = /** @type {HTMLElement} */ (document.querySelector('pre'));
const parts = asked.get('parts')?.split(',') ?? [];
const settings = {
  rounds: Number(asked.get('rounds') ?? 20),
  threads: Number(asked.get('threads') ?? 1),
  full: asked.has('full'),
  brief: asked.has('brief'),
  peers: asked.has('peers') ? new URL('/peers', location.href).href : null,
  peerModels: new URL('/peer-models', location.href).href,
};
for (const part of parts) {
  if (!PARTS[part]?.inPage) throw new Error(`A page cannot run '${part}'`);
  output.append(`${part} ...\n`);
  const report = await measurePart(part, settings);
  output.append(report.tables.map(tableText).join('\n'), '\n');
  results.push({ part, where: runtime(), report });
}
