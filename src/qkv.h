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

#define QKV_VERSION "0.1.0"
/* Raised whenever a wasm export, a struct below or a number of an enum changes meaning. */
#define QKV_ABI 2

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
    X(RANGE, 7)

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

/* How the matrices are held in memory.
 *   f32  panels of float
 *   q10  panels of int16 holding 10-bit integers, one scale per output channel; activations become int16 per token,
 *        except for W_O, whose ten-bit weights are kept as the floats they stand for: concat W_O + bias is shown
 *   q8   panels of int8, one scale per output channel, activations as for q10: half the memory, for decoding */
#define QKV_PRECISIONS(X) \
    X(F32, f32)           \
    X(Q10, q10)           \
    X(Q8, q8)

/* What a chunk of incoming weights holds. q10_high/q10_low/scale are the three tensors of the q10 file format:
 * w = scale[row] * (4 * high + low), high int8, low two bits an element, element i in bits 2 (i % 4) of byte i / 4. q8 and
 * scale: w = scale[row] * q, int8. The last eight are the block formats of GGUF, see ggml_blocks.h. */
#define QKV_PLANES(X)     \
    X(F32, f32)           \
    X(F16, f16)           \
    X(BF16, bf16)         \
    X(Q10_HIGH, q10_high) \
    X(Q10_LOW, q10_low)   \
    X(SCALE, scale)       \
    X(Q8, q8)             \
    X(Q4_0, q4_0)         \
    X(Q4_1, q4_1)         \
    X(Q5_0, q5_0)         \
    X(Q5_1, q5_1)         \
    X(Q8_0, q8_0)         \
    X(Q4_K, q4_k)         \
    X(Q5_K, q5_k)         \
    X(Q6_K, q6_k)

typedef enum qkv_precision {
#define QKV_X(NAME, name) QKV_PRECISION_##NAME,
    QKV_PRECISIONS(QKV_X) QKV_PRECISION_COUNT
#undef QKV_X
} qkv_precision;

typedef enum qkv_plane {
#define QKV_X(NAME, name) QKV_PLANE_##NAME,
    QKV_PLANES(QKV_X) QKV_PLANE_COUNT
#undef QKV_X
} qkv_plane;

/* What the feed-forward layer and the head do between their matrices. gelu is the exact one (erf), gelu_tanh the
 * approximation of GPT-2 and Gemma, quick_gelu x * sigmoid(1.702 x). The numbers are those of kernels.h. */
#define QKV_ACTIVATIONS(X)  \
    X(NONE, none)           \
    X(GELU, gelu)           \
    X(GELU_TANH, gelu_tanh) \
    X(RELU, relu)           \
    X(SILU, silu)           \
    X(QUICK_GELU, quick_gelu)

typedef enum qkv_activation {
#define QKV_X(NAME, name) QKV_ACTIVATION_##NAME,
    QKV_ACTIVATIONS(QKV_X) QKV_ACTIVATION_COUNT
#undef QKV_X
} qkv_activation;

typedef enum qkv_norm_kind { QKV_NORM_LAYER, QKV_NORM_RMS } qkv_norm_kind;
typedef enum qkv_norm_place { QKV_NORM_BEHIND, QKV_NORM_BEFORE, QKV_NORM_AROUND } qkv_norm_place;
typedef enum qkv_parallel { QKV_SERIAL, QKV_PARALLEL, QKV_PARALLEL_ONE_NORM } qkv_parallel;

