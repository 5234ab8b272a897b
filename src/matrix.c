#include "matrix.h"

/* Adding it to a float of magnitude below 2^22 rounds to the nearest integer, ties to even. */
#define ROUND_MAGIC 12582912.0f

static size_t padded(int32_t rows) {
    return ((size_t)rows + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

size_t qkv_bytes_of_low(int32_t cols) {
    return ((size_t)cols + 3) / 4;
}

static size_t pairs(int32_t cols) {
    return ((size_t)cols + 1) / 2;
}

/* ---- layout ------------------------------------------------------------------------------------------------- */

void qkv_matrix_take(qkv_matrix *matrix, qkv_arena *arena, qkv_form form, int32_t rows, int32_t cols) {
    const size_t outputs = padded(rows);

    *matrix = (qkv_matrix){.form = form, .rows = rows, .cols = cols};
    if (form != QKV_FORM_Q10) {
        matrix->panel_stride = (size_t)cols * QKV_PANEL;
        matrix->f32 = qkv_arena_take(arena, outputs * (size_t)cols, sizeof(float));
    } else {
        matrix->panel_stride = pairs(cols) * QKV_PANEL * 2;
        matrix->q10 = qkv_arena_take(arena, outputs * pairs(cols) * 2, sizeof(int16_t));
    }
    matrix->scales = qkv_arena_take(arena, outputs, sizeof(float));
    matrix->bias = qkv_arena_take(arena, outputs, sizeof(float));
}

void qkv_matrix_clear(qkv_matrix *matrix) {
    const size_t outputs = padded(matrix->rows);

    if (matrix->f32) __builtin_memset(matrix->f32, 0, outputs * (size_t)matrix->cols * sizeof(float));
    if (matrix->q10) __builtin_memset(matrix->q10, 0, outputs * pairs(matrix->cols) * 2 * sizeof(int16_t));
    for (size_t n = 0; n < outputs; n++) matrix->scales[n] = 1.0f;
    __builtin_memset(matrix->bias, 0, outputs * sizeof(float));
}

void qkv_table_take(qkv_table *table, qkv_arena *arena, qkv_plane form, int32_t rows, int32_t cols) {
    const size_t count = (size_t)rows * (size_t)cols;

    *table = (qkv_table){.form = form, .rows = rows, .cols = cols};
    if (form == QKV_PLANE_Q10_HIGH) {
        table->values = qkv_arena_take(arena, count, 1);
        table->low = qkv_arena_take(arena, (size_t)rows * qkv_bytes_of_low(cols), 1);
        table->scales = qkv_arena_take(arena, (size_t)rows, sizeof(float));
    } else {
        table->values = qkv_arena_take(arena, count, form == QKV_PLANE_F32 ? sizeof(float) : sizeof(uint16_t));
    }
}

void qkv_packed_take(qkv_packed *packed, qkv_arena *arena, int32_t rows, int32_t cols) {
    packed->panels = qkv_arena_take(arena, (size_t)rows * (size_t)cols + (size_t)rows, sizeof(float));
    packed->scales = qkv_arena_take(arena, (size_t)rows, sizeof(float));
}

/* ---- incoming rows ------------------------------------------------------------------------------------------ */

void qkv_floats(float *y, qkv_plane plane, const void *data, int32_t n) {
    if (plane == QKV_PLANE_F16) {
        qkv_from_f16(y, data, n);
    } else if (plane == QKV_PLANE_BF16) {
        qkv_from_bf16(y, data, n);
    } else {
        __builtin_memcpy(y, data, (size_t)n * sizeof(float));
    }
}

static const unsigned char *float_row(qkv_plane plane, const void *data, int32_t row, int32_t cols) {
    const size_t size = plane == QKV_PLANE_F32 ? sizeof(float) : sizeof(uint16_t);
    return (const unsigned char *)data + (size_t)row * (size_t)cols * size;
}

static int low_bits(const uint8_t *low, int32_t i) {
    return low[i / 4] >> (2 * (i % 4)) & 3;
}

/* The scale of a float row in ten bits; q gets the integers. A row of zeros has scale 0, a row that holds a NaN or an
 * infinity scale NaN, so that whatever is computed from it is NaN and cannot be taken for a number. */
static float quantise_row(float *q, const float *x, int32_t n) {
    float largest = 0.0f;
    int finite = 1;

    for (int32_t i = 0; i < n; i++) {
        const float magnitude = __builtin_fabsf(x[i]);
        if (!(magnitude <= 3.402823466e38f)) finite = 0;
        if (magnitude > largest) largest = magnitude;
    }
    const float scale = largest / QKV_Q10_MAX;
    for (int32_t i = 0; i < n; i++) {
        float rounded = finite && scale > 0.0f ? (x[i] / scale + ROUND_MAGIC) - ROUND_MAGIC : 0.0f;
        if (rounded > QKV_Q10_MAX) rounded = QKV_Q10_MAX; /* a denormal scale is inexact */
        if (rounded < -QKV_Q10_MAX) rounded = -QKV_Q10_MAX;
        q[i] = rounded;
    }
    return finite ? scale : __builtin_nanf("");
}

/* Row `row` of a q10 matrix: element k of output row is at [row / 8][k / 2][row % 8][k % 2]. */
static int16_t *q10_row(const qkv_matrix *matrix, int32_t row) {
    return matrix->q10 + (size_t)(row / QKV_PANEL) * matrix->panel_stride + (size_t)(row % QKV_PANEL) * 2;
}

static size_t q10_column(int32_t k) {
    return (size_t)(k / 2) * QKV_PANEL * 2 + (size_t)(k % 2);
}

static void float_rows(qkv_matrix *matrix, qkv_plane plane, int32_t row0, int32_t rows, const void *data,
                       float *spare) {
    const int32_t cols = matrix->cols;

    if (matrix->form == QKV_FORM_F32 && plane == QKV_PLANE_F32) {
        qkv_weights_f32(matrix->f32, row0, data, (size_t)cols, rows, cols);
        return;
    }
    for (int32_t r = 0; r < rows; r++) {
        qkv_floats(spare, plane, float_row(plane, data, r, cols), cols);
        if (matrix->form != QKV_FORM_F32) matrix->scales[row0 + r] = quantise_row(spare, spare, cols);
        if (matrix->f32) {
            qkv_weights_f32(matrix->f32, row0 + r, spare, (size_t)cols, 1, cols);
            continue;
        }
        int16_t *w = q10_row(matrix, row0 + r);
        for (int32_t k = 0; k < cols; k++) w[q10_column(k)] = (int16_t)spare[k];
    }
}

/* The planes of a q10 tensor come in any order, so each adds its share: w = 4 high + low. */
static void q10_rows(qkv_matrix *matrix, qkv_plane plane, int32_t row0, int32_t rows, const void *data) {
    const int32_t cols = matrix->cols;
    const int8_t *high = data;
    const uint8_t *low = data;

    for (int32_t r = 0; r < rows; r++, high += cols, low += qkv_bytes_of_low(cols)) {
        const int32_t row = row0 + r;
        if (matrix->q10) {
            int16_t *w = q10_row(matrix, row);
            for (int32_t k = 0; k < cols; k++) {
                const int share = plane == QKV_PLANE_Q10_HIGH ? 4 * high[k] : low_bits(low, k);
                w[q10_column(k)] = (int16_t)(w[q10_column(k)] + share);
            }
        } else {
            float *w = matrix->f32 + (size_t)(row / QKV_PANEL) * matrix->panel_stride + row % QKV_PANEL;
            for (int32_t k = 0; k < cols; k++) {
                w[(size_t)k * QKV_PANEL] += (float)(plane == QKV_PLANE_Q10_HIGH ? 4 * high[k] : low_bits(low, k));
            }
        }
    }
}

void qkv_matrix_rows(qkv_matrix *matrix, qkv_plane plane, int32_t row0, int32_t rows, const void *data, float *spare) {
    if (plane == QKV_PLANE_SCALE) {
        __builtin_memcpy(matrix->scales + row0, data, (size_t)rows * sizeof(float));
    } else if (plane == QKV_PLANE_Q10_HIGH || plane == QKV_PLANE_Q10_LOW) {
        q10_rows(matrix, plane, row0, rows, data);
    } else {
        float_rows(matrix, plane, row0, rows, data, spare);
    }
}

/* -512 has no place in the format: with it the integer sums of gemm_q10 could overflow. */
static int in_ten_bits(const qkv_matrix *matrix) {
    const size_t count = padded(matrix->rows) * pairs(matrix->cols) * 2;
    int16_t least = 0;

    for (size_t i = 0; i < count; i++) least = matrix->q10[i] < least ? matrix->q10[i] : least;
    return least >= -QKV_Q10_MAX;
}

/* Multiplies the scale of one output channel in; 0 when it held -512. */
static int scale_row(qkv_matrix *matrix, int32_t row) {
    float *w = matrix->f32 + (size_t)(row / QKV_PANEL) * matrix->panel_stride + row % QKV_PANEL;
    const float scale = matrix->scales[row];
    float least = 0.0f;

    for (int32_t k = 0; k < matrix->cols; k++, w += QKV_PANEL) {
        least = *w < least ? *w : least;
        *w *= scale;
    }
    return least >= -(float)QKV_Q10_MAX;
}

int qkv_matrix_finish(qkv_matrix *matrix) {
    int fine = 1;

    if (matrix->form == QKV_FORM_Q10) return in_ten_bits(matrix);
    for (int32_t row = 0; row < matrix->rows; row++) {
        if (matrix->scales[row] != 1.0f) fine &= scale_row(matrix, row); /* 1: floats as they came, of any size */
    }
    return fine;
}

/* ---- tables ------------------------------------------------------------------------------------------------- */

static void quantise_table_row(qkv_table *table, int32_t row, float *q) {
    int8_t *high = (int8_t *)table->values + (size_t)row * (size_t)table->cols;
    uint8_t *low = table->low + (size_t)row * qkv_bytes_of_low(table->cols);

    table->scales[row] = quantise_row(q, q, table->cols);
    __builtin_memset(low, 0, qkv_bytes_of_low(table->cols));
    for (int32_t i = 0; i < table->cols; i++) {
        const int value = (int)q[i];
        high[i] = (int8_t)((value - (value & 3)) / 4);
        low[i / 4] = (uint8_t)(low[i / 4] | (value & 3) << (2 * (i % 4)));
    }
}

void qkv_table_rows(qkv_table *table, qkv_plane plane, int32_t row0, int32_t rows, const void *data, float *spare) {
    const size_t first = (size_t)row0, count = (size_t)rows, cols = (size_t)table->cols;
    const size_t low_bytes = qkv_bytes_of_low(table->cols);

    if (table->form == QKV_PLANE_Q10_HIGH && plane == QKV_PLANE_SCALE) {
        __builtin_memcpy(table->scales + first, data, count * sizeof(float));
    } else if (table->form == QKV_PLANE_Q10_HIGH && plane == QKV_PLANE_Q10_LOW) {
        __builtin_memcpy(table->low + first * low_bytes, data, count * low_bytes);
    } else if (table->form == QKV_PLANE_Q10_HIGH && plane == QKV_PLANE_Q10_HIGH) {
        __builtin_memcpy((int8_t *)table->values + first * cols, data, count * cols);
    } else if (table->form == QKV_PLANE_Q10_HIGH) {
        for (int32_t r = 0; r < rows; r++) {
            qkv_floats(spare, plane, float_row(plane, data, r, table->cols), table->cols);
            quantise_table_row(table, row0 + r, spare);
        }
    } else if (table->form == QKV_PLANE_F32) {
        qkv_floats((float *)table->values + first * cols, plane, data, (int32_t)(count * cols));
    } else {
        __builtin_memcpy((uint16_t *)table->values + first * cols, data, count * cols * sizeof(uint16_t));
    }
}

void qkv_table_row(const qkv_table *table, int32_t row, float *y) {
    const size_t first = (size_t)row * (size_t)table->cols;

    if (table->form == QKV_PLANE_Q10_HIGH) {
        qkv_from_q10(y, (const int8_t *)table->values + first, table->low + (size_t)row * qkv_bytes_of_low(table->cols),
                     table->cols, table->scales[row]);
    } else if (table->form == QKV_PLANE_F32) {
        __builtin_memcpy(y, (const float *)table->values + first, (size_t)table->cols * sizeof(float));
    } else {
        qkv_floats(y, table->form, (const uint16_t *)table->values + first, table->cols);
    }
}

/* ---- the linear map ----------------------------------------------------------------------------------------- */

void qkv_linear(const qkv_matrix *matrix, int32_t first, const float *x, size_t x_stride, qkv_gemm gemm,
                const qkv_packed *packed) {
    const size_t panel = (size_t)first / QKV_PANEL * matrix->panel_stride;

    gemm.k = matrix->cols;
    gemm.panel_stride = matrix->panel_stride;
    gemm.bias = matrix->bias + first;
    if (matrix->form != QKV_FORM_Q10) {
        qkv_pack_f32(packed->panels, x, x_stride, gemm.rows, gemm.k);
        qkv_gemm_f32(&gemm, packed->panels, matrix->f32 + panel);
    } else {
        int16_t *panels = (int16_t *)(void *)packed->panels;
        qkv_pack_q10(panels, packed->scales, x, x_stride, gemm.rows, gemm.k);
        qkv_gemm_q10(&gemm, panels, packed->scales, matrix->q10 + panel, matrix->scales + first);
    }
}
