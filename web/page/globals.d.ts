import type { Model, Run } from 'qkv';

declare global {
  /** The live objects behind the picture, for the browser's console. */
  var qkv: { model: Model; run: Run | null } | undefined;
}
