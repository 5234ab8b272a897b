/* table.h - a table whose rows are looked up one by one: token, position and token-type embeddings, relative biases. It
 * keeps the form of its file where it can, since a row is only read when it is asked for. */
#ifndef QKV_TABLE_H
#define QKV_TABLE_H

#include "arena.h"
#include "planes.h"
#include "qkv.h"

/* [rows, cols] as float, half, bfloat16, q10 (high, low and scales) or q8 (integers and scales). */
typedef struct qkv_table {
    qkv_plane form; /* f32, f16, bf16, q10_high, q8 */
    int32_t rows, cols;
    void *values;  /* float, uint16_t or int8_t [rows, cols] */
    uint8_t *low;  /* q10: [rows, ceil(cols / 4)] */
    float *scales; /* q10, q8: [rows] */
} qkv_table;

void qkv_table_take(qkv_table *table, qkv_arena *arena, qkv_plane form, int32_t rows, int32_t cols);

/* 1 when rows of this plane can be taken: the form's own planes, and whatever becomes floats where those can be kept. */
int qkv_table_takes(const qkv_table *table, qkv_plane plane);

/* Puts rows [row0, row0 + rows); data as in qkv_model_rows. */
void qkv_table_rows(qkv_table *table, qkv_plane plane, int32_t row0, int32_t rows, const void *data, qkv_spare spare);

/* y[cols] = row `row` of the table. */
void qkv_table_row(const qkv_table *table, int32_t row, float *y);

#endif
