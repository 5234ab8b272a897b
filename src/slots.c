#include "slots.h"

const qkv_slot_kind qkv_slot_kinds[QKV_SLOT_COUNT] = {
#define QKV_X(NAME, name, scope, role) {QKV_SCOPE_##scope, QKV_ROLE_##role, #name},
    QKV_SLOTS(QKV_X)
#undef QKV_X
};

static qkv_target of_table(qkv_table *table) {
    return (qkv_target){.table = table->rows > 0 ? table : NULL, .rows = table->rows, .cols = table->cols};
}

static qkv_target of_rows(qkv_matrix *matrix, int32_t row, int32_t rows) {
    if (matrix->rows == 0) return (qkv_target){0};
    return (qkv_target){.matrix = matrix, .row = row, .rows = rows, .cols = matrix->cols};
}

static qkv_target of_matrix(qkv_matrix *matrix) {
    return of_rows(matrix, 0, matrix->rows);
}

static qkv_target of_vector(float *vector, int32_t n) {
    return (qkv_target){.vector = vector, .rows = vector != NULL, .cols = n};
}

static qkv_target of_bias(int32_t has_one, qkv_matrix *matrix, int32_t row, int32_t rows) {
    return of_vector(has_one && matrix->rows > 0 ? matrix->bias + row : NULL, rows);
}

static qkv_target in_model(qkv_model *m, qkv_slot slot) {
    const qkv_config *c = &m->config;

    switch (slot) {
    case QKV_SLOT_TOKENS: return c->head_tied && c->head_rows > 0 ? of_matrix(&m->head) : of_table(&m->tokens);
    case QKV_SLOT_POSITIONS: return of_table(&m->positions);
    case QKV_SLOT_SEGMENTS: return of_table(&m->segments);
    case QKV_SLOT_RELATIVE: return of_table(&m->relative);
    case QKV_SLOT_EMBED_NORM_WEIGHT: return of_vector(m->embed_norm.weight, c->embed_width);
    case QKV_SLOT_EMBED_NORM_BIAS: return of_vector(m->embed_norm.bias, c->embed_width);
    case QKV_SLOT_EMBED_PROJECT_WEIGHT: return of_matrix(&m->embed_project);
    case QKV_SLOT_EMBED_PROJECT_BIAS: return of_bias(1, &m->embed_project, 0, c->width);
    case QKV_SLOT_FINAL_NORM_WEIGHT: return of_vector(m->final_norm.weight, c->width);
    case QKV_SLOT_FINAL_NORM_BIAS: return of_vector(m->final_norm.bias, c->width);
    case QKV_SLOT_HEAD_DENSE_WEIGHT: return of_matrix(&m->head_dense);
    case QKV_SLOT_HEAD_DENSE_BIAS: return of_bias(c->head_dense_bias, &m->head_dense, 0, c->head_width);
    case QKV_SLOT_HEAD_NORM_WEIGHT: return of_vector(m->head_norm.weight, c->head_width);
    case QKV_SLOT_HEAD_NORM_BIAS: return of_vector(m->head_norm.bias, c->head_width);
    case QKV_SLOT_HEAD_WEIGHT: return c->head_tied ? (qkv_target){0} : of_matrix(&m->head);
    case QKV_SLOT_HEAD_BIAS: return of_bias(c->head_bias, &m->head, 0, c->head_rows);
    default: return (qkv_target){0};
    }
}

/* The rows of the gate come first where there is one. */
static int32_t up_row(const qkv_config *c) {
    return c->gated ? c->ffn : 0;
}

static qkv_target of_feed_forward(const qkv_config *c, qkv_layer *layer, qkv_slot slot) {
    switch (slot) {
    case QKV_SLOT_FFN_NORM_WEIGHT: return of_vector(layer->ffn_norm.weight, c->width);
    case QKV_SLOT_FFN_NORM_BIAS: return of_vector(layer->ffn_norm.bias, c->width);
    case QKV_SLOT_GATE_WEIGHT: return c->gated ? of_rows(&layer->up, 0, c->ffn) : (qkv_target){0};
    case QKV_SLOT_GATE_BIAS: return of_bias(c->gated && c->ffn_bias, &layer->up, 0, c->ffn);
    case QKV_SLOT_UP_WEIGHT: return of_rows(&layer->up, up_row(c), c->ffn);
    case QKV_SLOT_UP_BIAS: return of_bias(c->ffn_bias, &layer->up, up_row(c), c->ffn);
    case QKV_SLOT_DOWN_WEIGHT: return of_matrix(&layer->down);
    case QKV_SLOT_DOWN_BIAS: return of_bias(c->ffn_bias, &layer->down, 0, c->width);
    case QKV_SLOT_FFN_OUT_NORM_WEIGHT: return of_vector(layer->ffn_out_norm.weight, c->width);
    case QKV_SLOT_FFN_OUT_NORM_BIAS: return of_vector(layer->ffn_out_norm.bias, c->width);
    default: return (qkv_target){0};
    }
}

static qkv_target in_layer(const qkv_config *c, qkv_layer *layer, qkv_slot slot) {
    const int32_t q_rows = c->heads * c->head_dim, kv_rows = c->kv_heads * c->head_dim;
    const int32_t k_row = qkv_key_row(c, 0), v_row = qkv_value_row(c, 0);

    switch (slot) {
    case QKV_SLOT_ATTN_NORM_WEIGHT: return of_vector(layer->attn_norm.weight, c->width);
    case QKV_SLOT_ATTN_NORM_BIAS: return of_vector(layer->attn_norm.bias, c->width);
    case QKV_SLOT_Q_WEIGHT: return of_rows(&layer->qkv, 0, q_rows);
    case QKV_SLOT_Q_BIAS: return of_bias(c->qkv_bias, &layer->qkv, 0, q_rows);
    case QKV_SLOT_K_WEIGHT: return of_rows(&layer->qkv, k_row, kv_rows);
    case QKV_SLOT_K_BIAS: return of_bias(c->qkv_bias, &layer->qkv, k_row, kv_rows);
    case QKV_SLOT_V_WEIGHT: return of_rows(&layer->qkv, v_row, kv_rows);
    case QKV_SLOT_V_BIAS: return of_bias(c->qkv_bias, &layer->qkv, v_row, kv_rows);
    case QKV_SLOT_Q_NORM_WEIGHT: return of_vector(layer->q_norm.weight, c->head_dim);
    case QKV_SLOT_K_NORM_WEIGHT: return of_vector(layer->k_norm.weight, c->head_dim);
    case QKV_SLOT_O_WEIGHT: return of_matrix(&layer->o);
    case QKV_SLOT_O_BIAS: return of_bias(c->o_bias, &layer->o, 0, c->width);
    case QKV_SLOT_ATTN_OUT_NORM_WEIGHT: return of_vector(layer->attn_out_norm.weight, c->width);
    case QKV_SLOT_ATTN_OUT_NORM_BIAS: return of_vector(layer->attn_out_norm.bias, c->width);
    default: return of_feed_forward(c, layer, slot);
    }
}

qkv_target qkv_find_slot(qkv_model *model, qkv_slot slot, int32_t layer) {
    if (qkv_slot_kinds[slot].scope == QKV_SCOPE_model) return in_model(model, slot);
    return in_layer(&model->config, &model->layers[layer], slot);
}
