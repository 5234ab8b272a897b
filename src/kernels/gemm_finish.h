/* gemm_finish.h - the last step of every GEMM, one output or four at a time: the scales of q10 and q8, then what
 * qkv_gemm asks for. Multiplications and additions stay apart even in the relaxed build: there is nothing to gain
 * here, and every step of a run that is shown keeps its own rounding. */
#ifndef QKV_KERNELS_GEMM_FINISH_H
#define QKV_KERNELS_GEMM_FINISH_H

#include "activation_f32.h"
#include "kernels.h"

/* Scales of q10 and q8: one a row, one a column. NULL in f32. */
typedef struct gemm_scales {
    const float *a; /* [rows] */
    const float *w; /* [cols rounded up to 8] */
} gemm_scales;

static inline void finish_one(const qkv_gemm *g, float v, int m, int n) {
    if (g->row_scale) v *= g->row_scale[m];
    if (g->bias) v += g->bias[n];
    v = activate_one(v, g->activation);
    if (g->residual) v += g->residual[(size_t)m * g->residual_stride + (size_t)n];
    g->out[(size_t)m * g->out_stride + (size_t)n] = v;
}

#define PANELS_MAX 4 /* at once */

/* Panels that a product of so few rows takes at once, of those that are left. */
static inline int panels_at_once(int rows, int left) {
    if (rows == 1 && left >= 4) return 4;
    return rows <= 2 && left >= 2 ? 2 : 1;
}

/* tile: [rows, 8] sums for the outputs from row m, column n on, changed. */
void qkv_finish_tile(const qkv_gemm *g, const gemm_scales *s, float *tile, int m, int rows, int n);

#endif
