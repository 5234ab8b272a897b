/** Measures the parts it is asked for and prints a line of JSON for each: what nodes.js starts. */
import { measurePart } from './parts.js';
import { runtime } from './runtime.js';

const { parts, settings } = JSON.parse(process.argv[2]);
for (const part of parts) {
  const report = await measurePart(part, settings);
  console.log(JSON.stringify({ part, where: runtime(), report }));
}
process.exit();
