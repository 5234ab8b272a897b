/* matrix.h - a linear map y = x W^T + b, its weights packed for the kernels, and a table looked up by row.
 *
 * W [rows, cols] is kept as W panels (kernels.h): eight output channels side by side. There are three forms:
 *   f32   floats
 *   q10   int16 integers in +-511 and a scale for each output channel; x becomes int16 for each token
 *   wide  the floats that ten-bit weights stand for; x stays as it is. What a q10 model uses where the product is shown
 *         next to its formula: y then is x W^T + b for the x that is shown, not for a rounded one */
#ifndef QKV_MATRIX_H
#define QKV_MATRIX_H

#include "arena.h"
#include "kernels/kernels.h"
#include "qkv.h"

typedef enum qkv_form { QKV_FORM_F32, QKV_FORM_Q10, QKV_FORM_WIDE } qkv_form;

typedef struct qkv_matrix {
    qkv_form form;
    int32_t rows, cols;  /* outputs, inputs */
    size_t panel_stride; /* elements from one panel to the next */
    float *f32;          /* f32, wide: [ceil(rows / 8)][cols][8] */
    int16_t *q10;        /* q10: [ceil(rows / 8)][ceil(cols / 2)][8][2] */
    float *scales;       /* [rows rounded up to 8]; 1 where the rows came as floats for floats */
    float *bias;         /* [rows rounded up to 8] */
} qkv_matrix;

/* A table [rows, cols] in the form of its file: float, half, bfloat16, or q10 as high, low and scales. */
typedef struct qkv_table {
    qkv_plane form;
    int32_t rows, cols;
    void *values;  /* float, uint16_t or int8_t [rows, cols] */
    uint8_t *low;  /* q10: [rows, ceil(cols / 4)] */
    float *scales; /* q10: [rows] */
} qkv_table;

/* Room that qkv_linear needs for `rows` rows of at most `cols` inputs. */
typedef struct qkv_packed {
    float *panels; /* A panels; int16 ones fit too */
    float *scales; /* [rows], q10 */
} qkv_packed;

size_t qkv_bytes_of_low(int32_t cols); /* bytes of a row of q10_low */

void qkv_matrix_take(qkv_matrix *matrix, qkv_arena *arena, qkv_form form, int32_t rows, int32_t cols);
void qkv_matrix_clear(qkv_matrix *matrix); /* zero panels and biases, scales 1 */
void qkv_table_take(qkv_table *table, qkv_arena *arena, qkv_plane form, int32_t rows, int32_t cols);
void qkv_packed_take(qkv_packed *packed, qkv_arena *arena, int32_t rows, int32_t cols);

/* Packs rows [row0, row0 + rows); data as in qkv_model_rows. spare: [cols] floats. */
void qkv_matrix_rows(qkv_matrix *matrix, qkv_plane plane, int32_t row0, int32_t rows, const void *data, float *spare);
void qkv_table_rows(qkv_table *table, qkv_plane plane, int32_t row0, int32_t rows, const void *data, float *spare);
/* After the last row: floats that hold ten-bit integers are multiplied by their scales. 0 when a ten-bit weight is
 * -512. */
int qkv_matrix_finish(qkv_matrix *matrix);

/* y[cols] = row `row` of the table. */
void qkv_table_row(const qkv_table *table, int32_t row, float *y);

/* n values of a plane f32, f16 or bf16 as floats. */
void qkv_floats(float *y, qkv_plane plane, const void *data, int32_t n);

/* gemm->out[rows, cols] = x[rows, x_stride] W^T + b for the outputs [first, first + gemm->cols), first a multiple of 8.
 * The caller fills out, out_stride, rows, cols, residual and gelu; the rest is set here. */
void qkv_linear(const qkv_matrix *matrix, int32_t first, const float *x, size_t x_stride, qkv_gemm gemm,
                const qkv_packed *packed);

#endif
