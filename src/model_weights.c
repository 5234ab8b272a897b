/* model_weights.c - weights on their way in: the memory of a model, what has come, what is missing. */
#include "model.h"

#include "planes.h"
#include "slots.h"
#include "status.h"

enum { FLOATS, HIGH, LOW, Q8, SCALES, TAKEN }; /* what is counted for each slot */

/* ---- layout ------------------------------------------------------------------------------------------------- */

static qkv_norm take_rms_norm(qkv_arena *arena, int present, int32_t n) {
    return (qkv_norm){.weight = present ? qkv_arena_take(arena, (size_t)n, sizeof(float)) : NULL};
}

static qkv_norm take_norm(qkv_arena *arena, const qkv_config *c, int present, int32_t n) {
    qkv_norm norm = take_rms_norm(arena, present, n);
    if (present && c->norm_kind == QKV_NORM_LAYER && c->norm_bias)
        norm.bias = qkv_arena_take(arena, (size_t)n, sizeof(float));
    return norm;
}

static qkv_form form_of(qkv_precision precision) {
    if (precision == QKV_PRECISION_Q10) return QKV_FORM_Q10;
    return precision == QKV_PRECISION_Q8 ? QKV_FORM_Q8 : QKV_FORM_F32;
}

/* stored: its number among the stored layers. A norm of layer 0 alone can be missing only where layer 0 has weights of
 * its own. */
static void take_layer(qkv_layer *layer, int32_t stored, qkv_arena *arena, const qkv_config *c, qkv_form form) {
    const int32_t heads_width = c->heads * c->head_dim, kv_width = c->kv_heads * c->head_dim;
    const int sandwich = c->norm_place == QKV_NORM_SANDWICH;

    layer->attn_norm = take_norm(arena, c, c->first_norm || stored > 0 || c->norm_place == QKV_NORM_POST, c->width);
    qkv_matrix_take(&layer->qkv, arena, form, heads_width + 2 * kv_width, c->width, c->qkv_bias);
    layer->q_norm = take_rms_norm(arena, c->qk_norm, c->head_dim);
    layer->k_norm = take_rms_norm(arena, c->qk_norm, c->head_dim);
    qkv_matrix_take(&layer->o, arena, form == QKV_FORM_Q10 ? QKV_FORM_WIDE : form, c->width, heads_width, c->o_bias);
    layer->attn_out_norm = take_norm(arena, c, sandwich, c->width);
    layer->ffn_norm = take_norm(arena, c, c->parallel != QKV_PARALLEL_ONE_NORM, c->width);
    qkv_matrix_take(&layer->up, arena, form, c->gated ? 2 * c->ffn : c->ffn, c->width, c->ffn_bias);
    qkv_matrix_take(&layer->down, arena, form, c->width, c->ffn, c->ffn_bias);
    layer->ffn_out_norm = take_norm(arena, c, sandwich, c->width);
}

static void take_embeddings(qkv_model *m, qkv_arena *arena, qkv_form form) {
    const qkv_config *c = &m->config;

    if (!(c->head_tied && c->head_rows > 0)) {
        qkv_table_take(&m->tokens, arena, (qkv_plane)c->table, c->vocab, c->embed_width);
    }
    qkv_table_take(&m->positions, arena, QKV_PLANE_F32, c->positions, c->embed_width);
    qkv_table_take(&m->segments, arena, QKV_PLANE_F32, c->segments, c->embed_width);
    qkv_table_take(&m->relative, arena, QKV_PLANE_F32, c->buckets, c->heads);
    m->embed_norm = take_norm(arena, c, c->embed_norm, c->embed_width);
    if (c->embed_project) qkv_matrix_take(&m->embed_project, arena, form, c->width, c->embed_width, 1);
}

static void take_head(qkv_model *m, qkv_arena *arena, qkv_form form) {
    const qkv_config *c = &m->config;

    m->final_norm = take_norm(arena, c, c->final_norm, c->width);
    if (c->head_rows == 0) return;
    if (c->head_dense) qkv_matrix_take(&m->head_dense, arena, form, c->head_width, c->width, c->head_dense_bias);
    m->head_norm = take_norm(arena, c, c->head_norm, c->head_width);
    qkv_matrix_take(&m->head, arena, form, c->head_rows, c->head_width, c->head_bias);
}

