/* run.h - a run from inside: what a forward pass leaves behind, and one layer of it as a block. */
#ifndef QKV_RUN_H
#define QKV_RUN_H

#include "block.h"

struct qkv_run {
    const qkv_model *model;
    int32_t tokens, capacity; /* T; T with every sequence rounded up to 8, then to 64 */
    int32_t sequence_count, longest;
    int32_t done; /* layers computed; -1: not even the embeddings */
    float scale;  /* 1 / sqrt(E) or the caller's, over the temperature */
    int32_t mask_rows, mask_heads;
    qkv_sequence *sequences;
    int32_t *ids, *type_ids;         /* [T] */
    float *mask;                     /* NULL or [mask_heads, mask_rows, N] */
    uint8_t *mask_layers;            /* [L] or NULL */
    uint8_t *ablate;                 /* [L, H] or NULL */
    float *x;                        /* [L + 1, capacity, D]: input of each block; the last is the output */
    float *keys, *values;            /* [L] times the panels of all sequences */
    size_t keys_layer, values_layer; /* floats of one layer */
    qkv_scratch scratch;
    float *glance; /* [9, longest] for qkv_overview */
};

/* The input of layer l, or for l = L the last hidden state: [T, D]. */
float *qkv_run_x(const qkv_run *run, int32_t layer);
qkv_block qkv_run_block(const qkv_run *run, int32_t layer);

#endif
