/* qkv.h - the engine's one public header.
 *
 * qkv runs a transformer over token ids and keeps everything that is needed to show, afterwards, any step of any
 * attention head with the very bits the forward pass used. It knows tensors and numbers; it knows no files,
 * networks, text or JavaScript. It never allocates, prints or exits: the caller brings the memory, every function
 * that can fail returns a qkv_status and says why in a qkv_error.
 *
 * Two objects:
 *   qkv_model   config + weights; immutable once finished; may serve many runs
 *   qkv_run     one pass over some sequences: ids in, block inputs, K and V kept, any matrix out
 *
 * Glossary (used in every shape comment):
 *   N tokens of a sequence (queries)   M keys             T tokens of all sequences of a run
 *   D width of the hidden state        H query heads      G key/value heads (H is a multiple of G)
 *   E width of one head (dk)           F feed-forward     V vocabulary       L layers
 *
 * Use:
 *   qkv_error err;
 *   size_t bytes = qkv_model_bytes(&config, QKV_PRECISION_F32, &err);            // 0: the config is refused
 *   qkv_model *model;
 *   qkv_model_create(&model, malloc(bytes), bytes, &config, QKV_PRECISION_F32, &err);
 *   qkv_model_rows(model, QKV_SLOT_Q_WEIGHT, 0, QKV_PLANE_F32, 0, rows, data, &err); // for each tensor, in any order
 *   qkv_model_finish(model, &err);
 *   bytes = qkv_run_bytes(model, &input, &err);
 *   qkv_run *run;
 *   qkv_run_create(&run, malloc(bytes), bytes, model, &input, &err);
 *   qkv_forward(run, 0, config.layers, &err);
 *   qkv_get_weights(run, QKV_KIND_ENCODER, 4, 7, QKV_STAGE_WEIGHTS, 0, 0, N, weights, &err); // weights: [N, N]
 */
#ifndef QKV_H
#define QKV_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"

#define QKV_VERSION "0.1.0"
/* Raised whenever a wasm export, a struct below or a number of an enum changes meaning. */
#define QKV_ABI 4

/* ---- errors ------------------------------------------------------------------------------------------------- */

/* The numbers are pinned: JavaScript knows them. QKV_STATUSES(X) lists X(NAME, number). */
#define QKV_STATUSES(X) \
    X(OK, 0)            \
    X(ARGUMENT, 1)      \
    X(CONFIG, 2)        \
    X(MEMORY, 3)        \
    X(STATE, 4)         \
    X(WEIGHT, 5)        \
    X(TOKEN, 6)         \
    X(RANGE, 7)         \
    X(THREAD, 8)        \
    X(HANDLE, 9)

typedef enum qkv_status {
#define QKV_X(name, number) QKV_##name = number,
    QKV_STATUSES(QKV_X)
#undef QKV_X
} qkv_status;

/* What went wrong, for a sentence of the form "what: got ..., want ...". `what` is static text. */
typedef struct qkv_error {
    qkv_status code;
    const char *what;
    double got;
    double want;
} qkv_error;

/* ---- configuration ------------------------------------------------------------------------------------------ */

/* QKV_OK, or QKV_CONFIG naming the first field that cannot be. */
qkv_status qkv_config_check(const qkv_config *config, qkv_error *err);

/* ---- model -------------------------------------------------------------------------------------------------- */

typedef struct qkv_model qkv_model;

/* Bytes that qkv_model_create needs for this config, exactly; 0 with err filled when the config is refused or the
 * size does not fit size_t. */
size_t qkv_model_bytes(const qkv_config *config, qkv_precision precision, qkv_error *err);

/* Lays a model out in memory[0, bytes), 16-byte aligned, which it then owns until the caller takes it back.
 * bytes >= qkv_model_bytes(...). All weights are absent. */
qkv_status qkv_model_create(qkv_model **out_model, void *memory, size_t bytes, const qkv_config *config,
                            qkv_precision precision, qkv_error *err);

/* The shape a slot wants: rows and cols of table, matrix or vector (rows = 1). Rows 0 where the model has no such
 * slot. */
qkv_status qkv_model_shape(const qkv_model *model, qkv_slot slot, int32_t *out_rows, int32_t *out_cols, qkv_error *err);

