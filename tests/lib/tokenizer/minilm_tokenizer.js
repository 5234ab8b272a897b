import { readFileSync } from 'node:fs';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';

/** The bundled model's own file: 30,522 pieces, lower case, accents stripped. */
const FILE = new URL('../../../web/models/minilm/tokenizer.json', import.meta.url);

/** @param {number} [maxTokens] */
export const minilmTokenizer = (maxTokens = 512) =>
  createTokenizer(JSON.parse(readFileSync(FILE, 'utf8')), { vocab: 30522, maxTokens });
