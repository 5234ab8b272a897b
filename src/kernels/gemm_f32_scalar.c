#include "gemm_finish.h"
#include "kernels.h"

void qkv_gemm_f32_scalar(const qkv_gemm *g, const float *a, const float *w) {
    const size_t k = (size_t)g->k;
    int block;

    for (int m = 0; m < g->rows; m += block, a += k * (size_t)block) {
        block = qkv_row_block(g->rows - m);
        for (int r = 0; r < block; r++) {
            for (int n = 0; n < g->cols; n++) {
                const float *column = w + (size_t)(n / QKV_PANEL) * g->panel_stride + n % QKV_PANEL;
                float acc = 0.0f;

                for (size_t i = 0; i < k; i++) acc = acc + a[i * (size_t)block + (size_t)r] * column[i * QKV_PANEL];
                finish_one(g, acc, m + r, n);
            }
        }
    }
}