/* Room for a list of the config, filled from it once there is memory. */
static void *take_list(qkv_arena *arena, const void *list, int64_t count) {
    if (!list || count == 0) return NULL;
    void *copy = qkv_arena_take(arena, (size_t)count, sizeof(float));
    if (copy) __builtin_memcpy(copy, list, (size_t)count * sizeof(float));
    return copy;
}

static void take_lists(qkv_model *m, qkv_arena *arena) {
    qkv_config *c = &m->config;

    c->scales = take_list(arena, c->scales, c->layers);
    c->windows = take_list(arena, c->windows, c->layers);
    c->rope_frequencies = take_list(arena, c->rope_frequencies, (int64_t)c->rope_sets * (c->rope_dim / 2));
    c->rope_of_layer = take_list(arena, c->rope_dim > 0 ? c->rope_of_layer : NULL, c->layers);
    c->bucket_of = take_list(arena, c->buckets > 0 ? c->bucket_of : NULL, 2 * (int64_t)c->bucket_reach + 1);
}

static int32_t widest_row(const qkv_config *c) {
    const int32_t widths[] = {c->width, c->ffn, c->heads * c->head_dim, c->embed_width, c->head_width};
    int32_t widest = 0;

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) widest = widths[i] > widest ? widths[i] : widest;
    return widest;
}

/* Takes the memory behind the model struct, in the order of use. While it is only measured `layers` is NULL, and one layer on
 * the stack is laid out again and again in place of each of them. */
static void lay_out(qkv_model *model, qkv_arena *arena) {
    const qkv_config *c = &model->config;
    const qkv_form form = form_of(model->precision);
    const size_t stored = (size_t)c->stored_layers, widest = (size_t)widest_row(c);
    qkv_layer measured;

    model->layers = qkv_arena_take(arena, stored, sizeof(qkv_layer));
    model->taken = qkv_arena_take(arena, (size_t)QKV_SLOT_COUNT * stored * TAKEN, sizeof(int32_t));
    model->spare.floats = qkv_arena_take(arena, widest * QKV_SPARE_ROWS, sizeof(float));
    model->spare.integers = qkv_arena_take(arena, widest * QKV_SPARE_ROWS, sizeof(int16_t));
    take_lists(model, arena);
    take_embeddings(model, arena, form);
    for (int32_t l = 0; l < c->stored_layers && !arena->overflow; l++) {
        take_layer(model->layers ? &model->layers[l] : &measured, l, arena, c, form);
    }
    take_head(model, arena, form);
}

static qkv_status measure(size_t *out_bytes, const qkv_config *config, qkv_precision precision, qkv_error *err) {
    qkv_arena arena = qkv_arena_measure();
    qkv_model model = {.config = *config, .precision = precision};

    QKV_TRY(qkv_config_check(config, err));
    QKV_FAIL_IF(precision >= QKV_PRECISION_COUNT, QKV_ARGUMENT, "precision", precision, QKV_PRECISION_COUNT - 1);
    qkv_arena_take(&arena, 1, sizeof(qkv_model));
    lay_out(&model, &arena);
    QKV_FAIL_IF(arena.overflow, QKV_MEMORY, "the model does not fit the address space", 0, (double)SIZE_MAX);
    *out_bytes = arena.used;
    return QKV_OK;
}

size_t qkv_model_bytes(const qkv_config *config, qkv_precision precision, qkv_error *err) {
    size_t bytes = 0;
    return measure(&bytes, config, precision, err) == QKV_OK ? bytes : 0;
}

static void clear(qkv_model *model) {
    const qkv_config *c = &model->config;

    __builtin_memset(model->taken, 0, (size_t)QKV_SLOT_COUNT * (size_t)c->stored_layers * TAKEN * sizeof(int32_t));
    for (int32_t l = 0; l < c->stored_layers; l++) {
        qkv_layer *layer = &model->layers[l];
        qkv_matrix_clear(&layer->qkv);
        qkv_matrix_clear(&layer->o);
        qkv_matrix_clear(&layer->up);
        qkv_matrix_clear(&layer->down);
    }
    qkv_matrix_clear(&model->embed_project);
    qkv_matrix_clear(&model->head_dense);
    qkv_matrix_clear(&model->head);
}