/* Takes rows [row0, row0 + rows) of one tensor in the given plane and packs them; tensors and planes in any order, the
 * rows of one plane from the first to the last (row0 = rows taken so far). data: rows of `cols` elements without gaps
 * (q10_low: ceil(cols / 4) bytes a row; scale: one float a row; blocks: cols is a multiple of the block). A vector is one
 * row. Vectors, positions, segments and relative biases take floats: f32, f16, bf16 and blocks; the token table the planes of
 * its form and, where that is f32 or integers, floats; matrices every plane, whichever the precision: an f32 model
 * dequantises, a q10 or q8 model quantises floats and blocks (scale = largest magnitude of the row / 511 or 127, round to
 * nearest even) and takes only integers that it can keep as they are. */
qkv_status qkv_model_rows(qkv_model *model, qkv_slot slot, int32_t layer, qkv_plane plane, int32_t row0, int32_t rows,
                          const void *data, qkv_error *err);

/* Checks that every row of every slot has come; from then on the model is immutable. */
qkv_status qkv_model_finish(qkv_model *model, qkv_error *err);

/* ---- run ---------------------------------------------------------------------------------------------------- */

/* What a run computes. Fields, X(type, name); pointers are read during qkv_run_create only.
 *   ids          [T] token ids of all sequences, one after the other
 *   type_ids     [T] token types, or NULL: all 0
 *   lengths      [sequences] tokens of each sequence, each >= 1, summing to T
 *   mask         NULL, or float added to the scaled logits, -infinity = not allowed: [mask_heads, mask_rows, N];
 *                mask_rows is 1 (a key mask) or N, mask_heads 1 or H; all sequences then have the same length
 *   mask_layers  [L] 1 where the mask applies, or NULL: everywhere
 *   ablate       [L, H] 1 where the head's context is replaced by zeros, or NULL
 *   scale        what QK^T is multiplied by when has_scale is not 0; else the model's scale
 *   temperature  divides the logits before the mask; > 0; 1 changes nothing
 *   room         tokens that qkv_append may add later: a causal model, one sequence, no mask */
#define QKV_INPUT_FIELDS(X) \
    X(ptr_i32, ids)         \
    X(ptr_i32, type_ids)    \
    X(ptr_i32, lengths)     \
    X(i32, sequences)       \
    X(ptr_f32, mask)        \
    X(i32, mask_rows)       \
    X(i32, mask_heads)      \
    X(ptr_u8, mask_layers)  \
    X(ptr_u8, ablate)       \
    X(i32, has_scale)       \
    X(f32, scale)           \
    X(f32, temperature)     \
    X(i32, room)

typedef struct qkv_input {
#define QKV_X(type, name) QKV_TYPE_##type name;
    QKV_INPUT_FIELDS(QKV_X)
#undef QKV_X
} qkv_input;

typedef struct qkv_run qkv_run;

/* Bytes of a run over this input, exactly (its token capacity is rounded up to 64); 0 with err filled when refused. */
size_t qkv_run_bytes(const qkv_model *model, const qkv_input *input, qkv_error *err);

/* Copies the input into memory[0, bytes), 16-byte aligned. The model must be finished and outlive the run. */
qkv_status qkv_run_create(qkv_run **out_run, void *memory, size_t bytes, const qkv_model *model, const qkv_input *input,
                          qkv_error *err);

/* Adds count tokens behind the last one. The next qkv_forward runs the blocks on them alone, from layer 0 on: what is
 * kept of the earlier tokens is the cache. Every bit is that of a run over all tokens at once. */
qkv_status qkv_append(qkv_run *run, const int32_t *ids, int32_t count, qkv_error *err);

/* Runs blocks [from_layer, to_layer); from_layer at most the number of layers done so far (a smaller one runs them
 * again). Layer 0 starts with the embeddings. Allocates nothing. */
qkv_status qkv_forward(qkv_run *run, int32_t from_layer, int32_t to_layer, qkv_error *err);

/* ---- looking in --------------------------------------------------------------------------------------------- */

#define QKV_KINDS(X) X(ENCODER, encoder) X(DECODER, decoder)

typedef enum qkv_kind {
#define QKV_X(NAME, name) QKV_KIND_##NAME,
    QKV_KINDS(QKV_X) QKV_KIND_COUNT
#undef QKV_X
} qkv_kind;

/* Every step that can be shown, in order of computation: EACH(NAME, name, the columns of its rows).
 *   width  [N, D]    x (attention's input, after the norm of a pre-norm block), output (after W_O and its bias), hidden
 *                    (block output)
 *   heads  [N, H E]  concat
 *   head   [N, E]    qLinear, kLinear (projection and bias), q, k (after norm and rotation), v, context (Z) of one head
 *   keys   [N, M]    scores (Q K^T), scaled, capped, biased, masked, weights of one head
 * A stage the model does not have equals the one before it. */
