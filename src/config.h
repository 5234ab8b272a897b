/* config.h - what a model is, in numbers: its config, the forms its weights may have, and the names of their places. Part of
 * qkv.h, which is what callers include; the glossary of dimensions stands there. */
#ifndef QKV_CONFIG_H
#define QKV_CONFIG_H

#include <stdint.h>

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

#define QKV_NORM_KINDS(X) X(LAYER, layer) X(RMS, rms)

typedef enum qkv_norm_kind {
#define QKV_X(NAME, name) QKV_NORM_##NAME,
    QKV_NORM_KINDS(QKV_X) QKV_NORM_KIND_COUNT
#undef QKV_X
} qkv_norm_kind;

/* Where the norms of a block stand.
 *   post      post-norm (BERT): after each residual addition
 *   pre       pre-norm (GPT-2, Llama): before attention and before the feed-forward layer
 *   sandwich  sandwich norm (Gemma 2): before each of them, and after it, before the residual addition */
#define QKV_NORM_PLACES(X) X(POST, post) X(PRE, pre) X(SANDWICH, sandwich)

typedef enum qkv_norm_place {
#define QKV_X(NAME, name) QKV_NORM_##NAME,
    QKV_NORM_PLACES(QKV_X) QKV_NORM_PLACE_COUNT
#undef QKV_X
} qkv_norm_place;

/* How a block's attention and feed-forward layer follow each other.
 *   serial             attention, then the feed-forward layer on what that gave
 *   parallel           both from the block's input, each through its own norm (GPT-NeoX)
 *   parallel_one_norm  both from the block's input through one norm (Phi) */
#define QKV_BRANCHES(X) X(SERIAL, serial) X(PARALLEL, parallel) X(PARALLEL_ONE_NORM, parallel_one_norm)

typedef enum qkv_branches {
#define QKV_X(NAME, name) QKV_##NAME,
    QKV_BRANCHES(QKV_X) QKV_BRANCHES_COUNT
#undef QKV_X
} qkv_branches;

/* Every field of the config: X(type, name); a type that is no number is one of the enums above. JavaScript reads this list from the module, so the two never drift. Flags are
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
 *   norm_kind        a qkv_norm_kind: LayerNorm or RMSNorm
 *   norm_place       a qkv_norm_place: post-norm, pre-norm or sandwich norm
 *   norm_bias        LayerNorm has a bias
 *   norm_eps         added to the variance
 *   norm_shift       added to every norm weight when it comes (Gemma stores w for 1 + w)
 *   first_norm       0: the attention of stored layer 0 has no norm in front
 *   final_norm       a norm behind the last block
 * Blocks
 *   parallel         a qkv_branches
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
#define QKV_CONFIG_FIELDS(X)       \
    X(i32, layers)                 \
    X(i32, heads)                  \
    X(i32, kv_heads)               \
    X(i32, head_dim)               \
    X(i32, width)                  \
    X(i32, ffn)                    \
    X(i32, vocab)                  \
    X(i32, stored_layers)          \
    X(i32, context)                \
    X(i32, causal)                 \
    X(i32, embed_width)            \
    X(f32, embed_scale)            \
    X(i32, segments)               \
    X(i32, positions)              \
    X(i32, position_first)         \
    X(i32, position_pad)           \
    X(i32, embed_norm)             \
    X(i32, embed_project)          \
    X(norm_kind, norm_kind)        \
    X(norm_place, norm_place)      \
    X(i32, norm_bias)              \
    X(f32, norm_eps)               \
    X(f32, norm_shift)             \
    X(i32, first_norm)             \
    X(i32, final_norm)             \
    X(branches, parallel)          \
    X(i32, qkv_bias)               \
    X(i32, o_bias)                 \
    X(i32, ffn_bias)               \
    X(i32, qk_norm)                \
    X(activation, activation)      \
    X(i32, gated)                  \
    X(f32, softcap)                \
    X(ptr_f32, scales)             \
    X(ptr_i32, windows)            \
    X(i32, rope_dim)               \
    X(i32, rope_sets)              \
    X(f32, rope_scale)             \
    X(ptr_f32, rope_frequencies)   \
    X(ptr_i32, rope_of_layer)      \
    X(i32, buckets)                \
    X(i32, bucket_reach)           \
    X(ptr_i32, bucket_of)          \
    X(i32, head_rows)              \
    X(i32, head_width)             \
    X(i32, head_dense)             \
    X(i32, head_dense_bias)        \
    X(activation, head_activation) \
    X(i32, head_norm)              \
    X(i32, head_bias)              \
    X(i32, head_tied)              \
    X(f32, logit_softcap)          \
    X(plane, table)

/* The C types behind the field lists of this header; each takes 4 bytes in wasm. */
#define QKV_TYPE_i32 int32_t
#define QKV_TYPE_norm_kind int32_t
#define QKV_TYPE_norm_place int32_t
#define QKV_TYPE_branches int32_t
#define QKV_TYPE_activation int32_t
#define QKV_TYPE_plane int32_t
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

#endif
