import type { Result } from '../nodes.js';

declare global {
  var benchResults: Result[] | undefined;
}
