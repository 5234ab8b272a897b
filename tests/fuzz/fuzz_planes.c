/* Weights in every plane a file can hold, of any shape: decoders, quantisation, matrices and tables. Besides staying inside
 * its memory the engine must give back what it was given: a row of a float matrix or table has the bits that the decoder
 * makes, quantised ones lie within half a step. */
#include <math.h>

#include "byte_source.h"
#include "matrix.h"
#include "planes.h"
#include "table.h"

static const qkv_plane float_planes[] = {QKV_PLANE_F32,  QKV_PLANE_F16,  QKV_PLANE_BF16, QKV_PLANE_Q4_0,
                                         QKV_PLANE_Q4_1, QKV_PLANE_Q5_0, QKV_PLANE_Q5_1, QKV_PLANE_Q8_0,
                                         QKV_PLANE_Q4_K, QKV_PLANE_Q5_K, QKV_PLANE_Q6_K};

static int same(const float *a, const float *b, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (memcmp(a + i, b + i, sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) return 0;
    }
    return 1;
}

/* got is want on a grid of 2 most + 1 steps; a row that is not finite becomes NaN. At the end of float's range the rounding of
 * the scale may make an infinity. */
static int is_rounded(const float *got, const float *want, int32_t n, int32_t most) {
    double largest = 0;
    int finite = 1;

    for (int32_t i = 0; i < n; i++) {
        finite &= isfinite(want[i]);
        largest = fmax(largest, fabs((double)want[i]));
    }
    for (int32_t i = 0; i < n; i++) {
        if (!finite && !isnan(got[i])) return 0;
        if (largest > 1e38) continue;
        if (finite && !(fabs((double)got[i] - (double)want[i]) <= largest / most * 0.501 + most * 0x1p-149)) return 0;
    }
    return 1;
}

static void fill(byte_source *from, uint8_t *data, size_t bytes) {
    uint32_t state = take_word(from);

    for (size_t i = 0; i < bytes; i++)
        data[i] = from->left ? (uint8_t)take_byte(from) : (uint8_t)(stream_next(&state) >> 24);
}

static qkv_spare take_spare(int32_t cols, int rows) {
    const size_t count = (size_t)cols * (size_t)rows;

    return (qkv_spare){exactly(count * sizeof(float)), exactly(count * sizeof(int16_t))};
}

static void check_matrix(qkv_form form, qkv_plane plane, int32_t rows, int32_t cols, int32_t first, const uint8_t *data,
                         const float *want) {
    static const int32_t most[] = {0, QKV_Q10_MAX, QKV_Q8_MAX, QKV_Q10_MAX};
    const size_t bytes = qkv_plane_row_bytes(plane, cols);
    qkv_arena measure = qkv_arena_measure();
    qkv_matrix matrix;

    qkv_matrix_take(&matrix, &measure, form, rows, cols, 1);
    void *memory = exactly(measure.used);
    qkv_arena arena = qkv_arena_over(memory, measure.used);
    const qkv_spare spare = take_spare(cols, QKV_SPARE_ROWS);
    float *row = exactly((size_t)cols * sizeof(float));
    qkv_matrix_take(&matrix, &arena, form, rows, cols, 1);
    qkv_matrix_clear(&matrix);
    qkv_matrix_rows(&matrix, plane, 0, first, data, spare);
    qkv_matrix_rows(&matrix, plane, first, rows - first, data + (size_t)first * bytes, spare);
    PROMISE(qkv_matrix_finish(&matrix));
    for (int32_t r = 0; r < rows; r++) {
        const float *of_row = want + (size_t)r * (size_t)cols;
        qkv_matrix_row(&matrix, r, row);
        PROMISE(form == QKV_FORM_F32 ? same(row, of_row, cols) : is_rounded(row, of_row, cols, most[form]));
    }
    free(row);
    free(spare.floats);
    free(spare.integers);
    free(memory);
}

static void check_table(qkv_plane form, qkv_plane plane, int32_t rows, int32_t cols, const uint8_t *data,
                        const float *want) {
    qkv_arena measure = qkv_arena_measure();
    qkv_table table;

    qkv_table_take(&table, &measure, form, rows, cols);
    void *memory = exactly(measure.used);
    qkv_arena arena = qkv_arena_over(memory, measure.used);
    const qkv_spare spare = take_spare(cols, 1);
    float *row = exactly((size_t)cols * sizeof(float));
    qkv_table_take(&table, &arena, form, rows, cols);
    if (qkv_table_takes(&table, plane)) {
        const int32_t most = form == QKV_PLANE_Q8 ? QKV_Q8_MAX : QKV_Q10_MAX;
        const int integer = form == QKV_PLANE_Q8 || form == QKV_PLANE_Q10_HIGH;
        qkv_table_rows(&table, plane, 0, rows, data, spare);
        for (int32_t r = 0; r < rows; r++) {
            const float *of_row = want + (size_t)r * (size_t)cols;
            qkv_table_row(&table, r, row);
            PROMISE(integer ? is_rounded(row, of_row, cols, most) : same(row, of_row, cols));
        }
    }
    free(row);
    free(spare.floats);
    free(spare.integers);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qkv_plane tables[] = {QKV_PLANE_F32, QKV_PLANE_F16, QKV_PLANE_BF16, QKV_PLANE_Q10_HIGH, QKV_PLANE_Q8};
    byte_source from = {data, size};
    const qkv_plane plane = float_planes[take_byte(&from) % (sizeof float_planes / sizeof *float_planes)];
    const int32_t rows = take_number(&from, 1, 20);
    const int32_t cols = take_number(&from, 1, plane >= QKV_PLANE_Q4_K ? 2 : 40) * qkv_plane_step(plane);
    const int32_t first = take_number(&from, 0, rows);
    const qkv_form form = (qkv_form)take_number(&from, QKV_FORM_F32, QKV_FORM_WIDE);
    const qkv_plane table = tables[take_byte(&from) % (sizeof tables / sizeof *tables)];
    const size_t bytes = qkv_plane_row_bytes(plane, cols);
    uint8_t *weights = exactly((size_t)rows * bytes);
    float *want = exactly((size_t)rows * (size_t)cols * sizeof(float));

    fill(&from, weights, (size_t)rows * bytes);
    for (int32_t r = 0; r < rows; r++)
        qkv_floats(want + (size_t)r * (size_t)cols, plane, weights + (size_t)r * bytes, cols);
    check_matrix(form, plane, rows, cols, first, weights, want);
    check_table(table, plane, rows, cols, weights, want);
    free(want);
    free(weights);
    return 0;
}
