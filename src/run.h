/* run.h - a run from inside: what a forward pass leaves behind, and one layer of it as a block. */
#ifndef QKV_RUN_H
#define QKV_RUN_H

#include "block.h"

struct qkv_run {
    const qkv_model *model;
    int32_t tokens, capacity; /* T; T and the room with every sequence rounded up to 8, then to 64 */
    int32_t room;             /* tokens that may still be added */
    int32_t fresh;            /* the next forward computes tokens [fresh, tokens) */
    int32_t sequence_count;
    int32_t longest; /* tokens of the longest sequence, the room included */
    int32_t done;    /* layers computed; -1: not even the embeddings */
    int32_t has_scale;
    float scale; /* the caller's, instead of the model's */
    float temperature;
    int32_t mask_rows, mask_heads;
    qkv_sequence *sequences;
    int32_t *ids, *type_ids;         /* [T] */
    float *mask;                     /* NULL or [mask_heads, mask_rows, N] */
    uint8_t *mask_layers;            /* [L] or NULL */
    uint8_t *ablate;                 /* [L, H] or NULL */
    float *cos, *sin;                /* [rope_sets, longest, rope_dim / 2] or NULL */
    float *relative;                 /* [H, 2 longest - 1] or NULL */
    float *x;                        /* [L + 1, capacity, D]: input of each block; the last is the output */
    float *keys, *values;            /* [L] times the panels of all sequences */
    size_t keys_layer, values_layer; /* floats of one layer */
    qkv_scratch scratch;
    float *glance; /* [9, longest] for qkv_overview */
};

/* The input of block l, or for l = L the output of the last: [T, D]. */
float *qkv_run_x(const qkv_run *run, int32_t layer);
qkv_block qkv_run_block(const qkv_run *run, int32_t layer);

/* out [rows, D]: the last hidden state of tokens [first, first + rows), behind the final norm. */
void qkv_run_final(const qkv_run *run, int32_t first, int32_t rows, float *out);

/* QKV_OK when the kind of attention asked for is one that the model has. */
qkv_status qkv_check_kind(const qkv_run *run, qkv_kind kind, qkv_error *err);

#endif