/* Every field of the config: X(type, name). JavaScript reads this list from the module, so the two never drift. Flags are
 * 0 or 1; pointers are read while a model is created.
 *   layers, heads, kv_heads, head_dim, width, ffn, vocab   L, H, G, E, D, F, V
 *   stored_layers    layers that have weights of their own; layer l uses those of floor(l * stored_layers / layers)
 *   context          no sequence may be longer
 *   causal           a query sees no key behind its own place: a decoder
 * Embeddings: token (* scale) + token type + learned position, norm, projection to D
 *   embed_width      width of the tables
 *   embed_scale      the token's row is multiplied by it
 *   segments         rows of the token-type table, 0 = none
 *   positions        rows of the learned position table, 0 = none
 *   position_first   the row of the first token
 *   position_pad     id that takes row position_first - 1 and is not counted, as in RoBERTa; -1 = none
 *   embed_norm, embed_project   there is a norm; a linear map [D, embed_width] with bias
 * Norms
 *   norm_kind        0 LayerNorm, 1 RMSNorm
 *   norm_place       0 behind each residual addition (BERT), 1 in front of attention and feed-forward layer, 2 in front of
 *                    them and at their end, before the addition (Gemma)
 *   norm_bias        LayerNorm has a bias
 *   norm_eps         added to the variance
 *   norm_shift       added to every norm weight when it comes (Gemma stores w for 1 + w)
 *   first_norm       0: the attention of stored layer 0 has no norm in front
 *   final_norm       a norm behind the last block
 * Blocks
 *   parallel         0 attention, then feed-forward; 1 both from the block's input, each with its norm; 2 with one norm
 *   qkv_bias, o_bias, ffn_bias   those linear maps have a bias
 *   qk_norm          RMSNorm over each head of Q and K
 *   activation       a qkv_activation
 *   gated            feed-forward = down(activation(gate x) * up x)
 * Attention
 *   softcap          c tanh(s / c) of the scaled scores, 0 = none
 *   scales           [L] what Q K^T is multiplied by, or NULL: 1 / sqrt(E)
 *   windows          [L] a query sees keys at most this far away, -1 = all; or NULL
 *   rope_dim         components of a head that are rotated, even, 0 = none: i with i + rope_dim / 2
 *   rope_sets        sets of frequencies
 *   rope_scale       multiplies sine and cosine
 *   rope_frequencies [rope_sets, rope_dim / 2] radians a place
 *   rope_of_layer    [L] the layer's set, -1 = none; or NULL: set 0
 *   buckets          rows of the table of relative biases [buckets, H], shared by all layers; 0 = none
 *   bucket_reach     distances of that many places are told apart
 *   bucket_of        [2 bucket_reach + 1] bucket of the key at distance -reach .. reach from the query
 * Head: logits = softcap(W norm(activation(dense(final)) + bias))
 *   head_rows        logits a position: V as a rule; 0 = no head
 *   head_width       columns of W
 *   head_dense, head_dense_bias, head_norm, head_bias   which parts there are
 *   head_activation  between dense and norm
 *   head_tied        W is the token table
 *   logit_softcap    0 = none
 *   table            a qkv_plane: how a token table that is no head is held (f32, f16, bf16; q10_high = q10; q8). It can
 *                    keep its file's form, since a row is only read when its token occurs */
#define QKV_CONFIG_FIELDS(X)     \
    X(i32, layers)               \
    X(i32, heads)                \
    X(i32, kv_heads)             \
    X(i32, head_dim)             \
    X(i32, width)                \
    X(i32, ffn)                  \
    X(i32, vocab)                \
    X(i32, stored_layers)        \
    X(i32, context)              \
    X(i32, causal)               \
    X(i32, embed_width)          \
    X(f32, embed_scale)          \
    X(i32, segments)             \
    X(i32, positions)            \
    X(i32, position_first)       \
    X(i32, position_pad)         \
    X(i32, embed_norm)           \
    X(i32, embed_project)        \
    X(i32, norm_kind)            \
    X(i32, norm_place)           \
    X(i32, norm_bias)            \
    X(f32, norm_eps)             \
    X(f32, norm_shift)           \
    X(i32, first_norm)           \
    X(i32, final_norm)           \
    X(i32, parallel)             \
    X(i32, qkv_bias)             \
    X(i32, o_bias)               \
    X(i32, ffn_bias)             \
    X(i32, qk_norm)              \
    X(i32, activation)           \
    X(i32, gated)                \
    X(f32, softcap)              \
    X(ptr_f32, scales)           \
    X(ptr_i32, windows)          \
    X(i32, rope_dim)             \
    X(i32, rope_sets)            \
    X(f32, rope_scale)           \
    X(ptr_f32, rope_frequencies) \
    X(ptr_i32, rope_of_layer)    \
    X(i32, buckets)              \
    X(i32, bucket_reach)         \
    X(ptr_i32, bucket_of)        \
    X(i32, head_rows)            \
    X(i32, head_width)           \
    X(i32, head_dense)           \
    X(i32, head_dense_bias)      \
    X(i32, head_activation)      \
    X(i32, head_norm)            \
    X(i32, head_bias)            \
    X(i32, head_tied)            \
    X(f32, logit_softcap)        \
    X(i32, table)

