#include "gemm_finish.h"
#include "kernels.h"

/* Sum over k of one output: integers inside a chunk, floats from chunk to chunk. a, w: the first pair; a_step:
 * from one pair to the next. */
static float sum_chunks(const int16_t *a, size_t a_step, const int8_t *w, size_t pairs) {
    const size_t chunk = QKV_CHUNK / 2;
    float sum = 0.0f;

    for (size_t start = 0; start < pairs; start += chunk) {
        const size_t end = pairs - start < chunk ? pairs : start + chunk;
        int32_t acc = 0;

        for (size_t i = start; i < end; i++) {
            const int16_t *x = a + i * a_step;
            const int8_t *y = w + i * 2 * QKV_PANEL;
            acc += x[0] * y[0] + x[1] * y[1];
        }
        sum += (float)acc;
    }
    return sum;
}

void qkv_gemm_q8_scalar(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int8_t *w,
                        const float *w_scales) {
    const size_t pairs = ((size_t)g->k + 1) / 2;
    int block;

    for (int m = 0; m < g->rows; m += block, a += pairs * 2 * (size_t)block) {
        block = qkv_row_block(g->rows - m);
        for (int r = 0; r < block; r++) {
            for (int n = 0; n < g->cols; n++) {
                const int8_t *column = w + (size_t)(n / QKV_PANEL) * g->panel_stride + n % QKV_PANEL * 2;
                const float sum = sum_chunks(a + r * 2, (size_t)block * 2, column, pairs);
                finish_one(g, sum * a_scales[m + r] * w_scales[n], m + r, n);
            }
        }
    }
}
