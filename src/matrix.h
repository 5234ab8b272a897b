/* matrix.h - a linear map y = x W^T + b, its weights packed for the kernels.
 *
 * W [rows, cols] is kept as W panels (kernels.h): eight output channels side by side. There are four forms:
 *   f32   floats
 *   q10   int16 integers in +-511 and a scale for each output channel; x becomes int16 for each token
 *   q8    the same with int8 integers in +-127: half the memory
 *   wide  the floats that ten-bit weights stand for; x stays as it is. What a q10 model uses where the product is shown
 *         next to its formula: y then is x W^T + b for the x that is shown, not for a rounded one */
#ifndef QKV_MATRIX_H
#define QKV_MATRIX_H

#include "arena.h"
#include "kernels/kernels.h"
#include "planes.h"
#include "qkv.h"

typedef enum qkv_form { QKV_FORM_F32, QKV_FORM_Q10, QKV_FORM_Q8, QKV_FORM_WIDE } qkv_form;

typedef struct qkv_matrix {
    qkv_form form;
    int32_t rows, cols;  /* outputs, inputs; rows 0: not there */
    size_t panel_stride; /* elements from one panel to the next */
    float *f32;          /* f32, wide: [ceil(rows / 8)][cols][8] */
    int16_t *q10;        /* q10: [ceil(rows / 8)][ceil(cols / 2)][8][2] */
    int8_t *q8;          /* q8: the same */
    float *scales;       /* [rows rounded up to 8]; 1 where the rows came as floats for floats */
    float *bias;         /* [rows rounded up to 8], or NULL */
} qkv_matrix;

/* Room that qkv_linear needs for `rows` rows of at most `cols` inputs. */
typedef struct qkv_packed {
    float *panels; /* A panels; int16 ones fit too */
    float *scales; /* [rows], q10 and q8 */
} qkv_packed;

void qkv_matrix_take(qkv_matrix *matrix, qkv_arena *arena, qkv_form form, int32_t rows, int32_t cols, int has_bias);
void qkv_matrix_clear(qkv_matrix *matrix); /* zero panels and biases, scales 1 */
void qkv_packed_take(qkv_packed *packed, qkv_arena *arena, int32_t rows, int32_t cols);

/* 1 when rows of this plane can be packed: floats always; of the integer planes those that lose nothing. */
int qkv_matrix_takes(const qkv_matrix *matrix, qkv_plane plane);

/* Packs rows [row0, row0 + rows); data as in qkv_model_rows. */
void qkv_matrix_rows(qkv_matrix *matrix, qkv_plane plane, int32_t row0, int32_t rows, const void *data,
                     qkv_spare spare);
/* After the last row: floats that hold integers are multiplied by their scales. 0 when one of ten bits is -512 or
 * one of a q8 matrix -128. */
int qkv_matrix_finish(qkv_matrix *matrix);

/* y[cols] = row `row` of W: what a head that is also the token table is looked up by. */
void qkv_matrix_row(const qkv_matrix *matrix, int32_t row, float *y);

/* gemm->out[rows, cols] = x[rows, x_stride] W^T + b for the outputs [first, first + gemm->cols), first a multiple of 8.
 * The caller fills out, out_stride, rows, cols, residual and activation; the rest is set here. */
void qkv_linear(const qkv_matrix *matrix, int32_t first, const float *x, size_t x_stride, qkv_gemm gemm,
                const qkv_packed *packed);

#endif
