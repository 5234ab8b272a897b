/* model.h - a model from inside: the weights of each layer, ready for the kernels. */
#ifndef QKV_MODEL_H
#define QKV_MODEL_H

#include "matrix.h"
#include "norm.h"
#include "qkv.h"
#include "table.h"

typedef struct qkv_layer {
    qkv_norm attn_norm;
    qkv_matrix qkv; /* [(H + 2 G) E, D]: the rows of W_Q, then W_K, then W_V, so that one GEMM makes all three */
    qkv_norm q_norm, k_norm; /* [E] */
    qkv_matrix o;            /* [D, H E]; wide in a q10 model, so that the output shown is that of the concat shown */
    qkv_norm attn_out_norm, ffn_norm;
    qkv_matrix up;   /* [F, D]; gated: [2 F, D], the rows of the gate in front */
    qkv_matrix down; /* [D, F] */
    qkv_norm ffn_out_norm;
} qkv_layer;

struct qkv_model {
    qkv_config config; /* its pointers lead to copies that the model owns */
    qkv_precision precision;
    int finished;
    qkv_table tokens; /* unless the head is tied: then the rows of `head` */
    qkv_table positions, segments, relative;
    qkv_norm embed_norm;
    qkv_matrix embed_project;
    qkv_layer *layers; /* [stored_layers] */
    qkv_norm final_norm;
    qkv_matrix head_dense;
    qkv_norm head_norm;
    qkv_matrix head;
    int32_t *taken;  /* rows taken, [slots, stored_layers, 5]: floats, q10_high, q10_low, q8, scales */
    qkv_spare spare; /* for conversions while loading */
};

/* The weights of layer l. */
static inline qkv_layer *qkv_layer_of(const qkv_model *model, int32_t layer) {
    return &model->layers[(int64_t)layer * model->config.stored_layers / model->config.layers];
}

/* y[embed_width] = the row of a token, not scaled. */
static inline void qkv_token_row(const qkv_model *model, int32_t id, float *y) {
    if (model->tokens.rows > 0) {
        qkv_table_row(&model->tokens, id, y);
    } else {
        qkv_matrix_row(&model->head, id, y);
    }
}

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