/* The C types behind the field lists of this header; each takes 4 bytes in wasm. */
#define QKV_TYPE_i32 int32_t
#define QKV_TYPE_f32 float
#define QKV_TYPE_ptr_i32 const int32_t *
#define QKV_TYPE_ptr_f32 const float *
#define QKV_TYPE_ptr_u8 const uint8_t *
#define QKV_TYPE_out_f32 float *

typedef struct qkv_config {
#define QKV_X(type, name) QKV_TYPE_##type name;
    QKV_CONFIG_FIELDS(QKV_X)
#undef QKV_X
} qkv_config;

/* QKV_OK, or QKV_CONFIG naming the first field that cannot be. */
qkv_status qkv_config_check(const qkv_config *config, qkv_error *err);

/* ---- model -------------------------------------------------------------------------------------------------- */

/* Where weights go: X(NAME, name, scope, role).
 *   scope  model: once; layer: once for each stored layer
 *   role   table [rows, columns] looked up by row; matrix [out, in], y = x W^T; vector [1, n]; norm [1, n], to which
 *          norm_shift is added */
#define QKV_SLOTS(X)                                             \
    X(TOKENS, tokens, model, table)                              \
    X(POSITIONS, positions, model, table)                        \
    X(SEGMENTS, segments, model, table)                          \
    X(EMBED_NORM_WEIGHT, embed_norm.weight, model, norm)         \
    X(EMBED_NORM_BIAS, embed_norm.bias, model, vector)           \
    X(EMBED_PROJECT_WEIGHT, embed_project.weight, model, matrix) \
    X(EMBED_PROJECT_BIAS, embed_project.bias, model, vector)     \
    X(ATTN_NORM_WEIGHT, attn_norm.weight, layer, norm)           \
    X(ATTN_NORM_BIAS, attn_norm.bias, layer, vector)             \
    X(Q_WEIGHT, q.weight, layer, matrix)                         \
    X(Q_BIAS, q.bias, layer, vector)                             \
    X(K_WEIGHT, k.weight, layer, matrix)                         \
    X(K_BIAS, k.bias, layer, vector)                             \
    X(V_WEIGHT, v.weight, layer, matrix)                         \
    X(V_BIAS, v.bias, layer, vector)                             \
    X(Q_NORM_WEIGHT, q_norm.weight, layer, norm)                 \
    X(K_NORM_WEIGHT, k_norm.weight, layer, norm)                 \
    X(O_WEIGHT, o.weight, layer, matrix)                         \
    X(O_BIAS, o.bias, layer, vector)                             \
    X(ATTN_OUT_NORM_WEIGHT, attn_out_norm.weight, layer, norm)   \
    X(ATTN_OUT_NORM_BIAS, attn_out_norm.bias, layer, vector)     \
    X(FFN_NORM_WEIGHT, ffn_norm.weight, layer, norm)             \
    X(FFN_NORM_BIAS, ffn_norm.bias, layer, vector)               \
    X(GATE_WEIGHT, gate.weight, layer, matrix)                   \
    X(GATE_BIAS, gate.bias, layer, vector)                       \
    X(UP_WEIGHT, up.weight, layer, matrix)                       \
    X(UP_BIAS, up.bias, layer, vector)                           \
    X(DOWN_WEIGHT, down.weight, layer, matrix)                   \
    X(DOWN_BIAS, down.bias, layer, vector)                       \
    X(FFN_OUT_NORM_WEIGHT, ffn_out_norm.weight, layer, norm)     \
    X(FFN_OUT_NORM_BIAS, ffn_out_norm.bias, layer, vector)       \
    X(RELATIVE, relative, model, table)                          \
    X(FINAL_NORM_WEIGHT, final_norm.weight, model, norm)         \
    X(FINAL_NORM_BIAS, final_norm.bias, model, vector)           \
    X(HEAD_DENSE_WEIGHT, head_dense.weight, model, matrix)       \
    X(HEAD_DENSE_BIAS, head_dense.bias, model, vector)           \
    X(HEAD_NORM_WEIGHT, head_norm.weight, model, norm)           \
    X(HEAD_NORM_BIAS, head_norm.bias, model, vector)             \
    X(HEAD_WEIGHT, head.weight, model, matrix)                   \
    X(HEAD_BIAS, head.bias, model, vector)

