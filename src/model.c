/* model.c - weights on their way in: which slot goes where, what has come, what is missing. */
#include "model.h"

#include "status.h"

enum { FLOATS, HIGH, LOW, SCALES, TAKEN }; /* what is counted for each slot */

typedef enum role { ROLE_table, ROLE_matrix, ROLE_vector } role;
typedef enum scope { SCOPE_model, SCOPE_layer } scope;

static const struct {
    scope scope;
    role role;
    const char *name;
} slots[QKV_SLOT_COUNT] = {
#define QKV_X(NAME, name, scope, role) {SCOPE_##scope, ROLE_##role, #name},
    QKV_SLOTS(QKV_X)
#undef QKV_X
};

/* Where the rows of one slot go; exactly one of the pointers is set. */
typedef struct target {
    qkv_table *table;
    qkv_matrix *matrix;
    float *vector;
    int32_t row; /* first row in the matrix */
    int32_t rows, cols;
} target;

/* ---- layout ------------------------------------------------------------------------------------------------- */

static void take_norm(qkv_norm *norm, qkv_arena *arena, int32_t width) {
    norm->weight = qkv_arena_take(arena, (size_t)width, sizeof(float));
    norm->bias = qkv_arena_take(arena, (size_t)width, sizeof(float));
}

static void take_layer(qkv_layer *layer, qkv_arena *arena, const qkv_config *c, qkv_precision precision) {
    const int32_t heads_width = c->heads * c->head_dim;
    const qkv_form form = precision == QKV_PRECISION_Q10 ? QKV_FORM_Q10 : QKV_FORM_F32;

    qkv_matrix_take(&layer->qkv, arena, form, heads_width + 2 * c->kv_heads * c->head_dim, c->width);
    qkv_matrix_take(&layer->o, arena, form == QKV_FORM_Q10 ? QKV_FORM_WIDE : form, c->width, heads_width);
    take_norm(&layer->attn_norm, arena, c->width);
    qkv_matrix_take(&layer->up, arena, form, c->ffn, c->width);
    qkv_matrix_take(&layer->down, arena, form, c->width, c->ffn);
    take_norm(&layer->ffn_norm, arena, c->width);
}

static int32_t widest_row(const qkv_config *c) {
    const int32_t heads_width = c->heads * c->head_dim;
    const int32_t widest = c->width > c->ffn ? c->width : c->ffn;
    return widest > heads_width ? widest : heads_width;
}

/* Takes everything behind the model struct, in the order of use. While measuring `layers` is NULL and a layer on the
 * stack stands for each. */
static void lay_out(qkv_model *model, qkv_arena *arena) {
    const qkv_config *c = &model->config;
    qkv_layer measured;

    model->layers = qkv_arena_take(arena, (size_t)c->layers, sizeof(qkv_layer));
    model->taken = qkv_arena_take(arena, (size_t)QKV_SLOT_COUNT * (size_t)c->layers * TAKEN, sizeof(int32_t));
    model->spare = qkv_arena_take(arena, (size_t)widest_row(c), sizeof(float));
    qkv_table_take(&model->tokens, arena, (qkv_plane)c->table, c->vocab, c->width);
    qkv_table_take(&model->positions, arena, QKV_PLANE_F32, c->positions, c->width);
    qkv_table_take(&model->segments, arena, QKV_PLANE_F32, c->segments, c->width);
    take_norm(&model->embed_norm, arena, c->width);
    for (int32_t l = 0; l < c->layers && !arena->overflow; l++) {
        take_layer(model->layers ? &model->layers[l] : &measured, arena, c, model->precision);
    }
}

