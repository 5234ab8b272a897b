/* model.h - a model from inside: the weights of each layer, ready for the kernels. */
#ifndef QKV_MODEL_H
#define QKV_MODEL_H

#include "matrix.h"
#include "qkv.h"

typedef struct qkv_norm {
    float *weight, *bias; /* [D] */
} qkv_norm;

typedef struct qkv_layer {
    qkv_matrix qkv; /* [(H + 2 G) E, D]: the rows of W_Q, then W_K, then W_V, so that one GEMM makes all three */
    qkv_matrix o;   /* [D, H E]; wide in a q10 model, so that the output shown is that of the concat shown */
    qkv_norm attn_norm;
    qkv_matrix up;   /* [F, D] */
    qkv_matrix down; /* [D, F] */
    qkv_norm ffn_norm;
} qkv_layer;

struct qkv_model {
    qkv_config config;
    qkv_precision precision;
    int finished;
    qkv_table tokens, positions, segments;
    qkv_norm embed_norm;
    qkv_layer *layers; /* [L] */
    int32_t *taken;    /* rows taken, [slots, L, 4]: floats, q10_high, q10_low, scales */
    float *spare;      /* [widest row], for conversions while loading */
};

/* Rows of the fused matrix where the queries, keys and values of a head begin. */
static inline int32_t qkv_query_row(const qkv_config *c, int32_t head) {
    return head * c->head_dim;
}
static inline int32_t qkv_key_row(const qkv_config *c, int32_t kv_head) {
    return (c->heads + kv_head) * c->head_dim;
}
static inline int32_t qkv_value_row(const qkv_config *c, int32_t kv_head) {
    return (c->heads + c->kv_heads + kv_head) * c->head_dim;
}

#endif