qkv_status qkv_model_create(qkv_model **out_model, void *memory, size_t bytes, const qkv_config *config,
                            qkv_precision precision, qkv_error *err) {
    size_t needed = 0;

    QKV_TRY(measure(&needed, config, precision, err));
    QKV_FAIL_IF(bytes < needed, QKV_MEMORY, "memory for the model", bytes, needed);
    qkv_arena arena = qkv_arena_over(memory, bytes);
    qkv_model *model = qkv_arena_take(&arena, 1, sizeof(qkv_model));
    *model = (qkv_model){.config = *config, .precision = precision};
    lay_out(model, &arena);
    clear(model);
    *out_model = model;
    return QKV_OK;
}

/* ---- rows in ------------------------------------------------------------------------------------------------ */

qkv_status qkv_model_shape(const qkv_model *model, qkv_slot slot, int32_t *out_rows, int32_t *out_cols,
                           qkv_error *err) {
    QKV_FAIL_IF(slot >= QKV_SLOT_COUNT, QKV_ARGUMENT, "slot", slot, QKV_SLOT_COUNT - 1);
    /* The shape is that of the last layer, since layer 0 may lack a norm that the others have. Nothing is written through the
     * target. */
    const qkv_target t = qkv_find_slot((qkv_model *)(uintptr_t)model, slot, model->config.stored_layers - 1);
    *out_rows = t.rows;
    *out_cols = t.cols;
    return QKV_OK;
}

static int counter_of(qkv_plane plane) {
    switch (plane) {
    case QKV_PLANE_Q10_HIGH: return HIGH;
    case QKV_PLANE_Q10_LOW: return LOW;
    case QKV_PLANE_Q8: return Q8;
    case QKV_PLANE_SCALE: return SCALES;
    default: return FLOATS;
    }
}

static int32_t *counters(const qkv_model *model, qkv_slot slot, int32_t layer) {
    return model->taken + ((size_t)slot * (size_t)model->config.stored_layers + (size_t)layer) * TAKEN;
}

static int form_fits(const qkv_target *t, qkv_plane plane) {
    if (t->matrix) return qkv_matrix_takes(t->matrix, plane);
    if (t->table) return qkv_table_takes(t->table, plane);
    return qkv_plane_is_float(plane);
}

/* The bits of the last byte of a row that belong to no element must be 0. */
static int spare_bits_clear(const uint8_t *low, int32_t rows, int32_t cols) {
    const size_t row_bytes = qkv_plane_row_bytes(QKV_PLANE_Q10_LOW, cols);

    if (cols % 4 == 0) return 1;
    for (int32_t r = 0; r < rows; r++) {
        if (low[(size_t)r * row_bytes + row_bytes - 1] >> (2 * (cols % 4))) return 0;
    }
    return 1;
}

static void put_vector(const qkv_model *model, qkv_slot slot, const qkv_target *t, qkv_plane plane, const void *data) {
    const float shift = model->config.norm_shift;

    qkv_floats(t->vector, plane, data, t->cols);
    if (qkv_slot_kinds[slot].role != QKV_ROLE_norm || shift == 0.0f) return;
    for (int32_t i = 0; i < t->cols; i++) t->vector[i] += shift;
}

static qkv_status check_place(const qkv_model *model, qkv_slot slot, int32_t layer, qkv_plane plane, qkv_error *err) {
    QKV_FAIL_IF(model->finished, QKV_STATE, "the model is finished", 1, 0);
    QKV_FAIL_IF(slot >= QKV_SLOT_COUNT, QKV_ARGUMENT, "slot", slot, QKV_SLOT_COUNT - 1);
    QKV_FAIL_IF(plane >= QKV_PLANE_COUNT, QKV_ARGUMENT, "plane", plane, QKV_PLANE_COUNT - 1);
    const int32_t layers = qkv_slot_kinds[slot].scope == QKV_SCOPE_layer ? model->config.stored_layers : 1;
    QKV_FAIL_IF(layer < 0 || layer >= layers, QKV_RANGE, "layer", layer, layers - 1);
    return QKV_OK;
}