#define QKV_STAGES(EACH)          \
    EACH(X, x, width)             \
    EACH(Q_LINEAR, qLinear, head) \
    EACH(K_LINEAR, kLinear, head) \
    EACH(Q, q, head)              \
    EACH(K, k, head)              \
    EACH(V, v, head)              \
    EACH(SCORES, scores, keys)    \
    EACH(SCALED, scaled, keys)    \
    EACH(CAPPED, capped, keys)    \
    EACH(BIASED, biased, keys)    \
    EACH(MASKED, masked, keys)    \
    EACH(WEIGHTS, weights, keys)  \
    EACH(CONTEXT, context, head)  \
    EACH(CONCAT, concat, heads)   \
    EACH(OUTPUT, output, width)   \
    EACH(HIDDEN, hidden, width)

typedef enum qkv_stage {
#define QKV_X(NAME, name, columns) QKV_STAGE_##NAME,
    QKV_STAGES(QKV_X) QKV_STAGE_COUNT
#undef QKV_X
} qkv_stage;

/* Rows [row0, row0 + rows) of an [N, M] stage of one head, recomputed with the kernels of the forward pass, bit for
 * bit what it used. out: [rows, M]. The layer must have been run. */
qkv_status qkv_get_weights(qkv_run *run, qkv_kind kind, int32_t layer, int32_t head, qkv_stage stage, int32_t sequence,
                           int32_t row0, int32_t rows, float *out, qkv_error *err);

/* A whole stage of one sequence; head is ignored for [N, D] stages. out: the stage's shape. For `x` layer may be L: the
 * model's last hidden state, behind the final norm. For `hidden` it may be -1: the embeddings. */
qkv_status qkv_get_stage(qkv_run *run, qkv_kind kind, int32_t layer, int32_t head, qkv_stage stage, int32_t sequence,
                         float *out, qkv_error *err);

/* Per-head statistics, means over the rows of the weights. Places and distances count tokens.
 *   entropy    of the row, in nats                distance   sum over keys of weight * |query - key|
 *   previous   weight on the token before (mean over rows 1 .. N-1), next likewise; self; first (on token 0)
 *   separator  weight on the tokens that qkv_overview was told are separators */
#define QKV_STATS(X) X(entropy) X(distance) X(previous) X(next) X(self) X(first) X(separator)

#define QKV_THUMBNAIL_MAX 32 /* cells a side */

/* All heads of one sequence at a glance. size: 1 .. QKV_THUMBNAIL_MAX; s = min(N, size) cells a side, each the largest weight of
 * its rectangle: cell b spans rows (columns) floor(b N / s) .. floor((b + 1) N / s) - 1.
 * separators: [N] 1 where the token is a separator, or NULL. out_thumbnails: [L, H, s, s];
 * out_stats: [L, H, 7] in the order of QKV_STATS. All layers must have been run. */
qkv_status qkv_overview(qkv_run *run, qkv_kind kind, int32_t sequence, int32_t size, const uint8_t *separators,
                        float *out_thumbnails, float *out_stats, qkv_error *err);

/* How the rows of the last hidden state become one vector, as sentence-transformers names it: their mean; the first row; the
 * last; the largest of each column; the mean with the weights 1 .. N, by place in the sequence; sum / sqrt(rows). */
#define QKV_POOLINGS(X)            \
    X(MEAN, mean)                  \
    X(CLS, cls)                    \
    X(LAST, last)                  \
    X(MAX, max)                    \
    X(WEIGHTED_MEAN, weightedmean) \
    X(MEAN_SQRT_LEN, mean_sqrt_len_tokens)

typedef enum qkv_pooling {
#define QKV_X(NAME, name) QKV_POOL_##NAME,
    QKV_POOLINGS(QKV_X) QKV_POOL_COUNT
#undef QKV_X
} qkv_pooling;

/* The last hidden state of one sequence as one vector, of its rows [first, N): an instruction in front of the text can be
 * left out. Divided by its 2-norm when normalize is not 0. out: [D]. All layers must have been run. */
qkv_status qkv_embedding(qkv_run *run, int32_t sequence, qkv_pooling pooling, int32_t first, int32_t normalize,
                         float *out, qkv_error *err);

/* The head's logits at one position of a sequence, -1 = its last. out: [head_rows]. All layers must have been run. */
qkv_status qkv_logits(qkv_run *run, int32_t sequence, int32_t position, float *out, qkv_error *err);

/* ---- operators ---------------------------------------------------------------------------------------------- */

