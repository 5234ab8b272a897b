/* block.h - one transformer block over the tokens of a run, and the pieces of it that can be looked at later.
 *
 *   post-norm      (BERT, arXiv 1810.04805)   y = norm(x + attention(x))               next = norm(y + ffn(y))
 *   pre-norm       (GPT-2, Llama)             y = x + attention(norm(x))               next = y + ffn(norm(y))
 *   sandwich norm  (Gemma 2)                  y = x + norm(attention(norm(x)))         next = y + norm(ffn(norm(y)))
 *   parallel       (GPT-NeoX, Phi; pre-norm)  next = x + attention(norm(x)) + ffn(norm(x))
 *
 * Sequences of a batch lie one behind the other without padding: every GEMM sees one tall matrix, attention works
 * sequence by sequence. */
#ifndef QKV_BLOCK_H
#define QKV_BLOCK_H

#include "attention.h"
#include "model.h"
#include "pool.h"

#define QKV_TOKENS_AT_ONCE 128 /* rows that go through a GEMM together: bounds the scratch, keeps it in the cache */

typedef struct qkv_sequence {
    int32_t first;  /* first token among those of the run */
    int32_t length; /* N */
    int32_t padded; /* N and the room behind it rounded up to 8 */
    int32_t before; /* sum of `padded` over the sequences in front */
} qkv_sequence;

/* The scratch of one thread. */
typedef struct qkv_scratch {
    float *q;       /* [T, H E] queries of the layer that is being computed or looked at; one for all threads */
    float *context; /* [T, H E], the same memory as q: rows of q are packed before their context is written over them */
    float *wide;    /* [128, widest of (H + 2 G) E, F, 2 F] */
    float *narrow;  /* [128, widest of D, embed_width, head_width] */
    float *normed;  /* [128, widest of D, embed_width] */
    qkv_packed packed;
    qkv_attention_scratch attention;
} qkv_scratch;

/* One layer's view of a run. */
typedef struct qkv_block {
    const qkv_config *config;
    const qkv_layer *layer;
    const qkv_sequence *sequences;
    int32_t sequence_count;
    int32_t fresh, tokens; /* forward computes the tokens [fresh, tokens); fresh > 0 only with one sequence */
    const float *x;        /* [T, D] input of the block */
    float *keys, *values;  /* K and V panels of this layer, sequence by sequence, head by head */
    float scale, softcap;
    int32_t window;         /* keys further away are not seen, -1: all are */
    const float *cos, *sin; /* [places, rope_dim / 2], or NULL */
    const float *relative;  /* [H, 2 relative_reach + 1] biases by distance, or NULL */
    int32_t relative_reach;
    const float *mask; /* NULL: none in this layer; [mask_heads, mask_rows, N] */
    int32_t mask_rows, mask_heads;
    const uint8_t *ablate;      /* [H] or NULL */
    const qkv_scratch *scratch; /* [slots], the first is the caller's */
} qkv_block;

/* scratch: [slots] */
void qkv_scratch_take(qkv_scratch *scratch, qkv_arena *arena, const qkv_config *config, int32_t tokens,
                      int32_t longest);

/* Rows of the next part of `left` rows: at most QKV_TOKENS_AT_ONCE, all parts as equal as can be, since a short one at the
 * end would read all weights for a few rows. */
int32_t qkv_rows_at_once(int32_t left);

/* Floats of `keys` and of `values` for one token of the capacity. */
size_t qkv_keys_size(const qkv_config *config);
size_t qkv_values_size(const qkv_config *config);
/* Zeros behind the last key, once when a run is created: the kernels read whole panels. */
void qkv_block_clear_padding(const qkv_block *block);

/* next [T, D]: the fresh tokens through the whole block. Adds to keys and values. */
void qkv_block_forward(const qkv_block *block, float *next);

/* The attention of one head of one sequence, reading queries from scratch->q (all heads) or from a window of them.
 * q: [N, q_stride], first row = first query of the sequence. */
qkv_attention qkv_block_attention(const qkv_block *block, int32_t sequence, int32_t head, const float *q,
                                  size_t q_stride);

/* What Q, K and V are maps of: tokens [first, first + rows), rows <= 128, after the norm of a pre-norm block. Lies in x itself or
 * in scratch->normed. */
const float *qkv_block_inputs(const qkv_block *block, int32_t first, int32_t rows);

/* Keys or values of one query head's group, [N, E]. */
void qkv_block_copy_keys(const qkv_block *block, int32_t sequence, int32_t head, float *out);
void qkv_block_copy_values(const qkv_block *block, int32_t sequence, int32_t head, float *out);

typedef enum qkv_projection { QKV_QUERIES, QKV_KEYS } qkv_projection;

/* Queries or keys of `heads` heads for tokens [first, first + rows) of a sequence, rows <= 128, recomputed from x into
 * scratch->wide: projection and bias, then norm and rotation unless `linear`. head counts query heads for queries, kv
 * heads for keys. Returns their first element; *out_stride is the distance of rows. */
const float *qkv_block_project(const qkv_block *block, qkv_projection what, int linear, int32_t sequence, int32_t head,
                               int32_t heads, int32_t first, int32_t rows, size_t *out_stride);
/* The queries of all heads and all tokens of a sequence into scratch->q, row stride H E. */
void qkv_block_all_queries(const qkv_block *block, int32_t sequence);
/* Contexts of all heads of some sequences from scratch->q into scratch->context, from token `from` of each on, ablated
 * heads as zeros. */
void qkv_block_contexts(const qkv_block *block, int32_t first_sequence, int32_t sequences, int32_t from);
/* out [N, D] = concat W_O + bias of a sequence from scratch->context. */
void qkv_block_output(const qkv_block *block, int32_t sequence, float *out);

/* Key/value head of a query head. */
static inline int32_t qkv_group_of(const qkv_config *c, int32_t head) {
    return (int32_t)((int64_t)head * c->kv_heads / c->heads);
}

#endif
