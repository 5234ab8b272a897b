#include "table.h"

#include "kernels/kernels.h"
#include "planes.h"

static int is_integer(const qkv_table *table) {
    return table->form == QKV_PLANE_Q10_HIGH || table->form == QKV_PLANE_Q8;
}

void qkv_table_take(qkv_table *table, qkv_arena *arena, qkv_plane form, int32_t rows, int32_t cols) {
    *table = (qkv_table){.form = form, .rows = rows, .cols = cols};
    table->values = qkv_arena_take(arena, (size_t)rows, qkv_plane_row_bytes(form, cols));
    if (form == QKV_PLANE_Q10_HIGH) {
        table->low = qkv_arena_take(arena, (size_t)rows, qkv_plane_row_bytes(QKV_PLANE_Q10_LOW, cols));
    }
    if (is_integer(table)) table->scales = qkv_arena_take(arena, (size_t)rows, sizeof(float));
}

int qkv_table_takes(const qkv_table *table, qkv_plane plane) {
    if (qkv_plane_is_float(plane)) return is_integer(table) || table->form == QKV_PLANE_F32 || plane == table->form;
    if (plane == QKV_PLANE_SCALE) return is_integer(table);
    return plane == table->form || (plane == QKV_PLANE_Q10_LOW && table->form == QKV_PLANE_Q10_HIGH);
}

static void quantise_row(qkv_table *table, int32_t row, qkv_spare spare) {
    const int is_q8 = table->form == QKV_PLANE_Q8;
    const size_t low = (size_t)row * qkv_plane_row_bytes(QKV_PLANE_Q10_LOW, table->cols);
    int8_t *high = (int8_t *)table->values + (size_t)row * (size_t)table->cols;

    table->scales[row] = qkv_quantise_row(spare.integers, spare.floats, table->cols, is_q8 ? QKV_Q8_MAX : QKV_Q10_MAX);
    qkv_split_i16(high, is_q8 ? NULL : table->low + low, spare.integers, table->cols);
}

void qkv_table_rows(qkv_table *table, qkv_plane plane, int32_t row0, int32_t rows, const void *data, qkv_spare spare) {
    const size_t first = (size_t)row0, count = (size_t)rows;
    const size_t bytes = qkv_plane_row_bytes(plane, table->cols);
    const unsigned char *row = data;

    if (plane == QKV_PLANE_SCALE) {
        __builtin_memcpy(table->scales + first, data, count * bytes);
    } else if (plane == QKV_PLANE_Q10_LOW) {
        __builtin_memcpy(table->low + first * bytes, data, count * bytes);
    } else if (plane == table->form) {
        __builtin_memcpy((unsigned char *)table->values + first * bytes, data, count * bytes);
    } else if (!is_integer(table)) {
        float *values = (float *)table->values + first * (size_t)table->cols;
        for (int32_t r = 0; r < rows; r++, row += bytes, values += table->cols) {
            qkv_floats(values, plane, row, table->cols);
        }
    } else {
        for (int32_t r = 0; r < rows; r++, row += bytes) {
            qkv_floats(spare.floats, plane, row, table->cols);
            quantise_row(table, row0 + r, spare);
        }
    }
}

void qkv_table_row(const qkv_table *table, int32_t row, float *y) {
    const size_t bytes = (size_t)row * qkv_plane_row_bytes(table->form, table->cols);
    const void *values = (const unsigned char *)table->values + bytes;

    if (table->form == QKV_PLANE_Q10_HIGH) {
        const size_t low = (size_t)row * qkv_plane_row_bytes(QKV_PLANE_Q10_LOW, table->cols);
        qkv_from_q10(y, values, table->low + low, table->cols, table->scales[row]);
    } else if (table->form == QKV_PLANE_Q8) {
        qkv_from_q8(y, values, table->cols, table->scales[row]);
    } else {
        qkv_floats(y, table->form, values, table->cols);
    }
}
