/**
 * MPNet: BERT with RoBERTa's positions and, added to the logits of every layer, a bias by distance in 32 buckets.
 * Source: arXiv 2004.09297; names as transformers writes them, which fixes padding, buckets and reach.
 */
import { bert } from './bert.js';
import { bucketsByDistance } from './parts/buckets.js';
import { roberta, startBehind } from './roberta.js';

const PADDING = 1;
const BUCKETS = 32;
const REACH = 128;

/** @type {import('./index.js').Family} */
export const mpnet = {
  ...bert,
  family: 'mpnet',
  types: ['mpnet'],
  only: { relative_attention_num_buckets: [BUCKETS] },
  config: (c, sizes) => ({
    ...bert.config(c, sizes),
    segments: 0,
    ...startBehind(c, sizes, PADDING),
    buckets: BUCKETS,
    bucket_reach: REACH,
    bucket_of: bucketsByDistance(BUCKETS, REACH),
  }),
  prefixes: ['', 'mpnet.'],
  names: { ...bert.names, relative: 'encoder.relative_attention_bias' },
  layerNames: {
    ...bert.layerNames,
    q: 'attention.attn.q',
    k: 'attention.attn.k',
    v: 'attention.attn.v',
    o: 'attention.attn.o',
    attn_norm: 'attention.LayerNorm',
  },
  heads: roberta.heads,
};