/* Scaled dot-product attention without a model. Fields, X(type, name); B batch, L queries, M keys, E key width, Ev value
 * width; strides count floats and are >= 0, so that any layout of the axes can be read and written in place.
 *   query, key, value  [B, H, L, E], [B, G, M, E], [B, G, M, Ev] by their strides; rows without gaps
 *   out                [B, H, L, Ev] by its strides
 *   stage, stage_out   QKV_STAGE_SCORES .. QKV_STAGE_WEIGHTS and [heads computed, L, M], or stage_out NULL: none
 *   mask_add           NULL or floats added to the logits, -infinity forbids; by the mask strides (0 = broadcast)
 *   mask_flags         NULL or bytes: 1 allows where mask_allowed is 1, forbids where it is 0; not both masks
 *   mask_columns       keys that a mask row has, at most M; those behind are forbidden
 *   key_lengths        [B] each 0 .. M; keys from there on are forbidden; or NULL
 *   offset             query i stands at place p = offset + i among the keys; with offset_from_lengths at
 *                      key_lengths[b] - L + i
 *   causal             not 0: key j allowed iff j <= p
 *   window_left, right -1: unbounded; else p - left <= j <= p + right
 *   scale, softcap     s = scale * q.k, then softcap * tanh(s / softcap) where softcap > 0, then the mask
 *   empty_nan          a query that may see no key gets zeros, or NaN where this is not 0
 *   first, count       heads [first, first + count) of the B H heads are computed, batch by batch; count 0: all from
 *                      first on. A caller that takes maps out part by part keeps them in the cache */
#define QKV_OPERATOR_FIELDS(X)  \
    X(ptr_f32, query)           \
    X(ptr_f32, key)             \
    X(ptr_f32, value)           \
    X(out_f32, out)             \
    X(out_f32, stage_out)       \
    X(i32, stage)               \
    X(i32, batch)               \
    X(i32, heads)               \
    X(i32, kv_heads)            \
    X(i32, queries)             \
    X(i32, keys)                \
    X(i32, key_dim)             \
    X(i32, value_dim)           \
    X(i32, query_batch_stride)  \
    X(i32, query_head_stride)   \
    X(i32, query_row_stride)    \
    X(i32, key_batch_stride)    \
    X(i32, key_head_stride)     \
    X(i32, key_row_stride)      \
    X(i32, value_batch_stride)  \
    X(i32, value_head_stride)   \
    X(i32, value_row_stride)    \
    X(i32, out_batch_stride)    \
    X(i32, out_head_stride)     \
    X(i32, out_row_stride)      \
    X(ptr_f32, mask_add)        \
    X(ptr_u8, mask_flags)       \
    X(i32, mask_allowed)        \
    X(i32, mask_columns)        \
    X(i32, mask_batch_stride)   \
    X(i32, mask_head_stride)    \
    X(i32, mask_row_stride)     \
    X(ptr_i32, key_lengths)     \
    X(i32, offset)              \
    X(i32, offset_from_lengths) \
    X(i32, causal)              \
    X(i32, window_left)         \
    X(i32, window_right)        \
    X(f32, scale)               \
    X(f32, softcap)             \
    X(i32, empty_nan)           \
    X(i32, first)               \
    X(i32, count)

typedef struct qkv_operator {
#define QKV_X(type, name) QKV_TYPE_##type name;
    QKV_OPERATOR_FIELDS(QKV_X)
#undef QKV_X
} qkv_operator;

/* Scratch bytes for qkv_attend, exactly; 0 with err filled when refused. */
size_t qkv_attend_bytes(const qkv_operator *op, qkv_error *err);

/* Computes out, and the stage when asked, in scratch[0, bytes), 16-byte aligned. Allocates nothing. */
qkv_status qkv_attend(const qkv_operator *op, void *scratch, size_t bytes, qkv_error *err);

/* A linear map y = x W^T + b in float32, W [outputs, inputs]: what MultiHeadAttention is made of besides attention. */
typedef struct qkv_map qkv_map;

size_t qkv_map_bytes(int32_t outputs, int32_t inputs, qkv_error *err);

/* weights: [outputs, inputs]; bias: [outputs] or NULL. Both are copied into memory[0, bytes). */
qkv_status qkv_map_create(qkv_map **out_map, void *memory, size_t bytes, int32_t outputs, int32_t inputs,
                          const float *weights, const float *bias, qkv_error *err);

/* y [rows, outputs] = x [rows, inputs] W^T + b. rows >= 0. */
qkv_status qkv_map_apply(const qkv_map *map, const float *x, int32_t rows, float *y, qkv_error *err);

#endif
