/* attention.h - scaled dot-product attention of one head, fused or step by step.
 *
 *   scores = Q K^T     scaled = scores * scale     capped = cap tanh(scaled / cap)     biased = capped + relative bias
 *   masked = biased + mask     weights = softmax of each row of masked     context = weights V
 *
 * Works on blocks of a few query rows, so its scratch is linear in the number of keys. Keys that a window or a causal edge
 * hides from all rows of a block are left out of every step from the scores on. Rows do not depend on each other: any
 * window of rows, in any block, has the bits of the whole. Both functions below go through the same steps in the
 * same order, so the weights shown are those that made the context. Source: arXiv 1706.03762, section 3.2.1. */
#ifndef QKV_ATTENTION_H
#define QKV_ATTENTION_H

#include "arena.h"
#include "qkv.h"

typedef struct qkv_attention_scratch {
    float *scores;  /* [6, most keys rounded up to 8] */
    float *panels;  /* A panels of 6 rows of scores or queries */
    float *inverse; /* [6] 1 / sum of each row */
    float *bias;    /* [most keys] the mask of one row, when it has to be put together */
    float *values;  /* [most keys, 8] a panel of V with zeros at the forbidden keys */
} qkv_attention_scratch;

#define QKV_UNBOUNDED (INT64_C(1) << 40) /* a span without an end */

/* Which keys a query may see, and what is added to its logits. Query i may see the keys j with
 *   max(0, i + from) <= j < min(limit, i + to), j < columns, flag(i, j) == allowed, add(i, j) > -infinity;
 * all of them when the struct is the result of qkv_mask_none. */
typedef struct qkv_mask {
    const float *add;     /* NULL or [N, stride]: added, -infinity forbids */
    const uint8_t *flags; /* NULL or [N, stride]: 0 or 1; at most one of the two is set */
    uint8_t allowed;      /* the flag that lets a key take part */
    size_t stride;        /* from one query's row to the next; 0: all queries share one */
    int32_t columns;      /* keys behind those that the rows have are forbidden */
    int32_t limit;        /* keys of the sequence */
    int64_t from, to;     /* the window or the causal edge, from the place of query 0 */
} qkv_mask;

qkv_mask qkv_mask_none(int32_t keys);

/* The keys [first, last). */
typedef struct qkv_span {
    int32_t first, last;
} qkv_span;

/* The keys, of so many, that the edges of a mask let some of the queries [row0, row0 + rows) see, from the start of a panel on.
 * Weights of other keys are 0, and neither keys nor values of theirs are read. rows >= 1. */
qkv_span qkv_mask_reach(const qkv_mask *mask, int32_t keys, int32_t row0, int32_t rows);

typedef struct qkv_attention {
    const float *q; /* [N, q_stride], of which E are used */
    size_t q_stride;
    const float *k;                   /* W panels [ceil(M / 8)][E][8]: column j is key j */
    const float *v;                   /* W panels [ceil(Ev / 8)][at least M][8]: row j is value j */
    size_t v_stride;                  /* floats from one panel of v to the next */
    int32_t keys, key_dim, value_dim; /* M, E, Ev */
    float scale;
    float softcap;         /* 0: none */
    const float *relative; /* NULL, or biases by distance: relative[j - i] is added for key j of query i */
    float empty;           /* the weights and context of a query that may see no key: 0, or NaN as torch has it */
    qkv_mask mask;
} qkv_attention;

void qkv_attention_scratch_take(qkv_attention_scratch *scratch, qkv_arena *arena, int32_t most_keys, int32_t key_dim);

/* Puts key or value rows [n, E] into the panels that qkv_attention reads, as rows [row0, row0 + n). */
void qkv_attention_put_keys(float *k_panels, int32_t row0, const float *rows, size_t stride, int32_t n, int32_t dim);
void qkv_attention_put_values(float *v_panels, size_t v_stride, int32_t row0, const float *rows, size_t stride,
                              int32_t n, int32_t dim);
/* The other way: out [n, dim]. */
void qkv_attention_get_keys(const float *k_panels, int32_t n, int32_t dim, float *out);
void qkv_attention_get_values(const float *v_panels, size_t v_stride, int32_t n, int32_t dim, float *out);

/* out [rows, out_stride], Ev written: the context of queries [row0, row0 + rows). weights: NULL, or [rows, M] for the
 * weights that made it. */
void qkv_attention_context(const qkv_attention *a, int32_t row0, int32_t rows, float *out, size_t out_stride,
                           float *weights, const qkv_attention_scratch *scratch);

/* out [rows, M]: a stage from QKV_STAGE_SCORES to QKV_STAGE_WEIGHTS of the same queries. */
void qkv_attention_map(const qkv_attention *a, qkv_stage stage, int32_t row0, int32_t rows, float *out,
                       const qkv_attention_scratch *scratch);

#endif