static qkv_status measure(size_t *out_bytes, const qkv_config *config, qkv_precision precision, qkv_error *err) {
    qkv_arena arena = qkv_arena_measure();
    qkv_model model = {.config = *config, .precision = precision};

    QKV_TRY(qkv_config_check(config, err));
    QKV_FAIL_IF(precision >= QKV_PRECISION_COUNT, QKV_ARGUMENT, "precision", precision, QKV_PRECISION_COUNT - 1);
    QKV_FAIL_IF((int64_t)config->heads * config->head_dim > INT32_MAX / 4, QKV_CONFIG, "heads * head_dim",
                (double)config->heads * config->head_dim, INT32_MAX / 4);
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

    __builtin_memset(model->taken, 0, (size_t)QKV_SLOT_COUNT * (size_t)c->layers * TAKEN * sizeof(int32_t));
    for (int32_t l = 0; l < c->layers; l++) {
        qkv_layer *layer = &model->layers[l];
        qkv_matrix_clear(&layer->qkv);
        qkv_matrix_clear(&layer->o);
        qkv_matrix_clear(&layer->up);
        qkv_matrix_clear(&layer->down);
    }
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

/* ---- slots -------------------------------------------------------------------------------------------------- */

static target of_table(qkv_table *table) {
    return (target){.table = table, .rows = table->rows, .cols = table->cols};
}

static target of_rows(qkv_matrix *matrix, int32_t row, int32_t rows) {
    return (target){.matrix = matrix, .row = row, .rows = rows, .cols = matrix->cols};
}

static target of_vector(float *vector, int32_t n) {
    return (target){.vector = vector, .rows = 1, .cols = n};
}

static target find(const qkv_model *model, qkv_slot slot, int32_t l) {
    const qkv_config *c = &model->config;
    const int32_t q_rows = c->heads * c->head_dim, kv_rows = c->kv_heads * c->head_dim;
    qkv_model *m = (qkv_model *)(uintptr_t)model; /* the caller decides whether it writes */
    qkv_layer *layer = &m->layers[l];

    switch (slot) {
    case QKV_SLOT_TOKENS: return of_table(&m->tokens);
    case QKV_SLOT_POSITIONS: return of_table(&m->positions);
    case QKV_SLOT_SEGMENTS: return of_table(&m->segments);
    case QKV_SLOT_EMBED_NORM_WEIGHT: return of_vector(m->embed_norm.weight, c->width);
    case QKV_SLOT_EMBED_NORM_BIAS: return of_vector(m->embed_norm.bias, c->width);
    case QKV_SLOT_Q_WEIGHT: return of_rows(&layer->qkv, 0, q_rows);
    case QKV_SLOT_Q_BIAS: return of_vector(layer->qkv.bias, q_rows);
    case QKV_SLOT_K_WEIGHT: return of_rows(&layer->qkv, qkv_key_row(c, 0), kv_rows);
    case QKV_SLOT_K_BIAS: return of_vector(layer->qkv.bias + qkv_key_row(c, 0), kv_rows);
    case QKV_SLOT_V_WEIGHT: return of_rows(&layer->qkv, qkv_value_row(c, 0), kv_rows);
    case QKV_SLOT_V_BIAS: return of_vector(layer->qkv.bias + qkv_value_row(c, 0), kv_rows);
    case QKV_SLOT_O_WEIGHT: return of_rows(&layer->o, 0, c->width);
    case QKV_SLOT_O_BIAS: return of_vector(layer->o.bias, c->width);
    case QKV_SLOT_ATTN_NORM_WEIGHT: return of_vector(layer->attn_norm.weight, c->width);
    case QKV_SLOT_ATTN_NORM_BIAS: return of_vector(layer->attn_norm.bias, c->width);
    case QKV_SLOT_UP_WEIGHT: return of_rows(&layer->up, 0, c->ffn);
    case QKV_SLOT_UP_BIAS: return of_vector(layer->up.bias, c->ffn);
    case QKV_SLOT_DOWN_WEIGHT: return of_rows(&layer->down, 0, c->width);
    case QKV_SLOT_DOWN_BIAS: return of_vector(layer->down.bias, c->width);
    case QKV_SLOT_FFN_NORM_WEIGHT: return of_vector(layer->ffn_norm.weight, c->width);
    case QKV_SLOT_FFN_NORM_BIAS: return of_vector(layer->ffn_norm.bias, c->width);
    case QKV_SLOT_COUNT: break;
    }
    return (target){0};
}

qkv_status qkv_model_shape(const qkv_model *model, qkv_slot slot, int32_t *out_rows, int32_t *out_cols,
                           qkv_error *err) {
    QKV_FAIL_IF(slot >= QKV_SLOT_COUNT, QKV_ARGUMENT, "slot", slot, QKV_SLOT_COUNT - 1);
    const target t = find(model, slot, 0);
    *out_rows = t.rows;
    *out_cols = t.cols;
    return QKV_OK;
}

/* ---- rows in ------------------------------------------------------------------------------------------------ */

static int counter_of(qkv_plane plane) {
    switch (plane) {
    case QKV_PLANE_Q10_HIGH: return HIGH;
    case QKV_PLANE_Q10_LOW: return LOW;
    case QKV_PLANE_SCALE: return SCALES;
    default: return FLOATS;
    }
}

static int32_t *counters(const qkv_model *model, qkv_slot slot, int32_t layer) {
    return model->taken + ((size_t)slot * (size_t)model->config.layers + (size_t)layer) * TAKEN;
}

/* A half-precision table keeps its form, so only its own form, or floats into f32 or q10, can be taken. */
static int form_fits(const target *t, qkv_plane plane) {
    const int is_float = counter_of(plane) == FLOATS;

    if (t->vector) return is_float;
    if (t->matrix) return 1;
    if (t->table->form == QKV_PLANE_Q10_HIGH) return 1;
    return t->table->form == QKV_PLANE_F32 ? is_float : plane == t->table->form;
}

/* The bits of the last byte of a row that belong to no element must be 0. */
static int spare_bits_clear(const uint8_t *low, int32_t rows, int32_t cols) {
    const size_t row_bytes = qkv_bytes_of_low(cols);

    if (cols % 4 == 0) return 1;
    for (int32_t r = 0; r < rows; r++) {
        if (low[(size_t)r * row_bytes + row_bytes - 1] >> (2 * (cols % 4))) return 0;
    }
    return 1;
}

qkv_status qkv_model_rows(qkv_model *model, qkv_slot slot, int32_t layer, qkv_plane plane, int32_t row0, int32_t rows,
                          const void *data, qkv_error *err) {
    QKV_FAIL_IF(model->finished, QKV_STATE, "the model is finished", 1, 0);
    QKV_FAIL_IF(slot >= QKV_SLOT_COUNT, QKV_ARGUMENT, "slot", slot, QKV_SLOT_COUNT - 1);
    QKV_FAIL_IF(plane >= QKV_PLANE_COUNT, QKV_ARGUMENT, "plane", plane, QKV_PLANE_COUNT - 1);
    const int32_t layers = slots[slot].scope == SCOPE_layer ? model->config.layers : 1;
    QKV_FAIL_IF(layer < 0 || layer >= layers, QKV_RANGE, "layer", layer, layers - 1);
    const target t = find(model, slot, layer);
    int32_t *taken = counters(model, slot, layer) + counter_of(plane);
    QKV_FAIL_IF(!form_fits(&t, plane), QKV_WEIGHT, "the slot does not take this plane", plane, QKV_PLANE_F32);
    QKV_FAIL_IF(row0 != *taken, QKV_WEIGHT, "rows must come from the first to the last", row0, *taken);
    QKV_FAIL_IF(rows < 0 || rows > t.rows - row0, QKV_WEIGHT, "more rows than the slot has", rows, t.rows - row0);
    QKV_FAIL_IF(plane == QKV_PLANE_Q10_LOW && !spare_bits_clear(data, rows, t.cols), QKV_WEIGHT,
                "spare bits of a low plane", 1, 0);
    if (t.table) {
        qkv_table_rows(t.table, plane, row0, rows, data, model->spare);
    } else if (t.matrix) {
        qkv_matrix_rows(t.matrix, plane, t.row + row0, rows, data, model->spare);
    } else if (rows > 0) {
        qkv_floats(t.vector, plane, data, t.cols);
    }
    *taken += rows;
    return QKV_OK;
}

/* All rows once: as floats, or as the three planes of q10. */
static qkv_status check_complete(const qkv_model *model, qkv_slot slot, int32_t layer, qkv_error *err) {
    const int32_t *taken = counters(model, slot, layer);
    const int32_t want = find(model, slot, layer).rows;
    const int planes = taken[HIGH] > 0 || taken[LOW] > 0 || taken[SCALES] > 0;

    QKV_FAIL_IF(planes && taken[FLOATS] > 0, QKV_WEIGHT, slots[slot].name, taken[FLOATS], 0);
    for (int i = planes ? HIGH : FLOATS; i <= (planes ? SCALES : FLOATS); i++) {
        QKV_FAIL_IF(taken[i] != want, QKV_WEIGHT, slots[slot].name, taken[i], want);
    }
    return QKV_OK;
}

qkv_status qkv_model_finish(qkv_model *model, qkv_error *err) {
    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        const int32_t layers = slots[s].scope == SCOPE_layer ? model->config.layers : 1;
        for (int32_t l = 0; l < layers; l++) QKV_TRY(check_complete(model, (qkv_slot)s, l, err));
    }
    for (int32_t l = 0; l < model->config.layers && !model->finished; l++) {
        qkv_layer *layer = &model->layers[l];
        const int fine = qkv_matrix_finish(&layer->qkv) & qkv_matrix_finish(&layer->o) & qkv_matrix_finish(&layer->up) &
                         qkv_matrix_finish(&layer->down);
        QKV_FAIL_IF(!fine, QKV_WEIGHT, "a 10-bit weight below -511", -QKV_Q10_MAX - 1, -QKV_Q10_MAX);
    }
    model->finished = 1;
    return QKV_OK;
}