qkv_status qkv_model_rows(qkv_model *model, qkv_slot slot, int32_t layer, qkv_plane plane, int32_t row0, int32_t rows,
                          const void *data, qkv_error *err) {
    QKV_TRY(check_place(model, slot, layer, plane, err));
    const qkv_target t = qkv_find_slot(model, slot, layer);
    int32_t *taken = counters(model, slot, layer) + counter_of(plane);
    QKV_FAIL_IF(t.rows == 0 && rows > 0, QKV_WEIGHT, "the model has no such weight", slot, 0);
    QKV_FAIL_IF(!form_fits(&t, plane), QKV_WEIGHT, "the slot does not take this plane", plane, QKV_PLANE_F32);
    QKV_FAIL_IF(t.cols % qkv_plane_step(plane) != 0, QKV_WEIGHT, "columns are no multiple of the block", t.cols,
                qkv_plane_step(plane));
    QKV_FAIL_IF(row0 != *taken, QKV_WEIGHT, "rows must come from the first to the last", row0, *taken);
    QKV_FAIL_IF(rows < 0 || rows > t.rows - row0, QKV_WEIGHT, "more rows than the slot has", rows, t.rows - row0);
    QKV_FAIL_IF(plane == QKV_PLANE_Q10_LOW && !spare_bits_clear(data, rows, t.cols), QKV_WEIGHT,
                "spare bits of a low plane", 1, 0);
    if (t.table) {
        qkv_table_rows(t.table, plane, row0, rows, data, model->spare);
    } else if (t.matrix) {
        qkv_matrix_rows(t.matrix, plane, t.row + row0, rows, data, model->spare);
    } else if (rows > 0) {
        put_vector(model, slot, &t, plane, data);
    }
    *taken += rows;
    return QKV_OK;
}

/* ---- all there? --------------------------------------------------------------------------------------------- */

/* All rows once: as floats, as the three planes of q10, or as the two of q8. */
static qkv_status check_complete(qkv_model *model, qkv_slot slot, int32_t layer, qkv_error *err) {
    const int32_t *taken = counters(model, slot, layer);
    const int32_t want = qkv_find_slot(model, slot, layer).rows;
    const int q10 = taken[HIGH] > 0 || taken[LOW] > 0, q8 = taken[Q8] > 0;
    const int floats = !q10 && !q8 && taken[SCALES] == 0;
    const int wanted[TAKEN] = {
        [FLOATS] = floats, [HIGH] = q10, [LOW] = q10, [Q8] = q8 || !(floats || q10), [SCALES] = !floats};

    for (int i = 0; i < TAKEN; i++) {
        const int32_t rows = wanted[i] ? want : 0;
        QKV_FAIL_IF(taken[i] != rows, QKV_WEIGHT, qkv_slot_kinds[slot].name, taken[i], rows);
    }
    return QKV_OK;
}

static int finish_layer(qkv_layer *layer) {
    return qkv_matrix_finish(&layer->qkv) & qkv_matrix_finish(&layer->o) & qkv_matrix_finish(&layer->up) &
           qkv_matrix_finish(&layer->down);
}

qkv_status qkv_model_finish(qkv_model *model, qkv_error *err) {
    if (model->finished) return QKV_OK;
    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        const int32_t layers = qkv_slot_kinds[s].scope == QKV_SCOPE_layer ? model->config.stored_layers : 1;
        for (int32_t l = 0; l < layers; l++) QKV_TRY(check_complete(model, (qkv_slot)s, l, err));
    }
    int fine = qkv_matrix_finish(&model->embed_project) & qkv_matrix_finish(&model->head_dense) &
               qkv_matrix_finish(&model->head);
    for (int32_t l = 0; l < model->config.stored_layers; l++) fine &= finish_layer(&model->layers[l]);
    const int most = model->precision == QKV_PRECISION_Q8 ? QKV_Q8_MAX : QKV_Q10_MAX;
    QKV_FAIL_IF(!fine, QKV_WEIGHT, "an integer weight below the lowest", -most - 1, -most);
    model->finished = 1;
    return QKV_OK;
}