typedef enum qkv_slot {
#define QKV_X(NAME, name, scope, role) QKV_SLOT_##NAME,
    QKV_SLOTS(QKV_X) QKV_SLOT_COUNT
#undef QKV_X
} qkv_slot;

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

/* Every step that can be shown, in order of computation.
 *   [N, D]    x (attention's input, behind a norm that stands in front), concat [N, H E], output (after W_O and its
 *             bias), hidden (block output)
 *   [N, E]    qLinear, kLinear (projection and bias), q, k (behind norm and rotation), v, context (Z) of one head
 *   [N, M]    scores (Q K^T), scaled, capped, biased, masked, weights of one head
 * A stage the model does not have equals the one before it. */
#define QKV_STAGES(EACH)    \
    EACH(X, x)              \
    EACH(Q_LINEAR, qLinear) \
    EACH(K_LINEAR, kLinear) \
    EACH(Q, q)              \
    EACH(K, k)              \
    EACH(V, v)              \
    EACH(SCORES, scores)    \
    EACH(SCALED, scaled)    \
    EACH(CAPPED, capped)    \
    EACH(BIASED, biased)    \
    EACH(MASKED, masked)    \
    EACH(WEIGHTS, weights)  \
    EACH(CONTEXT, context)  \
    EACH(CONCAT, concat)    \
    EACH(OUTPUT, output)    \
    EACH(HIDDEN, hidden)

typedef enum qkv_stage {
#define QKV_X(NAME, name) QKV_STAGE_##NAME,
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

/* All heads of one sequence at a glance. size: 1 .. 32; s = min(N, size) cells a side, each the largest weight of
 * its rectangle: cell b spans rows (columns) floor(b N / s) .. floor((b + 1) N / s) - 1.
 * separators: [N] 1 where the token is a separator, or NULL. out_thumbnails: [L, H, s, s];
 * out_stats: [L, H, 7] in the order of QKV_STATS. All layers must have been run. */
qkv_status qkv_overview(qkv_run *run, qkv_kind kind, int32_t sequence, int32_t size, const uint8_t *separators,
                        float *out_thumbnails, float *out_stats, qkv_error *err);

typedef enum qkv_pooling { QKV_POOL_MEAN, QKV_POOL_CLS, QKV_POOL_LAST } qkv_pooling;

/* The last hidden state as one vector: mean over the tokens, first or last token; divided by its 2-norm when
 * normalize is not 0. out: [D]. All layers must have been run. */
qkv_status qkv_embedding(qkv_run *run, int32_t sequence, qkv_pooling pooling, int32_t normalize, float *out,
                         qkv_error *err);

/* The head's logits at one position of a sequence, -1 = its last. out: [head_rows]. All layers must have been run. */
qkv_status qkv_logits(qkv_run *run, int32_t sequence, int32_t position, float *out, qkv_error *err);

/* ---- operators ---------------------------------------------------------------------------------------------- */

/* Scaled dot-product attention without a model. Fields, X(type, name); B batch, L queries, M keys, E key width, Ev value
 * width; strides count floats, so that any layout of the axes can be read and written in place.
 *   query, key, value  [B, H, L, E], [B, G, M, E], [B, G, M, Ev] by their strides; rows without gaps
 *   out                [B, H, L, Ev] by its strides
 *   stage, stage_out   QKV_STAGE_SCORES .. QKV_STAGE_WEIGHTS and [heads computed, L, M], or stage_out NULL: none
 *   mask_add           NULL or floats added to the logits, -infinity forbids; by the mask strides (0 = broadcast)
 *   mask_flags         NULL or bytes: 1 allows where mask_allowed is 1, forbids where it is 0; not both masks
 *   mask_columns       keys that a mask row has; those behind are forbidden
 *   key_lengths        [B] keys at and behind it are forbidden, or NULL
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
