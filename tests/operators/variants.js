/** The builds of the engine that this Node can run. Node 20 runs the relaxed one with --experimental-wasm-relaxed-simd, which
 * relaxed.test.js starts it with. */
import { init } from 'qkv';
import '../fresh_dist.js';

/** @type {('simd' | 'relaxed')[]} */
export const VARIANTS = ['simd'];
try {
  (await init({ variant: 'relaxed' })).dispose();
  VARIANTS.push('relaxed');
} catch (error) {
  if (!(error instanceof Error) || !error.message.includes('relaxed SIMD')) throw error;
}
