#include "matrix.h"

#include "planes.h"
#include "pool.h"

#define GROUP (4 * QKV_PANEL) /* columns: as many panels as the kernels take at once when there are few rows */

static size_t padded(int32_t rows) {
    return ((size_t)rows + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

static size_t pairs(int32_t cols) {
    return ((size_t)cols + 1) / 2;
}

static int is_integer(const qkv_matrix *matrix) {
    return matrix->form == QKV_FORM_Q10 || matrix->form == QKV_FORM_Q8;
}

/* ---- layout ------------------------------------------------------------------------------------------------- */

void qkv_matrix_take(qkv_matrix *matrix, qkv_arena *arena, qkv_form form, int32_t rows, int32_t cols, int has_bias) {
    const size_t outputs = padded(rows);

    *matrix = (qkv_matrix){.form = form, .rows = rows, .cols = cols};
    matrix->panel_stride = is_integer(matrix) ? pairs(cols) * 2 * QKV_PANEL : (size_t)cols * QKV_PANEL;
    const size_t inputs = matrix->panel_stride / QKV_PANEL;
    if (form == QKV_FORM_Q10) {
        matrix->q10 = qkv_arena_take(arena, outputs, inputs * sizeof(int16_t));
    } else if (form == QKV_FORM_Q8) {
        matrix->q8 = qkv_arena_take(arena, outputs, inputs);
    } else {
        matrix->f32 = qkv_arena_take(arena, outputs, inputs * sizeof(float));
    }
    matrix->scales = qkv_arena_take(arena, outputs, sizeof(float));
    matrix->bias = has_bias ? qkv_arena_take(arena, outputs, sizeof(float)) : NULL;
}

void qkv_matrix_clear(qkv_matrix *matrix) {
    const size_t outputs = padded(matrix->rows);
    const size_t count = outputs / QKV_PANEL * matrix->panel_stride;

    if (matrix->f32) __builtin_memset(matrix->f32, 0, count * sizeof(float));
    if (matrix->q10) __builtin_memset(matrix->q10, 0, count * sizeof(int16_t));
    if (matrix->q8) __builtin_memset(matrix->q8, 0, count);
    for (size_t n = 0; n < outputs; n++) matrix->scales[n] = 1.0f;
    if (matrix->bias && outputs > 0) __builtin_memset(matrix->bias, 0, outputs * sizeof(float));
}

void qkv_packed_take(qkv_packed *packed, qkv_arena *arena, int32_t rows, int32_t cols) {
    packed->panels = qkv_arena_take(arena, (size_t)rows * (size_t)cols + (size_t)rows, sizeof(float));
    packed->scales = qkv_arena_take(arena, (size_t)rows, sizeof(float));
}

/* ---- places of elements ------------------------------------------------------------------------------------- */

/* Element 0 of output row `row` in the panels, as a count of elements. */
static size_t row_start(const qkv_matrix *matrix, int32_t row) {
    const size_t lane = (size_t)(row % QKV_PANEL);
    return (size_t)(row / QKV_PANEL) * matrix->panel_stride + (is_integer(matrix) ? 2 * lane : lane);
}

/* From element 0 to element k of a row: integers lie in pairs, [k / 2][8][2]. */
static size_t integer_column(int32_t k) {
    return (size_t)(k / 2) * QKV_PANEL * 2 + (size_t)(k % 2);
}

/* ---- incoming rows ------------------------------------------------------------------------------------------ */

int qkv_matrix_takes(const qkv_matrix *matrix, qkv_plane plane) {
    if (qkv_plane_is_float(plane) || plane == QKV_PLANE_SCALE || plane == QKV_PLANE_Q8) return 1;
    return matrix->form != QKV_FORM_Q8;
}

/* Adds integers to one output row. */
static void add_row(qkv_matrix *matrix, int32_t row, const int16_t *q) {
    const size_t start = row_start(matrix, row);

    for (int32_t k = 0; k < matrix->cols; k++) {
        if (matrix->f32) {
            matrix->f32[start + (size_t)k * QKV_PANEL] += (float)q[k];
        } else if (matrix->q10) {
            int16_t *w = matrix->q10 + start + integer_column(k);
            *w = (int16_t)(*w + q[k]);
        } else {
            matrix->q8[start + integer_column(k)] = (int8_t)q[k];
        }
    }
}

/* Adds integers to rows of one panel, q [rows, cols]: the planes of q10 come in any order, w = 4 high + low. */
static void add_integers(qkv_matrix *matrix, int32_t row0, int32_t rows, const int16_t *q) {
    const size_t cols = (size_t)matrix->cols, start = row_start(matrix, row0);

    if (rows < QKV_PANEL || matrix->cols % QKV_PANEL_STEP != 0) {
        for (int32_t r = 0; r < rows; r++) add_row(matrix, row0 + r, q + (size_t)r * cols);
    } else if (matrix->f32) {
        qkv_panel_f32(matrix->f32 + start, q, cols, matrix->cols);
    } else if (matrix->q10) {
        qkv_panel_q10(matrix->q10 + start, q, cols, matrix->cols);
    } else {
        qkv_panel_q8(matrix->q8 + start, q, cols, matrix->cols);
    }
}

/* Rows of one panel from spare.floats. */
static void put_floats(qkv_matrix *matrix, int32_t row0, int32_t rows, qkv_spare spare) {
    const int32_t cols = matrix->cols, most = matrix->form == QKV_FORM_Q8 ? QKV_Q8_MAX : QKV_Q10_MAX;

    if (matrix->form == QKV_FORM_F32) {
        qkv_weights_f32(matrix->f32, row0, spare.floats, (size_t)cols, rows, cols);
        return;
    }
    for (int32_t r = 0; r < rows; r++) {
        const size_t at = (size_t)r * (size_t)cols;
        matrix->scales[row0 + r] = qkv_quantise_row(spare.integers + at, spare.floats + at, cols, most);
    }
    add_integers(matrix, row0, rows, spare.integers);
}

void qkv_matrix_rows(qkv_matrix *matrix, qkv_plane plane, int32_t row0, int32_t rows, const void *data,
                     qkv_spare spare) {
    const int32_t cols = matrix->cols;
    const size_t bytes = qkv_plane_row_bytes(plane, cols);
    const unsigned char *row = data;

    if (plane == QKV_PLANE_SCALE) {
        __builtin_memcpy(matrix->scales + row0, data, (size_t)rows * sizeof(float));
        return;
    }
    if (matrix->form == QKV_FORM_F32 && plane == QKV_PLANE_F32) {
        qkv_weights_f32(matrix->f32, row0, data, (size_t)cols, rows, cols);
        return;
    }
    for (int32_t done = 0, block; done < rows; done += block) {
        const int32_t left_in_panel = QKV_PANEL - (row0 + done) % QKV_PANEL;
        block = rows - done < left_in_panel ? rows - done : left_in_panel;
        for (int32_t r = 0; r < block; r++, row += bytes) {
            const size_t at = (size_t)r * (size_t)cols;
            if (qkv_plane_is_float(plane)) qkv_floats(spare.floats + at, plane, row, cols);
            else qkv_integers(spare.integers + at, plane, row, cols);
        }
        if (qkv_plane_is_float(plane)) put_floats(matrix, row0 + done, block, spare);
        else add_integers(matrix, row0 + done, block, spare.integers);
    }
}

/* -512 has no place in the format: with it the integer sums of gemm_q10 could overflow. */
static int in_ten_bits(const qkv_matrix *matrix) {
    const size_t count = padded(matrix->rows) / QKV_PANEL * matrix->panel_stride;
    int16_t least = 0;

    for (size_t i = 0; i < count; i++) least = matrix->q10[i] < least ? matrix->q10[i] : least;
    return least >= -QKV_Q10_MAX;
}

/* -128 has no place in q8 either: its weights are symmetric, -127 to 127. */
static int in_eight_bits(const qkv_matrix *matrix) {
    const size_t count = padded(matrix->rows) / QKV_PANEL * matrix->panel_stride;
    int8_t least = 0;

    for (size_t i = 0; i < count; i++) least = matrix->q8[i] < least ? matrix->q8[i] : least;
    return least >= -QKV_Q8_MAX;
}

/* Multiplies the scales of eight output channels in; 0 when one of them held -512. Floats have scale 1, of any size. */
static int scale_panel(float *w, const float *scales, int32_t cols) {
    int fine = 1;

    for (int32_t k = 0; k < cols; k++, w += QKV_PANEL) {
        for (int r = 0; r < QKV_PANEL; r++) {
            fine &= !(w[r] < -(float)QKV_Q10_MAX) || scales[r] == 1.0f;
            w[r] *= scales[r];
        }
    }
    return fine;
}

int qkv_matrix_finish(qkv_matrix *matrix) {
    int fine = 1;

    if (matrix->form == QKV_FORM_Q10) return in_ten_bits(matrix);
    if (matrix->form == QKV_FORM_Q8) return in_eight_bits(matrix);
    for (size_t row = 0; row < padded(matrix->rows); row += QKV_PANEL) {
        int scaled = 0;
        for (size_t r = row; r < row + QKV_PANEL; r++) scaled |= matrix->scales[r] != 1.0f;
        if (scaled) fine &= scale_panel(matrix->f32 + row * (size_t)matrix->cols, matrix->scales + row, matrix->cols);
    }
    return fine;
}

/* ---- use ---------------------------------------------------------------------------------------------------- */

void qkv_matrix_row(const qkv_matrix *matrix, int32_t row, float *y) {
    const size_t start = row_start(matrix, row);
    const float scale = matrix->scales[row];

    for (int32_t k = 0; k < matrix->cols; k++) {
        if (matrix->f32) {
            y[k] = matrix->f32[start + (size_t)k * QKV_PANEL];
        } else {
            const size_t at = start + integer_column(k);
            y[k] = (float)(matrix->q10 ? matrix->q10[at] : matrix->q8[at]) * scale;
        }
    }
}

/* The outputs [first, first + gemm.cols) from packed rows. */
static void multiply(const qkv_matrix *matrix, int32_t first, const qkv_gemm *gemm, const qkv_packed *packed) {
    const size_t panel = (size_t)first / QKV_PANEL * matrix->panel_stride;
    const int16_t *integers = (const int16_t *)(const void *)packed->panels;

    if (!is_integer(matrix)) {
        qkv_gemm_f32(gemm, packed->panels, matrix->f32 + panel);
    } else if (matrix->q10) {
        qkv_gemm_q10(gemm, integers, packed->scales, matrix->q10 + panel, matrix->scales + first);
    } else {
        qkv_gemm_q8(gemm, integers, packed->scales, matrix->q8 + panel, matrix->scales + first);
    }
}

typedef struct product {
    const qkv_matrix *matrix;
    int32_t first, groups, parts;
    qkv_gemm gemm;
    const qkv_packed *packed;
} product;

/* The columns of a part: whole groups of W panels that the kernels like to take at once. */
static void multiply_part(const void *region, int32_t part, int32_t slot) {
    const product *p = region;
    const int32_t from = qkv_pool_first(p->groups, part, p->parts) * GROUP;
    const int32_t to = qkv_pool_first(p->groups, part + 1, p->parts) * GROUP;
    qkv_gemm gemm = p->gemm;

    (void)slot;
    gemm.out += from;
    if (gemm.bias) gemm.bias += from;
    if (gemm.residual) gemm.residual += from;
    gemm.cols = (to < p->gemm.cols ? to : p->gemm.cols) - from;
    multiply(p->matrix, p->first + from, &gemm, p->packed);
}

void qkv_linear(const qkv_matrix *matrix, int32_t first, const float *x, size_t x_stride, qkv_gemm gemm,
                const qkv_packed *packed) {
    const double work = 2.0 * gemm.rows * gemm.cols * matrix->cols;

    gemm.k = matrix->cols;
    gemm.panel_stride = matrix->panel_stride;
    gemm.bias = matrix->bias ? matrix->bias + first : NULL;
    if (is_integer(matrix)) {
        qkv_pack_i16((int16_t *)(void *)packed->panels, packed->scales, x, x_stride, gemm.rows, gemm.k,
                     matrix->q10 ? QKV_Q10_MAX : QKV_Q8_MAX);
    } else {
        qkv_pack_f32(packed->panels, x, x_stride, gemm.rows, gemm.k);
    }
    product all = {matrix, first, (gemm.cols + GROUP - 1) / GROUP, 1, gemm, packed};
    all.parts = qkv_pool_parts(all.groups, work);
    if (all.parts == 1) {
        multiply(matrix, first, &gemm, packed);
    } else {
        qkv_pool_run(multiply_part, &all, all.parts, work);
    }
}
