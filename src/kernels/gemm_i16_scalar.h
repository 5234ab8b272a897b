/* gemm_i16_scalar.h - the plain loop behind gemm_q10_scalar.c and gemm_q8_scalar.c, which differ in the type of a weight. */
#ifndef QKV_KERNELS_GEMM_I16_SCALAR_H
#define QKV_KERNELS_GEMM_I16_SCALAR_H

#include "gemm_finish.h"
#include "kernels.h"

/* Weight i, of `bytes` (1 or 2) each. */
static inline int32_t weight_at(const void *w, size_t i, int bytes) {
    return bytes == 2 ? ((const int16_t *)w)[i] : ((const int8_t *)w)[i];
}

/* Sum over k of one output: integers inside a chunk, floats from chunk to chunk. a: the first pair; a_step: from one pair
 * to the next; start: the first weight of the column. */
static inline float sum_chunks(const int16_t *a, size_t a_step, const void *w, size_t start, size_t pairs, int bytes) {
    const size_t chunk = QKV_CHUNK / 2;
    float sum = 0.0f;

    for (size_t from = 0; from < pairs; from += chunk) {
        const size_t end = pairs - from < chunk ? pairs : from + chunk;
        int32_t acc = 0;

        for (size_t i = from; i < end; i++) {
            const int16_t *x = a + i * a_step;
            const size_t y = start + i * 2 * QKV_PANEL;
            acc += x[0] * weight_at(w, y, bytes) + x[1] * weight_at(w, y + 1, bytes);
        }
        sum += (float)acc;
    }
    return sum;
}

static inline void plain_integer_gemm(const qkv_gemm *g, const int16_t *a, const float *a_scales, const void *w,
                                      const float *w_scales, int bytes) {
    const size_t pairs = ((size_t)g->k + 1) / 2;
    int block;

    for (int m = 0; m < g->rows; m += block, a += pairs * 2 * (size_t)block) {
        block = qkv_pair_block(g->rows - m);
        for (int r = 0; r < block; r++) {
            for (int n = 0; n < g->cols; n++) {
                const size_t column = (size_t)(n / QKV_PANEL) * g->panel_stride + (size_t)(n % QKV_PANEL) * 2;
                const float sum = sum_chunks(a + r * 2, (size_t)block * 2, w, column, pairs, bytes);
                finish_one(g, sum * a_scales[m + r] * w_scales[n], m + r, n);
            }
        }
    }
}

#endif
